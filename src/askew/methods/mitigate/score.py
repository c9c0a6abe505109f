"""Compute the findings of a mitigation: how it changes held-out images."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.findings import E, Head, with_q
from askew.methods.mitigate.findings import (
    AxisChange,
    MitigationFindings,
    OverallChange,
    PairChange,
    TechniqueFindings,
)
from askew.methods.mitigate.gather import EvaluationSet, MitigationGathered
from askew.methods.mitigate.overall import axis_choice, mitigated_axes, overall_change
from askew.methods.mitigate.plan import MitigationPlan
from askew.methods.mitigate.policy import target_shares
from askew.parts.scoring import Scoring, or_missing
from askew.parts.survey.observed import Answer
from askew.parts.survey.shares import DISTANCE, SetShares, shares
from askew.parts.survey.verdicts import judged_by_model
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.statements import occupations_in
from askew.stats.contingency import cramers_v, raked
from askew.stats.differences import (
    dependence_change,
    distance_difference,
    kernel_distance,
    share_difference,
)
from askew.stats.intervals import ends, from_enough
from askew.stats.means import student_mean
from askew.stats.paired_sets import PairedSets
from askew.stats.shares import share_intervals
from askew.types import Estimate, Missing

ONE_VALUE = "on one of the axes, all images have the same label before or after mitigation"
FEWEST_IMAGES = 5
"""Minimum number of images per value before mitigation.

