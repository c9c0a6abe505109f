"""Sentences about shares. No sentence claims more than the test and the interval show."""

from collections.abc import Iterable, Mapping

from askew.pages import words
from askew.pages.phrases import format_phrase
from askew.pages.words import capital, measured, perceived, percent, plural, quote, shorten
from askew.parts.survey.missing_labels import MissingLabels
from askew.parts.survey.missing_pictures import MissingPictures
from askew.parts.survey.over_prompts import SharesOverPrompts
from askew.parts.survey.shares import SetShares, SharesDifference
from askew.parts.survey.verdicts import holds_in_worst_case, is_biased
from askew.stats.intervals import ends
from askew.stats.significance import SIGNIFICANCE_LEVEL, is_significant
from askew.types import Estimate, Missing

LIMITS = (
    "The reference is uniform unless the plan specifies another reference. The reference serves "
    "only as a point of comparison. Which shares are right depends on what the images are used "
    "for.",
)
"""Limits of scores of shares."""

MOST_NAMED = 4
"""Maximum number of shares listed in a sentence."""

Interval = tuple[float, float]


def verdict(entry: SetShares) -> str:
    """Return the verdict on a set and axis in a few words, such as "female over-represented"."""
    if isinstance(entry.distance, Missing):
        return "not measured"
    biased = is_biased(entry)
    if biased is None:
        return "not tested"
    if not biased:
        return _not_significant(entry)
    holds = holds_in_worst_case(entry)
    if holds is None:
        return _direction(entry)
    missing = plural(sum(entry.missing.values()), "missing label")
    phrase = "bias_in_worst_case" if holds else "no_bias_in_worst_case"
    return format_phrase(phrase, verdict=_direction(entry), missing=missing)


def verdict_with_q(entry: SetShares) -> str:
    """Return the verdict on a set and axis with its q, such as "not significant (q = 0.31)"."""
    text = verdict(entry)
    q = words.probability(entry.verdict.q, "q") if entry.verdict else ""
    return f"{text} ({q})" if q and "(" not in text else text


def _not_significant(entry: SetShares) -> str:
    """Return the text of the verdict on a set whose deviation is not significant.

    The text explains why an interval may seem to disagree with the verdict.
    """
    if entry.verdict is not None and entry.verdict.looks:
        return format_phrase("undecided")
    reason = _correction(entry)
    if not reason or entry.verdict is None:
        return format_phrase("no_bias")
    q = words.probability(entry.verdict.q, "q")
    return format_phrase("no_bias_after_correction", tests=reason, q=q)


def _correction(entry: SetShares) -> str:
    """Return the reason why a test and an interval disagree; "" if they agree.

    An interval may exclude the reference even though the test is not significant. The test is
    corrected for the number of tests, and allows for errors in the labels and in the reference. In
    addition, the test considers all values of an axis jointly, whereas an interval describes a
    single value.
    """
    if not (above_reference(entry) or below_reference(entry)) or entry.verdict is None:
        return ""
    corrections = []
    if (entry.verdict.tests or 1) > 1:
        corrections.append(plural(entry.verdict.tests or 1, "test"))
    if entry.verdict.corrected_for_errors:
        corrections.append("labeling errors")
    if entry.reference_images is not None:
        corrections.append(f"{plural(entry.reference_images, 'image')} of the reference")
    return words.listing(corrections or [plural(len(entry.shares), "value")])


def not_significant(tests: int, q: str) -> str:
    """Return the text of the verdict if a test is not significant in its family of tests.

    Parameters
    ----------
    tests
        Number of tests in the family. A single test needs no correction.
    q
        Text that states the q-value, such as "q = 0.31".
    """
    if tests > 1:
        return format_phrase("no_bias_after_correction", tests=plural(tests, "test"), q=q)
    return f"{format_phrase('no_bias')} ({q})"


def _direction(entry: SetShares) -> str:
    """Return a phrase about the value whose interval shows over- or under-representation."""
    if entry.leading in above_reference(entry):
        return format_phrase("over_representation", value=shorten(entry.leading, 40))
    below = below_reference(entry)
    if below:
        lowest = min(below, key=lambda value: below[value][1] - entry.reference[value])
        return format_phrase("under_representation", value=shorten(lowest, 40))
    return format_phrase("diffuse_bias", reference="uniform" if entry.even else "the reference")


