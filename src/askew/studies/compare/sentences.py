"""Sentences about the differences between two runs. No sentence claims more than the tests show."""

from collections.abc import Callable, Mapping, Sequence

from askew.pages.phrases import format_phrase
from askew.pages.words import (
    capital,
    listing,
    measured,
    number,
    perceived,
    percent,
    probability,
    quote,
    reads_appearance,
    reason,
    set_label,
    shorten,
)
from askew.stats.intervals import TOLERANCE, sure_ends
from askew.stats.significance import is_significant
from askew.studies.compare.findings import (
    RUN_DISTANCE,
    AxisDifference,
    RunPair,
    ScoreDifference,
)
from askew.types import Estimate, Missing

RunScore = Callable[[str, ScoreDifference], Estimate | None]
"""Function that takes a run's name and a difference, and returns the compared score of the run."""

SCORE_NAMES = {
    "mad": "MAD",
    "cas": "CAS",
    "wasserstein": "Wasserstein distance of CAS",
    "standard_deviation": "Standard deviation of CAS",
    "mad_clip": "MAD by embedding",
    "cas_clip": "CAS by embedding",
    "share": "Share",
    "distance": "Deviation",
    RUN_DISTANCE: "Distance between the runs",
}
"""Names by which the page refers to the scores."""


def comparison_sentences(
    names: Sequence[str],
    by_pair: Mapping[RunPair, Sequence[AxisDifference]],
    main_pair: RunPair,
    run_score: RunScore,
) -> tuple[str, str]:
    """Return a sentence that states where the runs differ, and sentences that state the evidence.

    Parameters
    ----------
    names
        Names of the runs.
    by_pair
        Differences between the runs of each pair, in the order of `axis_differences`.
    main_pair
        The pair that the sentences describe.
    run_score
        Function that returns a run's score that was used to compute a difference.
    """
    claim, evidence = pair_sentences(main_pair, by_pair[main_pair], run_score)
    if len(by_pair) == 1:
        return claim, evidence
    differing = sum(map(_any_differs, by_pair.values()))
    known = [each for of_pair in by_pair.values() for each in of_pair if each.size >= 0]
    if known and not differing:
        shown = [shorten(name, 60) for name in names]
        scores = compared_scores(known)
        others = ", ".join(shown[:-1])
        return format_phrase("no_run_difference", a=shown[-1], b=others, scores=scores), ""
    count = f"The runs differ significantly in {differing} of {len(by_pair)} pairs."
    return claim, " ".join(filter(None, (evidence, count)))


def _any_differs(differences: Sequence[AxisDifference]) -> bool:
    return any(difference.differs for difference in differences)


def pair_sentence(pair: RunPair, differences: Sequence[AxisDifference], run_score: RunScore) -> str:
    """Return one text that states where two runs differ. See `pair_sentences`."""
    return " ".join(filter(None, pair_sentences(pair, differences, run_score)))


def pair_sentences(
    pair: RunPair, differences: Sequence[AxisDifference], run_score: RunScore
) -> tuple[str, str]:
    """Return two sentences: where two runs differ, and what the largest difference is.

    Parameters
    ----------
    pair
        Names of the first and the second run.
    differences
        Differences between the two runs, in the order of `axis_differences`.
    run_score
        Function that returns a run's score that was used to compute a difference.
    """
    first, second = (shorten(name, 60) for name in pair)
    known = [difference for difference in differences if difference.size >= 0]
    if not known:
        return f"{second} and {first} could not be compared on any axis.", ""
    differing = [difference for difference in known if difference.differs]
    if not differing:
        scores = compared_scores(known)
        return format_phrase("no_run_difference", a=first, b=second, scores=scores), ""
    claim = _claim(first, second, differing, _where(known, differing))
    largest = known[0]
    evidence = _evidence(largest, run_score, with_bias=False)
    return (
        claim,
        f"{_subject(differing)} is on {perceived(largest.axis)}{_of(largest)}: {evidence}.",
    )