With fewer images, askew does not compute V from the odds ratios before mitigation and the shares
after it.
"""


@dataclass(frozen=True)
class ScoredImages:
    """Images of a prompt, generated with or without a technique, and their shares on all axes."""

    images: EvaluationSet
    shares: Sequence[SetShares]


def score(plan: MitigationPlan, gathered: MitigationGathered, head: Head) -> MitigationFindings:
    """Compute the findings of a run, from held-out images only.

    q-values are corrected within four families of tests: changes on target axes, changes on
    monitored axes, rises in association, and changes in the mean deviation.
    """
    scoring = Scoring.of(plan)
    entries: list[SetShares] = []
    techniques: list[TechniqueFindings] = []
    for prompt in plan.prompts:
        evaluations = [
            ScoredImages(images=images, shares=_shares(plan, prompt, images, gathered, scoring))
            for images in gathered.judged[prompt.text]
        ]
        before, *afters = evaluations
        for evaluation in evaluations:
            entries += evaluation.shares
        for after in afters:
            techniques.append(_technique(plan, prompt, gathered, before, after, scoring))

    def family(address: tuple[str | int, ...]) -> str | None:
        if address[1] == "overall":
            return "overall" if address[-1] == "change" else None
        if address[-1] == "change":
            change = techniques[int(address[0])].axes[int(address[2])]
            return "target" if change.is_target else "monitored"
        return "pairs" if address[-1] == "rise" else None

    judged = judged_by_model(entries, [entry.set for entry in entries], scoring, gathered.errors)
    return head.into(
        MitigationFindings,
        shares=judged.of_sets,
        shares_over_prompts=tuple(entry.shares for entry in judged.over_prompts),
        confusion=gathered.confusion,
        techniques=with_q(tuple(techniques), family),
        choice=axis_choice(plan, gathered),
        mitigations={name: value.to_toml() for name, value in gathered.techniques.items()},
    )


def _shares(
    plan: MitigationPlan,
    prompt: PromptPlan,
    images: EvaluationSet,
    gathered: MitigationGathered,
    scoring: Scoring,
) -> list[SetShares]:
    """Return the shares on all axes in an image set."""
    entries = []
    for axis in prompt.closed:
        errors = gathered.errors.get((plan.vqa[0], axis.name))
        entries.append(shares(images.observed, axis, prompt.text, scoring, errors))
    return entries


def _technique(
    plan: MitigationPlan,
    prompt: PromptPlan,
    gathered: MitigationGathered,
    before: ScoredImages,
    after: ScoredImages,
    scoring: Scoring,
) -> TechniqueFindings:
    """Return all changes between the images without a technique and the images with it."""
    name = str(after.images.technique)
    prediction = gathered.predictions.get(name, {}).get(prompt.text)
    changes = []
    for place, axis in enumerate(prompt.closed):
        changes.append(
            AxisChange(
                axis=axis.name,
                is_target=axis.name in plan.target_axes,
                before=before.shares[place].distance,
                after=after.shares[place].distance,
                change=_debiased_change(before, after, place, axis, scoring),
                by_others=_changes_by_others(plan, before.images, after.images, axis, scoring),
                predicted=prediction.axes[axis.name] if prediction else None,
                followed=_followed(after.images, axis, scoring),
            )
        )
    similarity = _by_vectors(before.images, after.images, scoring)
    subject_before = _shows_subject(before.images, prompt.text)
    subject_after = _shows_subject(after.images, prompt.text)
    return TechniqueFindings(
        prompt=prompt.text,
        technique=name,
        cost=gathered.techniques[name].cost,
        axes=tuple(changes),
        pairs=tuple(_pairs(prompt, before.images, after.images, scoring)),
        subject=_subject_change(subject_after, subject_before, plan.confidence),
        subject_before=_share_of_true(subject_before, plan.confidence),
        unlabeled=_change_of_frequency(
            _is_unlabeled(after.images, plan, scoring),
            _is_unlabeled(before.images, plan, scoring),
            plan.confidence,
        ),
        nearness=similarity.nearness,
        quality=similarity.quality,
        overall=_overall(plan, prompt, gathered, before, after, scoring),
    )


def _overall(
    plan: MitigationPlan,
    prompt: PromptPlan,
    gathered: MitigationGathered,
    before: ScoredImages,
    after: ScoredImages,
    scoring: Scoring,
) -> OverallChange | None:
    """Return the change in the mean deviation of all axes; None unless it is measured."""
    if not plan.measures_overall:
        return None
    name = str(after.images.technique)
    return overall_change(
        plan=plan,
        prompt=prompt,
        mitigated=mitigated_axes(plan, gathered, name),
        images=(before.images, after.images),
        shares=(before.shares, after.shares),
        predicted=gathered.predictions.get(name, {}).get(prompt.text),
        scoring=scoring,
    )


def _changes_by_others(
    plan: MitigationPlan,
    before: EvaluationSet,
    after: EvaluationSet,
    axis: AxisPlan,
    scoring: Scoring,
) -> dict[str, E]:
    """Return the change in deviation on an axis, according to each additional instrument."""
    changes = {}
    for instrument in plan.vqa[1:]:
        by_instrument = replace(scoring, instrument=instrument)
        changes[instrument] = _change(before, after, axis, by_instrument)
    return changes


def _subject_change(
    after: Sequence[bool | None], before: Sequence[bool | None], level: float
) -> E | None:
    """Return the change in the share of images that show the prompt's subject.

    The result is None if the prompt has no subject.
    """
    return or_missing(_change_of_frequency, after, before, level) if after else None


def _share_of_true(answers: Sequence[bool | None], level: float) -> Estimate | None:
    """Return the share of True among the known answers; None if no answer is True."""
    if not any(answers):
        return None
    return share_intervals([answers.count(True), answers.count(False)], level=level)[0]


def _is_unlabeled(images: EvaluationSet, plan: MitigationPlan, scoring: Scoring) -> list[bool]:
    """Return, for each image, whether its label on any target axis is missing."""
    labels = images.observed.values[scoring.instrument]
    unlabeled = []
    for row in zip(*(labels[name] for name in plan.target_axes), strict=True):
        unlabeled.append(any(isinstance(label, Missing) for label in row))
    return unlabeled


def paired(
    after: Sequence[object], before: Sequence[object], values: Sequence[object]
) -> PairedSets:
    """Turn two lists of answers into rows of indicators, paired by seed.

    Parameters
    ----------
    after, before
        Answers about images with the same seeds, in the same order. Answers that are not in
        `values` are omitted.
    values
        Values of the axis, one per column.

    Raises
    ------
    NotEnoughData
        If a list contains no answer that is in `values`.
    """
    after_places = [place for place, answer in enumerate(after) if answer in values]
    before_places = [place for place, answer in enumerate(before) if answer in values]
    return PairedSets.of(
        _indicators(after, after_places, values),
        _indicators(before, before_places, values),
        after_places,
        before_places,
    )


def _indicators(
    answers: Sequence[object], places: Sequence[int], values: Sequence[object]
) -> NDArray[np.float64]:
    rows = []
    for place in places:
        rows.append([float(answers[place] == value) for value in values])
    return np.array(rows).reshape(-1, len(values))


def _change_of_frequency(
    after: Sequence[bool | None], before: Sequence[bool | None], level: float
) -> Estimate:
    """Return the change in the share of True among known answers, after minus before."""
    return share_difference(paired(after, before, (True, False)), 0, level=level)


def _change(before: EvaluationSet, after: EvaluationSet, axis: AxisPlan, scoring: Scoring) -> E:
    """Return the deviation after mitigation minus the deviation before."""
    after_labels = after.observed.values[scoring.instrument][axis.name]
    before_labels = before.observed.values[scoring.instrument][axis.name]
    rng = scoring.rng(
        before.observed.prompt.text,
        str(after.technique),
        axis.name,
        scoring.instrument,
        "change",
    )

    def change() -> Estimate:
        return distance_difference(
            paired(after_labels, before_labels, axis.values),
            target_shares(axis),
            distance=DISTANCE[axis.scale],
            rng=rng,
            **scoring.interval_options,
        )

    return or_missing(
        change, detail="no image has a label before mitigation, or no image has a label afterwards"
    )


def _debiased_change(
    before: ScoredImages, after: ScoredImages, place: int, axis: AxisPlan, scoring: Scoring
) -> E:
    """Return the debiased deviation after mitigation minus the debiased deviation before.

    If the interval of the change does not contain this difference, the interval is widened.
    """
    change = _change(before.images, after.images, axis, scoring)
    deviations = (before.shares[place].distance, after.shares[place].distance)
    marks = [deviation.mark for deviation in deviations if isinstance(deviation, Estimate)]
    if not isinstance(change, Estimate) or len(marks) < 2:
        return change
    difference = marks[1] - marks[0]
    low, high = ends(change)
    return replace(change, value=difference, low=min(low, difference), high=max(high, difference))


def _followed(after: EvaluationSet, axis: AxisPlan, scoring: Scoring) -> Estimate | None:
    """Return the share of images that have the requested label.

    Unlabeled images count as missing.
    """
    labels = after.observed.values[scoring.instrument][axis.name]
    requested = after.asked.get(axis.name) or [None] * len(labels)
    pairs = [pair for pair in zip(requested, labels, strict=True) if pair[0] is not None]
    results = [value == label for value, label in pairs if not isinstance(label, Missing)]
    if not results:
        return None
    counts = [sum(results), len(results) - sum(results)]
    missing = len(pairs) - len(results)
    return share_intervals(counts, level=scoring.level, missing=missing)[0]


def _pairs(
    prompt: PromptPlan, before: EvaluationSet, after: EvaluationSet, scoring: Scoring
) -> list[PairChange]:
    """Return the change in association for each pair of axes that has labels."""
    changes = []
    for first, second in combinations(prompt.closed, 2):
        change = _pair(prompt, (first, second), before, after, scoring)
        if change is not None:
            changes.append(change)
    return changes


def _pair(
    prompt: PromptPlan,
    axes: tuple[AxisPlan, AxisPlan],
    before: EvaluationSet,
    after: EvaluationSet,
    scoring: Scoring,
) -> PairChange | None:
    """Return the change in association between two axes; None if a set has no usable image."""
    first, second = axes
    combined_values = list(product(first.values, second.values))
    try:
        sets = paired(
            _combined_labels(after, axes, scoring),
            _combined_labels(before, axes, scoring),
            combined_values,
        )
    except NotEnoughData:
        return None
    shape = (len(first.values), len(second.values))
    table_after = sets.first.sum(axis=0).reshape(shape)
    table_before = sets.second.sum(axis=0).reshape(shape)
    rise: E = Missing("not_asked", ONE_VALUE)
    if _varies(table_after) and _varies(table_before):
        rng = scoring.rng(prompt.text, str(after.technique), first.name, second.name, "dependence")
        rise = dependence_change(sets, shape, rng=rng, **scoring.interval_options)
    carried = None
    if _association_is_known(table_before, table_after):
        carried = float(cramers_v(raked(table_before, table_after)))
    return PairChange(
        axes=(first.name, second.name),
        before=float(cramers_v(table_before)),
        carried=carried,
        after=float(cramers_v(table_after)),
        rise=rise,
    )


def _combined_labels(
    images: EvaluationSet, axes: tuple[AxisPlan, AxisPlan], scoring: Scoring
) -> list[tuple[Answer, Answer]]:
    """Return the labels of each image on two axes."""
    labels = images.observed.values[scoring.instrument]
    first, second = axes
    return list(zip(labels[first.name], labels[second.name], strict=True))


def _varies(table: NDArray[np.float64]) -> bool:
    """Check whether both axes of a table have counts for more than one value."""
    return all((table.sum(axis=side) > 0).sum() > 1 for side in (0, 1))


def _association_is_known(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Check whether values that occur after mitigation are frequent enough before mitigation."""
    for side in (0, 1):
        shown_after = after.sum(axis=side) > 0
        if not (before.sum(axis=side)[shown_after] >= FEWEST_IMAGES).all():
            return False
    return True