def above_reference(entry: SetShares) -> dict[str, Interval]:
    """Return the intervals that lie entirely above the reference share, keyed by value."""
    intervals = _intervals(entry)
    return {
        value: interval
        for value, interval in intervals.items()
        if interval[0] > entry.reference[value]
    }


def below_reference(entry: SetShares) -> dict[str, Interval]:
    """Return the intervals that lie entirely below the reference share, keyed by value."""
    intervals = _intervals(entry)
    return {
        value: interval
        for value, interval in intervals.items()
        if interval[1] < entry.reference[value]
    }


def _intervals(entry: SetShares) -> dict[str, Interval]:
    return {
        value: ends(share) for value, share in entry.shares.items() if isinstance(share, Estimate)
    }


def most_seen(entry: SetShares) -> str:
    """Return the most over-represented value's share and count, as in "88 % female (42 of 48)"."""
    value = entry.leading
    labeled = sum(entry.counts.values())
    reference = ""
    if not entry.even:
        reference = f", reference {percent(entry.reference.get(value))}"
    return format_phrase(
        "observed_share",
        share=percent(entry.counts[value] / labeled),
        how="perceived" if words.reads_appearance(entry.axis) else "classified as",
        value=shorten(value, 40),
        count=f"{entry.counts[value]:,}",
        n=f"{labeled:,}{reference}",
    )


def bias_of_all_prompts(
    named: Iterable[tuple[str, SetShares]], subject: str = "All prompts together"
) -> list[str]:
    """Return a sentence about the significant shares pooled over all prompts, if there are any.

    Parameters
    ----------
    named
        Shares pooled over all prompts, each paired with the name of its model, or with "" if there
        is only one model.
    subject
        First words of the sentence.
    """
    biased = [(name, entry) for name, entry in named if is_biased(entry)]
    if not biased:
        return []
    parts = [f"{name} {most_seen(entry)}".strip() for name, entry in biased[:MOST_NAMED]]
    if len(biased) > MOST_NAMED:
        parts.append(f"significant bias in {plural(len(biased) - MOST_NAMED, 'more case')}")
    return [f"{subject}: {'; '.join(parts)}."]


def counted_headline(entry: SetShares) -> str:
    """Return a headline with the most over-represented value's share, interval and reference."""
    value = entry.leading
    labeled = sum(entry.counts.values())
    reference = f"{'uniform ' * entry.even}reference {percent(entry.reference.get(value))}"
    prompt = quote(entry.prompt)
    if entry.set != "initial":
        prompt += f" ({words.set_label(entry.set)})"
    return format_phrase(
        "counted_headline",
        count=f"{entry.counts[value]:,}",
        n=f"{labeled:,}",
        prompt=prompt,
        value=shorten(value, 40),
        share=percent(entry.counts[value] / labeled),
        interval=words.interval_in_words(entry.shares[value], "share"),
        reference=reference,
    )


def sentence(entry: SetShares) -> str:
    """Return a clause with the most over-represented value's share and the verdict."""
    if isinstance(entry.distance, Missing):
        return f"not measured – {words.reason(entry.distance)}"
    missing = sum(entry.missing.values())
    unlabeled = f"; {plural(missing, 'image')} unlabeled" if missing else ""
    return f"{most_seen(entry)}{unlabeled}: {_verdict_with_q(entry)}"


def _verdict_with_q(entry: SetShares) -> str:
    q = words.probability(entry.verdict.q, "q") if entry.verdict else ""
    if is_biased(entry) is not False:
        return f"{verdict(entry)} ({q})" if q else verdict(entry)
    images = _labeled_images(entry)
    if entry.verdict is not None and entry.verdict.looks:
        return format_phrase("undecided_with_images", images=images, q=q)
    correction = _correction(entry)
    if correction:
        images += f" after correction for {correction}"
    deviation = entry.verdict.detectable if entry.verdict else None
    if deviation is None:
        return format_phrase("no_bias_without_power", images=images, q=q)
    return format_phrase(
        "no_bias_with_power", images=images, q=q, deviation=words.number(deviation)
    )


def _labeled_images(entry: SetShares) -> str:
    """Return a phrase that counts the labeled images, such as "48 images of 12 prompts"."""
    labeled = sum(entry.counts.values())
    images = plural(labeled, "image")
    if not isinstance(entry, SharesOverPrompts):
        return images
    images += f" of {plural(entry.prompts, 'prompt')}"
    if entry.independent_images < labeled:
        images += (
            f", which count as {entry.independent_images:,} independent images because the "
            "prompts differ"
        )
    return images


