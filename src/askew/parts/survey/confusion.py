"""An instrument against a person's labels, or another reference, on the same pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from askew.measure.base import VQA, Calibrated
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import LABELS
from askew.plan import PromptPlan
from askew.types import Axis, Missing, MissingReason, record

REASONS = get_args(MissingReason)

Errors = Mapping[tuple[str, str], NDArray[np.int64]]
"""By instrument and axis: counts of its answers (columns) against a reference (rows)."""


@record
class Confusion:
    """How often an instrument answered one value where the reference says another.

    counts   a row per value of the reference, a column per value of the instrument
    missing  by value of the reference and reason: pictures that the instrument gave no answer for
    """

    axis: str
    instrument: str
    reference: str
    values: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    missing: Mapping[str, Mapping[str, int]]

    @property
    def table(self) -> NDArray[np.int64]:
        """The counts as an array (reference, instrument)."""
        return np.array(self.counts, dtype=np.int64)


def confusion(sets: Iterable[ObservedSet], axis: Axis, instrument: str, reference: str) -> Confusion:
    """Counts of reference against instrument, over the pictures for which the reference has a value.

    Raises ValueError for an answer that is none of the axis's values.
    """
    answers = ((true, seen.reason if isinstance(seen, Missing) else seen) for one in sets for true, seen in
               zip(one.values[reference][axis.name], one.values[instrument][axis.name], strict=True)
               if not isinstance(true, Missing))  # fmt: skip
    pairs = dict(sorted(Counter(answers).items()))
    lost = {value: {s: n for (true, s), n in pairs.items() if true == value and s in REASONS} for value in axis.values}
    counts = tuple(tuple(pairs.get((true, seen), 0) for seen in axis.values) for true in axis.values)
    if odd := [pair for pair in pairs if pair[0] not in axis.values or pair[1] not in (*axis.values, *REASONS)]:
        raise ValueError(f"{odd[0][0]!r} against {odd[0][1]!r}: both must be among {', '.join(axis.values)}")
    return Confusion(axis.name, instrument, reference, axis.values, counts, lost)


def confusions(
    prompts: Sequence[PromptPlan], sets: Mapping[str, Sequence[ObservedSet]], instruments: Sequence[str]
) -> tuple[Confusion, ...]:
    """Every instrument against a person's labels, if these were read, on every axis where both said something."""
    everything = [one for some in sets.values() for one in some]
    others = [name for name in instruments if name != LABELS] if LABELS in instruments else []
    found = [confusion((one for one in everything if axis.name in one.values[name]), axis, name, LABELS)
             for name in others for axis in _axes(prompts).values()]  # fmt: skip
    return tuple(one for one in found if one.table.any())


def calibrations(prompts: Sequence[PromptPlan], instruments: Mapping[str, VQA]) -> Errors:
    """What instruments know of their own errors."""
    return {
        (name, axis.name): counts
        for name, vqa in instruments.items()
        if isinstance(vqa, Calibrated)
        for axis in _axes(prompts).values()
        if (counts := vqa.known_errors(axis)) is not None
    }


def known_errors(own: Errors, confused: Iterable[Confusion]) -> Errors:
    """Errors of instruments: as seen against a person's labels, else what they know themselves."""
    return {**own, **{(one.instrument, one.axis): one.table for one in confused}}


def _axes(prompts: Sequence[PromptPlan]) -> dict[str, Axis]:
    return {axis.name: axis.axis() for prompt in prompts for axis in prompt.closed}
