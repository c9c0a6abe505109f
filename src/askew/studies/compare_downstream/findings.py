"""Differences in scores between runs of a downstream task, with their names and q-values."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Self

from askew.conditions import Scores
from askew.findings import E, LocatedEstimate
from askew.stats.intervals import benjamini_hochberg
from askew.stats.significance import is_significant
from askew.studies.compare.findings import RunDifferences
from askew.studies.compare.runs import TaskRun
from askew.types import Estimate, Missing, record

CLASSIFICATION_SCORES = ("association", "differential", "accuracy")
EDITING_SCORES = ("gender_change", "gender_contrast", "axis_change", "ita_change")

NAME_FIELDS = ("group", "other_group", "axis", "targets", "strength", "samples")
"""Fields that identify a score of a run."""

RunPair = tuple[str, str]
"""Names of two runs (A, B). Differences are B minus A."""


@record
class TaskDifference:
    """Difference in a score between two runs (second minus first).

    Attributes
    ----------
    score
        Name of the score. For classifications, the score is association, differential or accuracy.
        For edits, the score is gender_change, axis_change, ita_change or gender_contrast, which is
        the difference in gender_change between two groups.
    group, other_group
        The group. For a differential or a contrast, the score of `other_group` is subtracted from
        the score of `group`. `other_group` is None if the score describes a single group.
    axis
        Axis of axis_change.
    targets, strength
        Name of the set of edit prompts and strength of the edits.
    samples
        Number of noise samples in a classification.
    runs
        Names of the first and the second run.
    pairs
        Number of input images that both runs share; 0 if the runs are compared as independent sets.
    of_runs
        The score in the first run and in the second run.
    difference
        The difference, or the reason why it is missing.
    """

    score: str
    group: str
    runs: RunPair
    pairs: int
    of_runs: tuple[E, E]
    difference: E
    other_group: str | None = None
    axis: str | None = None
    targets: str | None = None
    strength: float | None = None
    samples: int | None = None

    @property
    def is_significant(self) -> bool:
        """True if the q-value of the difference is below the significance level."""
        return bool(is_significant(self.difference))

    @property
    def is_tested(self) -> bool:
        """True if the difference has a p-value.

        Differences with a p-value belong to the comparison's family of tests.
        """
        return isinstance(self.difference, Estimate) and self.difference.p is not None

    @property
    def size(self) -> float:
        """Absolute value of the difference; -1 if the difference is missing."""
        return abs(self.difference.value) if isinstance(self.difference, Estimate) else -1.0

    def swapped(self) -> Self:
        """Return the difference with the two runs swapped."""
        swapped = replace(self, runs=self.runs[::-1], of_runs=self.of_runs[::-1])
        difference = self.difference
        if isinstance(difference, Missing):
            return swapped
        negative = replace(
            difference,
            value=0.0 - difference.value,
            low=None if difference.high is None else 0.0 - difference.high,
            high=None if difference.low is None else 0.0 - difference.low,
            debiased=None,
        )
        return replace(swapped, difference=negative)


def with_family(entries: Sequence[TaskDifference]) -> tuple[TaskDifference, ...]:
    """Return the differences with q-values. All tests of a comparison form one family."""
    tested = {place: entry.difference for place, entry in enumerate(entries) if entry.is_tested}
    p_values = [
        difference.p or 0.0 for difference in tested.values() if isinstance(difference, Estimate)
    ]
    q_values = dict(zip(tested, benjamini_hochberg(p_values).tolist(), strict=True))
    corrected = []
    for place, entry in enumerate(entries):
        if place in q_values and isinstance(entry.difference, Estimate):
            difference = replace(entry.difference, q=q_values[place])
            corrected.append(replace(entry, difference=difference))
        else:
            corrected.append(entry)
    return tuple(corrected)


def scored(
    entries: Iterable[TaskDifference], score: str | None = None
) -> Iterator[LocatedEstimate]:
    """Yield each measured difference and the names that identify it, such as "model": "B minus A".

    Parameters
    ----------
    entries
        The differences.
    score
        Name of the score whose differences are yielded. None for all scores.
    """
    for place, entry in enumerate(entries):
        if isinstance(entry.difference, Estimate) and score in (None, entry.score):
            names = {"model": f"{entry.runs[1]} minus {entry.runs[0]}"}
            for field in NAME_FIELDS:
                value = getattr(entry, field)
                if value is not None:
                    names[field] = f"{value:g}" if isinstance(value, float) else str(value)
            yield LocatedEstimate(entry.score, (place, "difference"), names, entry.difference)


def scores_of(method: str) -> Scores:
    """Return the scores that --fail-if accepts for runs of a method."""
    names = CLASSIFICATION_SCORES if method == "classify" else EDITING_SCORES
    return {name: partial(scored, score=name) for name in names}


TaskFindings = RunDifferences[TaskRun, TaskDifference]