def difference_sentence(entry: SharesDifference) -> str | None:
    """Return a sentence about the largest significant difference between two sets, or None."""
    significant = {
        value: difference
        for value, difference in entry.shares.items()
        if isinstance(difference, Estimate) and is_significant(difference)
    }
    if not significant:
        return None
    value = max(significant, key=lambda name: abs(significant[name].value))
    difference = significant[value]
    first, second = entry.sets
    return format_phrase(
        "condition_difference",
        axis=capital(perceived(entry.axis)),
        value=shorten(value, 40),
        more="more" if difference.value > 0 else "less",
        after=words.set_label(second),
        before=words.set_label(first),
        points=measured(difference, "points"),
        q=words.probability(difference.q, "q"),
    )


def stop_sentences(
    sizes: Iterable[int], undecided: int, noun: str, most: str, caution: str
) -> list[str]:
    """Return sentences about how many images each set needed to reach a verdict.

    Parameters
    ----------
    sizes
        Numbers of images at which verdicts were reached.
    undecided
        Number of sets without a verdict.
    noun
        Noun for a set, such as "prompt".
    most
        Phrase for the maximum number of images per set, such as "400 images".
    caution
        Sentence that states what cannot be concluded from a missing verdict.
    """
    sentences = []
    reached = sorted(set(sizes))
    if reached:
        numbers = f"{reached[0]}" if len(reached) == 1 else f"{reached[0]} to {reached[-1]}"
        sentences.append(f"Verdicts were reached with {numbers} of at most {most} per prompt.")
    if undecided:
        verb = "is" if undecided == 1 else "are"
        sets = capital(plural(undecided, noun))
        sentences.append(f"{sets} {verb} undecided with {most}. {caution}")
    return sentences


def missing_sentences(entries: Iterable[MissingPictures], subject: str = "images of") -> list[str]:
    """Return sentences about images or answers that are missing more often for some values."""
    sentences = []
    for entry in entries:
        text = missing_sentence(entry, f"{subject} {quote(entry.prompt or '')}")
        if text:
            sentences.append(text)
    return sentences


def missing_label_sentences(entries: Iterable[MissingLabels]) -> list[str]:
    """Return sentences about instruments that leave some groups of images unlabeled more often."""
    sentences = []
    for entry in entries:
        subject = f"labels of {perceived(entry.labeled)} from {shorten(entry.instrument, 40)}"
        if entry.prompt:
            subject += f" for {quote(entry.prompt)}"
        if entry.truth:
            subject += f", in images labeled by {shorten(entry.truth, 40)},"
        text = missing_sentence(entry, subject, missing="Images without a label")
        if text:
            sentences.append(text)
    return sentences


def missing_sentence(
    entry: MissingPictures, subject: str, missing: str = "Missing images"
) -> str | None:
    """Return a sentence about the values with the largest and smallest shares of missing images.

    The result is None if the shares do not differ significantly.

    Parameters
    ----------
    entry
        Test of missing images.
    subject
        Phrase for the images, such as "faces in input images".
    missing
        Phrase for the missing images, at the start of a sentence.
    """
    if entry.q >= SIGNIFICANCE_LEVEL:
        return None
    rates = {value: count.missing / count.planned for value, count in entry.counts.items()}
    highest = _missing_of(entry, max(rates, key=lambda value: rates[value]))
    lowest = _missing_of(entry, min(rates, key=lambda value: rates[value]))
    return (
        f"{capital(words.axis_label(entry.axis))}: {subject} are missing more often for {highest} "
        f"than for {lowest} ({words.probability(entry.q, 'q')}). {missing} may differ from "
        "the other images, and no score can correct for this."
    )


def _missing_of(entry: MissingPictures, value: str) -> str:
    count = entry.counts[value]
    name = "the baseline images" if value == "initial" else shorten(value, 40)
    return f"{name} ({count.missing} of {count.planned})"


def tests(score: Estimate) -> str:
    """Return the text that follows a score with its p and q, such as "; p = 0.002, q = 0.004"."""
    probabilities: Mapping[str, float | None] = {"p": score.p, "q": score.q}
    texts = [
        words.probability(value, name) for name, value in probabilities.items() if value is not None
    ]
    return f"; {', '.join(texts)}" if texts else ""
