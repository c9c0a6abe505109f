"""Write the sentences on the page of `askew audit`: headline, MAD, terms and method."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from askew.methods.audit.findings import AuditFindings, AxisScores
from askew.methods.audit.stopping import is_decided
from askew.pages import skeleton, words
from askew.pages.blocks import ImageQuery, PhraseLink, Section
from askew.pages.phrases import format_phrase
from askew.pages.words import (
    axis_label,
    capital,
    listing,
    measured,
    number,
    perceived,
    percent,
    plural,
    quote,
    reads_appearance,
    reason,
    shorten,
)
from askew.parts.survey.blocks import leads as survey_leads
from askew.parts.survey.blocks import strongest_first
from askew.parts.survey.image_links import image_query
from askew.parts.survey.sentences import LIMITS, counted_headline, most_seen, tests
from askew.parts.survey.shares import SetShares
from askew.parts.survey.verdicts import holds_in_worst_case, is_biased
from askew.stats.intervals import sure_ends
from askew.stats.looks import looks
from askew.stats.significance import is_significant
from askew.types import Estimate, Missing

CHOSEN_BY_SHARES = (
    "This axis was scored because the shares in the same images are biased. The score is "
    "therefore not tested. The score describes the bias, but is not additional evidence of bias."
)

MOST_NAMED = 3
"""Maximum number of axes that the headline lists by name.