def _subject(differing: Sequence[AxisDifference]) -> str:
    """Return the subject of a sentence, such as "The largest of these differences"."""
    if differing[0].prompts is None:
        return "The largest of these differences" if len(differing) > 1 else "The difference"
    several = sum(difference.prompts is not None for difference in differing) > 1
    which = "largest difference" if several else "difference"
    return f"The {which} in {_images(differing[0])}"


def _of(difference: AxisDifference) -> str:
    return "" if difference.prompts else f" of {_images(difference)}"


def _claim(first: str, second: str, differing: Sequence[AxisDifference], where: str) -> str:
    """State in a sentence where two runs differ and, if known, which run is more biased."""
    directions = [_direction(difference) for difference in differing]
    if directions[0] and len(set(directions)) == 1:
        claim = format_phrase("bias_difference", a=first, b=second, more=directions[0])
        return f"{claim} {where}."
    counts = []
    for direction in ("less", "more"):
        if direction in directions:
            biased = format_phrase("bias_direction", more=direction)
            counts.append(f"{biased} in {directions.count(direction)}")
    if counts:
        where = f"{where}: {listing(counts)}"
    return format_phrase("run_difference", a=first, b=second, where=where)


def _where(known: Sequence[AxisDifference], differing: Sequence[AxisDifference]) -> str:
    """Return a phrase that states on how many of the compared axes two runs differ."""
    if len(known) == 1:
        return f"on {perceived(known[0].axis)}"
    known_together, known_single = _by_prompts(known)
    together, single = _by_prompts(differing)
    places = []
    if together:
        axes = f"{len(together)} of {len(known_together)} axes"
        if len(known_together) == 1:
            axes = perceived(together[0].axis)
        places.append(f"in {_images(together[0])} on {axes}")
    if single:
        places.append(_where_single(known_single, len(single)))
    return ", and ".join(places)


def _by_prompts(
    differences: Sequence[AxisDifference],
) -> tuple[list[AxisDifference], list[AxisDifference]]:
    """Separate differences over all prompts from differences on single prompts."""
    together = [difference for difference in differences if difference.prompts is not None]
    return together, [difference for difference in differences if difference.prompts is None]


def _where_single(known: Sequence[AxisDifference], differing: int) -> str:
    """Return a phrase that states on how many axes of single prompts two runs differ."""
    counts = f"{differing} of {len(known)}"
    if len({difference.place for difference in known}) == 1:
        return f"on {counts} axes"
    baseline_only = all(difference.set == "initial" for difference in known)
    return f"in {counts} pairs of {'a prompt' if baseline_only else 'an image set'} and an axis"


def _images(difference: AxisDifference) -> str:
    prompt = quote(difference.prompt)
    if difference.prompts is not None:
        prompt = f"all {difference.prompts} prompts together"
    if difference.set == "initial":
        return prompt
    return f"{prompt}, {set_label(difference.set)}"


def axis_sentence(difference: AxisDifference, a: str, b: str, run_score: RunScore) -> str:
    """Describe how two runs differ on an axis of an image set.

    Parameters
    ----------
    difference
        Summary of how the two runs differ on the axis.
    a, b
        Names of the first and the second run.
    run_score
        Function that returns a run's score that was used to compute a difference.
    """
    if difference.size < 0:
        return f"{b} minus {a}: not measured – {_why_missing(difference)}."
    direction = _direction(difference)
    if not difference.differs:
        scores = compared_scores([difference])
        verdict = format_phrase("no_axis_difference", a=a, b=b, scores=scores)
    elif direction:
        verdict = format_phrase("bias_difference", a=a, b=b, more=direction)
    else:
        verdict = format_phrase("axis_difference", a=a, b=b)
    return f"{verdict}. {capital(_evidence(difference, run_score))}."


def _why_missing(difference: AxisDifference) -> str:
    for entry in (difference.bias, difference.share):
        if entry:
            return reason(entry.difference) if isinstance(entry.difference, Missing) else "no score"
    return "no score"


