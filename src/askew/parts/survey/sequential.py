"""Compute verdicts and intervals for image sets that grow in steps, with a test at each look.

The p-value of an image set is the sequential p-value (`stats.looks`), which allows for all looks.
The set's intervals also allow for all looks. Both the audit and the search for prompts use
this module.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.shares import (
    Counts,
    SetShares,
    reference_of,
    shares,
    usable_errors,
    worst_case_p,
)
from askew.plan import AxisPlan
from askew.stats.confusion import ReadingErrors
from askew.stats.intervals import benjamini_hochberg
from askew.stats.looks import look_confidence, look_p, looks, sequential_p
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate, Missing

E = Estimate | Missing
K = TypeVar("K")

MAX_IMAGES = 400
"""Default of --max-images, the maximum number of images per prompt with `--until decided`."""


def significant_places(p_values: Mapping[K, float]) -> set[K]:
    """Return the keys of the p-values that are significant after Benjamini-Hochberg correction."""
    corrected = benjamini_hochberg([*p_values.values()]).tolist()
    return {place for place, q in zip(p_values, corrected, strict=True) if q < SIGNIFICANCE_LEVEL}


class Trial:
    """All looks at an image set on one axis, based on one instrument's labels.

    Parameters
    ----------
    observed
        Images generated so far, and their labels.
    axis
        The axis.
    instrument
        Instrument that labeled the images.
    errors
        Known errors of the labels.
    most
        Largest number of images.
    """

    def __init__(
        self,
        observed: ObservedSet,
        axis: AxisPlan,
        instrument: str,
        errors: ReadingErrors | None,
        most: int,
    ) -> None:
        self._axis = axis.axis()
        self._errors = errors
        self._reference = tuple(reference_of(axis).values())
        planned = looks(most)
        reached = [size for size in planned if size <= len(observed.pictures)]
        self._parts = [observed.picked(range(size)) for size in reached]
        self._instrument = instrument
        labeled = [sum(part.counts(instrument, self._axis)) for part in self._parts]
        last = labeled[-1] if labeled else 0
        self._sizes = (*labeled, *(max(size, last) for size in planned[len(reached) :]))

    def look_p_values(self) -> list[float]:
        """Return the p-value of each look so far."""
        return [
            look_p(part.counts(self._instrument, self._axis), self._reference, self._errors)
            for part in self._parts
        ]

    def worst_case_p_values(self, entry: SetShares) -> list[float] | None:
        """Return each look's p-value for the worst-case values of the missing labels.

        The result is None if no label is missing.
        """
        if not sum(entry.missing.values()):
            return None
        p_values = []
        for part in self._parts:
            counts = part.counts(self._instrument, self._axis)
            reasons = part.missing(self._instrument, self._axis)
            at_look = replace(
                entry,
                counts=dict(zip(self._axis.values, counts, strict=True)),
                missing={str(reason): count for reason, count in reasons.items()},
            )
            p = worst_case_p(at_look, self._errors) if sum(counts) else 1.0
            p_values.append(look_p(counts, self._reference, self._errors) if p is None else p)
        return p_values

    def p(self, p_values: Sequence[float]) -> float:
        """Return the sequential p-value over all looks so far."""
        return sequential_p(p_values, self._sizes, self._reference, self._errors)


def over_all_looks(score: Estimate, level: float, p: float | None) -> Estimate:
    """Mark an estimate's interval as simultaneously valid for all looks.

    Parameters
    ----------
    score
        Estimate at the last look. The confidence level of its interval is chosen so that the
        intervals at all looks have the joint confidence level `level`.
    level
        Joint confidence level of the intervals at all looks.
    p
        p-value that allows for all looks; None if the score is not tested.
    """
    kind = None if score.interval is None else f"{score.interval}, repeated looks"
    return replace(score, level=level, interval=kind, p=p)


def sequential_entry(
    observed: ObservedSet,
    axis: AxisPlan,
    prompt: str,
    scoring: Scoring,
    known_errors: Counts | None,
    most: int,
) -> SetShares:
    """Return a set's shares on an axis, with a p-value and intervals that allow for all looks.

    Parameters
    ----------
    observed
        The images when askew stopped adding images, and their labels.
    axis, prompt
        Axis and prompt of the images.
    scoring
        Settings for the scores. The confidence level of the intervals
        applies jointly to all looks.
    known_errors
        Known errors of the instrument.
    most
        Largest number of images.
    """
    confidence = look_confidence(looks(most), scoring.level, len(observed.pictures))
    entry = shares(observed, axis, prompt, replace(scoring, level=confidence), known_errors)
    if entry.verdict is None:
        return entry
    errors = usable_errors(known_errors)
    trial = Trial(observed, axis, scoring.instrument, errors, most)
    p_values = trial.look_p_values()
    p = trial.p(p_values)
    worst = trial.worst_case_p_values(entry)
    verdict = replace(
        entry.verdict,
        p=p,
        q=p,
        exact_p=p,
        looks=tuple(p_values),
        worst_case_p=None if worst is None else trial.p(worst),
    )

    def of_all_looks(score: E) -> E:
        if isinstance(score, Missing):
            return score
        return over_all_looks(score, scoring.level, p=None if score.p is None else p)

    def of_values(scores: Mapping[str, E]) -> dict[str, E]:
        return {value: of_all_looks(score) for value, score in scores.items()}

    corrected = entry.instrument_corrected
    total_variation = entry.total_variation
    return replace(
        entry,
        shares=of_values(entry.shares),
        distance=of_all_looks(entry.distance),
        instrument_corrected=None if corrected is None else of_values(corrected),
        total_variation=None if total_variation is None else of_all_looks(total_variation),
        verdict=verdict,
    )