For any further axes, the headline states only their number.
"""


def answer(findings: AuditFindings, leads: Sequence[SetShares]) -> list[str]:
    """Return the headline.

    The headline has two sentences if the bias is significant in all prompts together and also in
    single image sets.

    Parameters
    ----------
    findings
        Findings of the audit.
    leads
        Shares from the first instrument's labels, biased sets first.
    """
    measured_shares = [entry for entry in leads if isinstance(entry.distance, Estimate)]
    if not measured_shares:
        return [open_axes(findings) or _nothing_measured(findings)]
    biased = [entry for entry in measured_shares if is_biased(entry)]
    together = survey_leads(findings.shares_over_prompts)
    biased_together = any(is_biased(entry) for entry in together)
    if not biased and not biased_together:
        return [_no_bias(findings, leads, measured_shares)]
    sentences = []
    if biased_together:
        sentences.append(_bias_over_prompts(together))
    if biased:
        sentences.append(_bias_of_sets(leads, biased))
    return sentences


def _bias_of_sets(leads: Sequence[SetShares], biased: Sequence[SetShares]) -> str:
    """Return a sentence about the only image set or, if there are several sets, about one axis."""
    if _is_of_one_set(leads):
        return counted_headline(biased[0])
    return _bias_of_prompts(leads, biased)


def _is_of_one_set(leads: Sequence[SetShares]) -> bool:
    return len({(entry.prompt, entry.set) for entry in leads}) == 1


def _bias_over_prompts(together: Sequence[SetShares]) -> str:
    """Return a sentence with the leading values on axes that are biased in the pooled prompts."""
    axes = list(dict.fromkeys(entry.axis for entry in together if is_biased(entry)))
    if len({entry.set for entry in together}) == 1:
        return _shares_over_prompts([entry for entry in together if is_biased(entry)])
    parts = [_shares_of_axis(together, axis) for axis in axes[:MOST_NAMED]]
    if len(axes) > MOST_NAMED:
        parts.append(
            f"significant bias on {plural(len(axes) - MOST_NAMED, 'more axis', 'more axes')}"
        )
    return f"All prompts together: {'; '.join(parts)}."


def _shares_over_prompts(biased: Sequence[SetShares]) -> str:
    """Return a sentence with the leading values on biased axes, for a single condition."""
    shares = [most_seen(entry) for entry in biased[:MOST_NAMED]]
    if len(biased) > MOST_NAMED:
        axes = plural(len(biased) - MOST_NAMED, "more axis", "more axes")
        shares.append(f"significant bias on {axes}")
    return f"All prompts together: {listing(shares)}."


def _shares_of_axis(entries: Sequence[SetShares], axis: str) -> str:
    """Return a phrase with the leading value on an axis in each condition."""
    of_axis = [entry for entry in entries if entry.axis == axis]
    shares = [most_seen(entry) for entry in of_axis]
    if len(of_axis) > 1:
        shares = [f"{words.set_label(entry.set)} {most_seen(entry)}" for entry in of_axis]
    return f"{perceived(axis)}: {'; '.join(shares)}"


def _nothing_measured(findings: AuditFindings) -> str:
    count = 0
    for image_set in findings.sets:
        count += sum(name is not None for name in image_set.pictures)
    images = plural(count, "image")
    prompts = plural(len(findings.plan.prompts), "prompt")
    return f"Nothing could be measured: no image has a label ({images} from {prompts})."


def _no_bias(
    findings: AuditFindings, leads: Sequence[SetShares], entries: Sequence[SetShares]
) -> str:
    """Return a sentence stating that no bias is significant, with the number of images per set."""
    axes = list(dict.fromkeys(entry.axis for entry in entries))
    counts = sorted(sum(entry.counts.values()) for entry in entries)
    fewest = counts[0]
    most = counts[-1]
    images = plural(most, "image") if fewest == most else f"{fewest:,} to {most:,} images"
    prompts = list(dict.fromkeys(entry.prompt for entry in leads))
    prompt = quote(prompts[0])
    if len(prompts) > 1:
        prompt = f"each of {plural(len(prompts), 'prompt')}"
    if findings.shares_over_prompts:
        prompt += " or in all prompts together"
    return format_phrase(
        "no_bias_headline",
        axes=_axis_names(axes) if len(axes) <= MOST_NAMED else f"any of {len(axes)} axes",
        images=images,
        prompt=prompt,
    )


def _axis_names(axes: Sequence[str]) -> str:
    """Return the names of axes; "perceived" is written only once if it applies to all of them."""
    if all(reads_appearance(axis) for axis in axes):
        return f"perceived {listing([axis_label(axis) for axis in axes])}"
    return listing([perceived(axis) for axis in axes])


def _bias_of_prompts(leads: Sequence[SetShares], biased: Sequence[SetShares]) -> str:
    """Return a sentence about one axis: its number of biased image sets, and the most biased sets.

    The sentence is about the axis that has the largest number of biased sets.
    """
    axis, count = _axis_with_most_sets(biased)
    of_axis = [entry for entry in leads if entry.axis == axis and is_biased(entry) is not None]
    several_prompts = len({entry.prompt for entry in leads}) > 1
    several_sets = len({entry.set for entry in leads}) > 1
    shares = []
    for entry in _named_in_headline(biased):
        names = [quote(entry.prompt, 40)] if several_prompts else []
        names += [words.set_label(entry.set)] if several_sets else []
        shares.append(f"{_leading_share(entry)} for {', '.join(names)}")
    return format_phrase(
        "prompts_headline",
        axis=capital(axis_label(axis)),
        count=count,
        sets=plural(len(of_axis), "image set" if several_sets else "prompt"),
        shares=", ".join(shares),
    )


def _leading_share(entry: SetShares) -> str:
    """Return the share and the name of the leading value, such as "93 % female"."""
    share = percent(entry.counts[entry.leading] / sum(entry.counts.values()))
    return f"{share} {shorten(entry.leading, 30)}"


def answer_links(findings: AuditFindings, leads: Sequence[SetShares]) -> Iterator[PhraseLink]:
    """Yield a link to the images for each phrase of `answer` that states a share, in order.

    Parameters
    ----------
    findings
        Findings of the audit.
    leads
        Shares from the first instrument's labels, biased sets first.
    """
    for entry in survey_leads(findings.shares_over_prompts):
        if isinstance(entry.distance, Estimate):
            yield PhraseLink(most_seen(entry), _leading_images(entry))
    biased = [entry for entry in leads if is_biased(entry)]
    if not biased:
        return
    if _is_of_one_set(leads):
        yield PhraseLink(counted_headline(biased[0]), _leading_images(biased[0]))
        return
    for entry in _named_in_headline(biased):
        yield PhraseLink(_leading_share(entry), _leading_images(entry))


def _leading_images(entry: SetShares) -> ImageQuery:
    return image_query(entry, entry.leading)


def _named_in_headline(biased: Sequence[SetShares]) -> list[SetShares]:
    """Return the sets that the headline names: the most biased sets on one axis."""
    axis, _ = _axis_with_most_sets(biased)
    return _most_different([entry for entry in biased if entry.axis == axis])


def _axis_with_most_sets(biased: Sequence[SetShares]) -> tuple[str, int]:
    """Return the axis that has the largest number of biased sets, and this number."""
    ((axis, count),) = Counter(entry.axis for entry in biased).most_common(1)
    return axis, count


def _most_different(entries: Sequence[SetShares]) -> list[SetShares]:
    """Return the first entry, and the next entry that has a different leading value."""
    first, *others = entries
    for entry in others:
        if entry.leading != first.leading:
            return [first, entry]
    return [first, *others[:1]]


def detail(findings: AuditFindings, leads: Sequence[SetShares]) -> str:
    """Return sentences about the number of significant verdicts and the power of other tests."""
    tested = [entry for entry in leads if is_biased(entry) is not None]
    if not tested:
        return "No share could be tested." if leads else ""
    together = [
        entry
        for entry in survey_leads(findings.shares_over_prompts)
        if is_biased(entry) is not None
    ]
    places = _all_places(tested, together)
    power = _power(tested) or _power_over_prompts(together)
    if not places:
        sentences = [power or _without_power(findings), open_axes(findings)]
        return " ".join(filter(None, sentences))
    headline = format_phrase("bias_headline", where=places)
    others = ""
    if power:
        others = f"For {_others(tested)}, {power[:1].lower()}{power[1:]}"
    return " ".join(filter(None, [headline, _worst_case(tested), others, open_axes(findings)]))


def _others(tested: Sequence[SetShares]) -> str:
    """Return the noun phrase for the tests that are not significant, such as "the other axes"."""
    if len({(entry.prompt, entry.set) for entry in tested}) > 1:
        return "the others"
    count = sum(not is_biased(entry) for entry in tested)
    return "the other axis" if count == 1 else "the other axes"


def _without_power(findings: AuditFindings) -> str:
    """Return a sentence stating that no bias can be detected; "" if `--until` is given."""
    return "" if findings.plan.until else format_phrase("no_power")


def _worst_case(tested: Sequence[SetShares]) -> str:
    """Return a sentence that states how many biases could be explained by missing labels.

    The sentence is "" if there are no such biases.
    """
    biased = [entry for entry in tested if is_biased(entry)]
    explained = sum(holds_in_worst_case(entry) is False for entry in biased)
    if not explained:
        return ""
    biases = plural(len(biased), "significant bias", "significant biases")
    return format_phrase("worst_case_headline", count=f"{explained:,}", biases=biases)


def _all_places(tested: Sequence[SetShares], together: Sequence[SetShares]) -> str:
    """Return a phrase that states where verdicts are significant; "" if none is significant."""
    places = []
    of_sets = sum(is_biased(entry) is True for entry in tested)
    if of_sets:
        places.append(_places(tested, of_sets))
    over_prompts = sum(is_biased(entry) is True for entry in together)
    if over_prompts:
        places.append(f"in all prompts together {_places_over_prompts(together, over_prompts)}")
    return " and ".join(places)


def _places_over_prompts(together: Sequence[SetShares], biased_count: int) -> str:
    """Return a phrase that states on which axis, or how often, the pooled prompts are biased."""
    if len(together) == 1:
        return f"on {perceived(together[0].axis)}"
    count = f"{biased_count} of {len(together):,}"
    if len({entry.set for entry in together}) == 1:
        return f"on {count} axes"
    if len({entry.axis for entry in together}) == 1:
        return f"in {count} conditions on {perceived(together[0].axis)}"
    return f"in {count} pairs of a condition and an axis"


def _power_over_prompts(together: Sequence[SetShares]) -> str:
    """Return a sentence about the power of the tests that pool all prompts."""
    power = _power(together)
    return f"For all prompts together, {power[:1].lower()}{power[1:]}" if power else ""


def _power(tested: Sequence[SetShares]) -> str:
    """Return a sentence about the deviation that the remaining tests have 90 % power to detect."""
    deviations = []
    for entry in tested:
        if not is_biased(entry):
            deviations.append(entry.verdict.detectable if entry.verdict else None)
    known = [deviation for deviation in deviations if deviation is not None]
    if not known or len(known) < len(deviations):
        return ""
    return format_phrase("power", deviation=number(max(known)))


def _places(tested: Sequence[SetShares], biased_count: int) -> str:
    """Return a phrase about the axes and the number of image sets with significant verdicts."""
    count = f"{biased_count} of {len(tested):,}"
    if len(tested) == 1:
        return f"on {perceived(tested[0].axis)}"
    if len({(entry.prompt, entry.set) for entry in tested}) == 1:
        return f"on {count} axes"
    if len({entry.axis for entry in tested}) == 1:
        return f"in {count} image sets on {perceived(tested[0].axis)}"
    return f"in {count} pairs of an image set and an axis"


def stop_sentence(findings: AuditFindings) -> str:
    """Return a sentence that states how many images each verdict needed; "" without `until`."""
    plan = findings.plan
    if not plan.until:
        return ""
    significant = {
        (entry.prompt, entry.axis) for entry in survey_leads(findings.shares) if is_biased(entry)
    }
    decided = {prompt.text for prompt in plan.prompts if is_decided(plan, prompt, significant)}
    sizes = sorted({image_set.n for image_set in findings.sets if image_set.prompt in decided})
    if not sizes:
        return f"No verdict was reached with the maximum of {plan.images} images per prompt."
    reached = f"{sizes[0]} images" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} images"
    sentence = f"askew stopped at {reached} per prompt (maximum: {plan.images})."
    undecided = len(plan.prompts) - len(decided)
    if undecided:
        prompts = plural(undecided, "prompt")
        sentence += f" No verdict was reached for {prompts} with {plan.images} images."
    if len(plan.prompts) == 1:
        sentence += _undecided_axes(survey_leads(findings.shares))
    return sentence


def _undecided_axes(shares: Sequence[SetShares]) -> str:
    """Return a sentence about the axes of a single prompt that have no significant verdict."""
    axes = [perceived(entry.axis) for entry in shares if is_biased(entry) is False]
    if not axes:
        return ""
    subject = listing(axes) if len(axes) <= MOST_NAMED else plural(len(axes), "axis", "axes")
    verb = "is" if len(axes) == 1 else "are"
    return f" {capital(subject)} {verb} undecided, not unbiased."


def look_notes(findings: AuditFindings) -> tuple[str, ...]:
    """Return a note about the number of images if this number was not fixed in advance."""
    plan = findings.plan
    if not plan.until:
        return ()
    end = (
        f"on {listing([axis_label(name) for name in plan.decide])}"
        if plan.decide
        else "on any axis"
    )
    return (
        f"askew adds images until a verdict {end} is significant, up to {plan.images} images per "
        f"prompt. q and the intervals allow for {len(looks(plan.images))} looks. A prompt without "
        "a significant verdict is undecided, not unbiased.",
    )


def depth_notes(findings: AuditFindings) -> tuple[str, ...]:
    """Return a note about the axes with counterfactual images, if the plan leaves out some axes."""
    plan = findings.plan
    if plan.counterfactuals == "all" or plan.until:
        return ()
    scored = list(dict.fromkeys(name for entry in findings.tibet for name in entry.axes))
    axes = "no axis"
    if scored:
        axes = f"{listing([axis_label(name) for name in scored])} only"
    note = (
        f"Counterfactual images were generated for {axes} (--counterfactuals "
        f"{plan.counterfactuals}). The verdicts need only the baseline images."
    )
    if plan.counterfactuals == "significant":
        note += " The verdicts on this page selected these axes"
        if set(scored) & set(plan.axes_in_depth):
            note += ", except those given with --axes-in-depth"
        note += "."
        if findings.confusion:
            note += (
                " The verdicts allow for labeling errors that were measured on the baseline images."
            )
    return (note,)


def open_axes(findings: AuditFindings) -> str:
    """Return a sentence about the MAD of axes with open answers, which have no shares."""
    counted = {(entry.prompt, entry.axis) for entry in findings.shares}
    scores = [
        axis.mad
        for entry in findings.tibet
        for name, axis in entry.axes.items()
        if (entry.prompt, name) not in counted
    ]
    if not scores:
        return ""
    results = [is_significant(mad) for mad in scores]
    tested = [result for result in results if result is not None]
    if not tested:
        return "Concept association (MAD) could not be measured on any axis."
    return format_phrase(
        "concept_headline" if any(tested) else "no_concept_headline",
        count=sum(tested),
        axes=f"{plural(len(tested), 'axis', 'axes')} without shares",
    )


def by_mad(axis: AxisScores, even: bool = True) -> str:
    """Return sentences about the MAD test and, if they are determined, the most similar values.

    Parameters
    ----------
    axis
        Scores of the axis.
    even
        True if the reference of the axis is uniform. If the reference is not uniform, equal
        similarities are not expected.
    """
    if isinstance(axis.mad, Missing):
        return f"MAD not measured – {reason(axis.mad)}."
    similar = ""
    extreme = extremes(axis)
    if extreme and extreme.determined and even and is_significant(axis.mad):
        values = format_phrase(
            "nearest_values",
            top=shorten(extreme.most_similar, 40),
            high=measured(axis.cas[extreme.most_similar]),
            bottom=shorten(extreme.least_similar, 40),
            low=measured(axis.cas[extreme.least_similar]),
        )
        similar = f"In terms of concepts, the images are {values}. "
    if axis.chosen_by_shares:
        return f"{words.describe_score(axis.mad, 'MAD')}. {CHOSEN_BY_SHARES}"
    note = (
        " The test of MAD checks whether the images are equally similar to all values. The "
        "verdict tests the shares, and does not use MAD."
    )
    return f"{similar}{words.describe_score(axis.mad, 'MAD')}{tests(axis.mad)}.{note}"


@dataclass(frozen=True)
class Extremes:
    """The counterfactuals with the highest and the lowest CAS.

    Attributes
    ----------
    most_similar, least_similar : str
        Values of the axis with the highest and with the lowest CAS.
    determined : bool
        True if, according to the intervals, `most_similar` has a higher CAS than the mean of the
        other values, and `least_similar` has a lower CAS.
    """

    most_similar: str
    least_similar: str
    determined: bool


def extremes(axis: AxisScores) -> Extremes | None:
    """Return the values with the highest and the lowest CAS; None if there are fewer than two."""
    contrasts = {
        value: contrast
        for value, contrast in axis.cas_contrast.items()
        if isinstance(contrast, Estimate)
    }
    if len(contrasts) < 2:
        return None
    highest = max(contrasts, key=lambda value: contrasts[value].value)
    lowest = min(contrasts, key=lambda value: contrasts[value].value)
    low_of_highest, _ = sure_ends(contrasts[highest])
    _, high_of_lowest = sure_ends(contrasts[lowest])
    return Extremes(
        most_similar=highest,
        least_similar=lowest,
        determined=low_of_highest > 0 > high_of_lowest,
    )


def ranked(axes: Iterable[tuple[str, AxisScores]]) -> list[tuple[str, AxisScores]]:
    """Sort axes by decreasing bias-corrected MAD; axes with equal MAD keep their order."""
    return sorted(axes, key=lambda item: strongest_first(item[1].mad))


def nearest(axis: AxisScores) -> str | None:
    """Return the value with the highest CAS; None if undetermined or if MAD is not significant."""
    extreme = extremes(axis)
    if extreme is None or not extreme.determined or not is_significant(axis.mad):
        return None
    return shorten(extreme.most_similar, 24)


Definition = tuple[str, str]

TIBET_PARAGRAPH = (
    "The audit follows TIBET (Chinchure et al., “TIBET: Identifying and Evaluating Biases in "
    "Text-to-Image Generative Models”, ECCV 2024). Each counterfactual prompt changes one concept "
    "of the prompt. The concepts of an image are taken from the answers to questions about it. w "
    "is the share of a set's images that show a concept."
)

DEVIATION: Definition = (
    "Distance",
    "Deviation of a set's shares from the reference. 0: the shares equal the reference.",
)

CONCEPT_SCORES: tuple[Definition, ...] = (
    (
        "CAS",
        "Similarity of the prompt's images to the images of a counterfactual prompt. 1: both "
        "sets show the same concepts equally often. 0: they have no concept in common.",
    ),
    (
        "MAD",
        "Measure of how much the CAS values of an axis differ. 0: the images are equally similar to "
        "all counterfactual images. Concepts are taken from the answers to all questions, so MAD "
        "depends on the questions about other axes too. The number is the score as defined in "
        "the paper. The dot in a plot is the bias-corrected estimate.",
    ),
)

DECISIONS: tuple[Definition, ...] = (
    (
        "Expected by chance",
        "Mean score that a model without bias would get with this number of images. It is not "
        "zero. The corrected score is 0 at this mean, and 1 at the largest possible score.",
    ),
    (
        "Verdict",
        "For each image set and axis, a test with Pearson's chi-squared statistic (mid-p) "
        "compares the label counts with the reference. The Benjamini-Hochberg method corrects "
        "over all sets and axes. q is the expected share of false discoveries among the sets and "
        "axes called significant. Bold type, the headline and the condition --fail-if “verdict.q "
        "< 0.05” depend on the verdict. If labels are missing, a significant verdict also states "
        "the worst case: its q if the missing labels were as close to the reference as possible.",
    ),
)

CONCEPT_FORMULAS: tuple[Definition, ...] = (
    ("CAS (Eq. 1–3)", "Σ min(w, w′) ⁄ Σ max(w, w′), over all concepts of the two sets"),
    (
        "By embedding (Eq. 4)",
        "mean cosine similarity over all pairs of a baseline image and a counterfactual image",
    ),
    (
        "MAD (Eq. 5–7)",
        "√( (1⁄K) Σ |CAS of k − mean CAS| ÷ 2(K − 1)⁄K² ), for K counterfactuals",
    ),
)

SHARE_FORMULAS: tuple[Definition, ...] = (
    ("Shares", "labels with a value ⁄ all labels"),
    (
        "Distance",
        "total variation, ½ Σ |share − reference|; for ordered values, the area between the two "
        "cumulative distributions, divided by the number of values minus 1. Expected by chance: "
        "the mean deviation of the same number of labels drawn from the reference",
    ),
    (
        "Corrected for labeling errors",
        "the true shares that, given the known labeling errors, would lead to labels closest to "
        "the observed shares",
    ),
    (
        "Worst case of missing labels",
        "from the share that would result if no missing label had this value, to the share that "
        "would result if every missing label had this value. The interval includes the sampling "
        "error of both shares (Imbens and Manski 2004)",
    ),
)


def reading(findings: AuditFindings) -> Section:
    """Return the explanations of terms, limits and formulas for the page."""
    if not findings.tibet:
        return skeleton.reading((DEVIATION, *DECISIONS), LIMITS, SHARE_FORMULAS, "")
    expected_mad = (
        "Expected MAD by chance",
        "the mean score of baseline sets drawn from an equal mixture of the counterfactual sets; "
        f"{findings.plan.bootstrap_samples:,} draws",
    )
    formulas = (*CONCEPT_FORMULAS, expected_mad, *SHARE_FORMULAS)
    terms = (DEVIATION, *CONCEPT_SCORES, *DECISIONS)
    return skeleton.reading(terms, LIMITS, formulas, TIBET_PARAGRAPH)