def compared_scores(differences: Sequence[AxisDifference]) -> str:
    """Return the names of the scores whose tests decide whether two runs differ."""
    with_shares = [difference for difference in differences if difference.share]
    without_shares = [difference for difference in differences if not difference.share]
    biases = {SCORE_NAMES[each.bias.score] for each in without_shares if each.bias}
    others = listing(sorted(biases))
    if not with_shares:
        return others if others else "any score"
    shares = _shares_with_instrument(with_shares)
    return f"{shares}, or by {others} on axes without shares" if others else shares


def _shares_with_instrument(differences: Sequence[AxisDifference]) -> str:
    """Return "shares", with the name of the instrument if several instruments label the images."""
    ambiguous = [each.share for each in differences if each.share and each.has_other_labels]
    instruments = {entry.instrument for entry in ambiguous}
    if len(instruments) != 1:
        return "shares"
    return f"shares labeled by {shorten(instruments.pop(), 40)}"


def _direction(difference: AxisDifference) -> str:
    """Return "less" or "more" if the second run's bias differs significantly; "" if it does not."""
    bias = difference.bias.difference if difference.bias else None
    if not isinstance(bias, Estimate) or not is_significant(bias):
        return ""
    low, high = sure_ends(bias)
    if low <= 0 <= high:
        return ""
    return "less" if bias.mark < 0 else "more"


def _evidence(difference: AxisDifference, run_score: RunScore, with_bias: bool = True) -> str:
    """Describe an axis's test, the difference in bias, and the share that differs most.

    Parameters
    ----------
    difference
        Summary of how two runs differ on the axis.
    run_score
        Function that returns a run's score that was used to compute a difference.
    with_bias
        If False, the difference in bias is included only if no share is known.
    """
    test = _test(difference.test)
    share = _share(difference.share, run_score)
    bias = ""
    if difference.bias is not difference.test and (with_bias or not share):
        bias = _bias(difference.bias, with_q=bool(_direction(difference) and difference.differs))
    return "; ".join(filter(None, [test, bias, share]))


def _test(entry: ScoreDifference | None) -> str:
    """Describe the difference that was tested, with its q-value; "" if it is missing."""
    if entry is None or isinstance(entry.difference, Missing):
        return ""
    if entry.score != RUN_DISTANCE:
        return _bias(entry, with_q=True)
    distance = entry.difference
    text = f"distance between the runs {number(distance.value)}"
    if distance.null is not None:
        text += f" (expected by chance {number(distance.null)})"
    return text if distance.q is None else f"{text}, {probability(distance.q, 'q')}"


def _bias(entry: ScoreDifference | None, *, with_q: bool) -> str:
    """Describe the difference in MAD or deviation, with its interval; "" if it is missing."""
    if entry is None or isinstance(entry.difference, Missing):
        return ""
    difference = entry.difference
    text = f"{SCORE_NAMES[entry.score]} {measured(difference, 'signed')}"
    if with_q and difference.q is not None:
        return f"{text}, {probability(difference.q, 'q')}"
    return text


def _share(entry: ScoreDifference | None, run_score: RunScore) -> str:
    """Describe the difference in a share, with its interval and the shares in both runs."""
    if entry is None or isinstance(entry.difference, Missing):
        return ""
    before, after = (_share_and_count(run_score(run, entry)) for run in entry.runs)
    how = "perceived " if reads_appearance(entry.axis) else ""
    points = f"{measured(entry.difference, 'points')} points"
    return f"{how}{shorten(entry.value or '', 40)} {points} ({after}, against {before})"


def _share_and_count(share: Estimate | None) -> str:
    """Return a share with its count, such as "40 %, 12 of 30".

    If prompts are weighted, the share is not a simple fraction of the images. For weighted prompts,
    the text states only the number of images.
    """
    if share is None or not share.n:
        return "–"
    count = round(share.value * share.n)
    if abs(share.value * share.n - count) > TOLERANCE:
        return f"{percent(share.value)} of {share.n} images"
    return f"{percent(share.value)}, {count} of {share.n}"
