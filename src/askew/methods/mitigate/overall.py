"""Compute the findings on all axes together: the choice of axes, and the mean deviation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from askew.methods.mitigate.axis_choice import AxisSelection, Prediction
from askew.methods.mitigate.findings import AxisChoice, AxisSubset, OverallChange
from askew.methods.mitigate.gather import EvaluationSet, MitigationGathered
from askew.methods.mitigate.plan import INTERMIT, MitigationPlan
from askew.methods.mitigate.policy import target_shares
from askew.mitigations.intermit import InterMit
from askew.parts.scoring import Scoring
from askew.parts.survey.shares import DISTANCE, SetShares
from askew.plan import AxisPlan, PromptPlan
from askew.stats.mean_deviation import AxisRows, mean_deviation_change
from askew.stats.subset_choice import Subset
from askew.types import Estimate

BEST_SUBSETS = 10
"""Maximum number of best subsets that the findings contain."""


def axis_choice(plan: MitigationPlan, gathered: MitigationGathered) -> AxisChoice | None:
    """Return the choice of axes, or None if all target axes are mitigated.

    Parameters
    ----------
    plan, gathered
        Plan and gathered data of the mitigation.
    """
    selection = gathered.selection
    deviations = gathered.deviations
    if selection is None or deviations is None:
        return None
    return AxisChoice(
        axes=selection.axes,
        compared=len(selection.ranked),
        unmitigated=deviations.overall(()),
        predicted=deviations.overall(selection.axes),
        best=_subsets(selection, selection.ranked[:BEST_SUBSETS]),
        greedy=_subsets(selection, selection.greedy),
        sensitivities=deviations.mean_sensitivities(),
    )


def _subsets(selection: AxisSelection, subsets: Sequence[Subset]) -> tuple[AxisSubset, ...]:
    return tuple(
        AxisSubset(axes=selection.names(subset), deviation=subset.cost) for subset in subsets
    )


def mitigated_axes(
    plan: MitigationPlan, gathered: MitigationGathered, technique: str
) -> tuple[str, ...]:
    """Return the axes that a technique mitigates.

    Parameters
    ----------
    plan, gathered
        Plan and gathered data of the mitigation.
    technique
        Name of the technique.
    """
    mitigation = gathered.techniques[technique]
    if technique == INTERMIT and isinstance(mitigation, InterMit):
        return mitigation.steps
    return plan.target_axes if gathered.selection is None else gathered.selection.axes


def overall_change(
    *,
    plan: MitigationPlan,
    prompt: PromptPlan,
    mitigated: tuple[str, ...],
    images: tuple[EvaluationSet, EvaluationSet],
    shares: tuple[Sequence[SetShares], Sequence[SetShares]],
    predicted: Prediction | None,
    scoring: Scoring,
) -> OverallChange | None:
    """Return the change in the mean deviation of all axes, or None if no axis can be compared.

    Parameters
    ----------
    plan, prompt
        Plan of the run, and the prompt.
    mitigated
        Axes that the technique mitigates.
    images, shares
        Held-out images before and after mitigation, and the shares on all axes in these images.
    predicted
        Predicted deviations.
    scoring
        Instrument, and settings for the intervals.
    """
    pairs = list(zip(prompt.closed, *shares, strict=True))
    measured = [pair for pair in pairs if _is_measured(pair[1]) and _is_measured(pair[2])]
    if not measured:
        return None
    axes, entries_before, entries_after = zip(*measured, strict=True)
    weights = plan.weights_of(axes)
    mean_before = _mean_mark(entries_before, weights)
    mean_after = _mean_mark(entries_after, weights)
    technique = str(images[1].technique)
    change = mean_deviation_change(
        [_rows(axis, weight, images, scoring) for axis, weight in zip(axes, weights, strict=True)],
        mean_after - mean_before,
        rng=scoring.rng(prompt.text, technique, scoring.instrument, "overall"),
        **scoring.interval_options,
    )
    return OverallChange(
        mitigated=mitigated,
        before=mean_before,
        after=mean_after,
        change=change,
        predicted=None if predicted is None else predicted.overall,
    )


def _is_measured(entry: SetShares) -> bool:
    return isinstance(entry.distance, Estimate)


def _mean_mark(entries: Sequence[SetShares], weights: Sequence[float]) -> float:
    marks = [entry.distance.mark for entry in entries if isinstance(entry.distance, Estimate)]
    return float(np.average(marks, weights=weights))


def _rows(
    axis: AxisPlan, weight: float, images: tuple[EvaluationSet, EvaluationSet], scoring: Scoring
) -> AxisRows:
    before, after = (_indicators(axis, image_set, scoring) for image_set in images)
    return AxisRows(
        before=before,
        after=after,
        reference=target_shares(axis),
        distance=DISTANCE[axis.scale],
        weight=weight,
    )


def _indicators(axis: AxisPlan, images: EvaluationSet, scoring: Scoring) -> NDArray[np.float64]:
    """Return a row per image, with 1 in the column of its label and 0 elsewhere."""
    labels = images.observed.values[scoring.instrument][axis.name]
    rows = []
    for label in labels:
        rows.append([float(label == value) for value in axis.values])
    return np.array(rows)