def _shows_subject(images: EvaluationSet, prompt: str) -> list[bool | None]:
    """Return, for each image, whether it shows the prompt's occupation.

    The result is empty if the prompt names no occupation.
    """
    nouns = [noun.lower() for noun in occupations_in(prompt)]
    if not nouns:
        return []
    results: list[bool | None] = []
    for label in images.subjects:
        if isinstance(label, Missing):
            results.append(None)
        else:
            text = str(label).lower()
            results.append(any(noun in text or text in noun for noun in nouns))
    return results


@dataclass(frozen=True)
class Similarity:
    """Changes in the embeddings of images.

    Attributes
    ----------
    nearness : Estimate or None
        Change in the mean cosine similarity between images and prompt, after minus before.
    quality : Estimate or None
        Kernel distance between the images before mitigation and the images after it.
    """

    nearness: Estimate | None
    quality: Estimate | None


def _by_vectors(before: EvaluationSet, after: EvaluationSet, scoring: Scoring) -> Similarity:
    """Compare the image embeddings of seeds that have images before and after mitigation."""
    places = sorted(after.vectors.keys() & before.vectors.keys())
    if len(places) < 2 or before.text is None:
        return Similarity(nearness=None, quality=None)
    vectors_after = np.array([after.vectors[place] for place in places], dtype=float)
    vectors_before = np.array([before.vectors[place] for place in places], dtype=float)
    cosine_changes = (vectors_after - vectors_before) @ before.text
    rng = scoring.rng(before.observed.prompt.text, str(after.technique), "pictures")
    nearness = student_mean(cosine_changes, scoring.level, "Student's t, paired", null=0.0)
    return Similarity(
        nearness=from_enough(nearness, len(places)),
        quality=kernel_distance(vectors_after, vectors_before, rng=rng, draws=scoring.draws),
    )
