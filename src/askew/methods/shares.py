"""Shares of perceived values in picture sets: intervals, distance from the ideal, differences, confusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.confusion import Confusion, confusion
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.stats.confusion import corrected_share_intervals
from askew.stats.differences import distance_difference, share_difference
from askew.stats.shares import distance_estimate, share_intervals, worst_case_bounds
from askew.types import Axis, Missing

Counts = NDArray[np.int64]

DISTANCE = {"nominal": "total_variation", "ordinal": "wasserstein"}
"""The distance on an axis by its scale: ranks matter on an ordinal one."""


def shares(
    observed: ObservedSet,
    axis: Axis,
    ideal: Mapping[str, float] | None,
    prompt: str,
    scoring: Scoring,
    known_errors: Counts | None = None,
) -> dict[str, Any]:
    """One entry of `shares` in results.json, but for q-values. `ideal` None is uniform.

    `known_errors`, counts of this instrument's answers (columns) against a reference (rows), corrects the shares.
    """
    instrument = scoring.instrument
    counts = np.array(observed.counts(instrument, axis))
    missing = observed.missing(instrument, axis)
    target = ideal or dict.fromkeys(axis.values, 1 / len(axis.values))
    entry = {"prompt": prompt, "set": observed.name, "axis": axis.name, "instrument": instrument, "ideal": dict(target),
             "counts": dict(zip(axis.values, counts.tolist(), strict=True)), "missing": missing}  # fmt: skip
    if not counts.sum():
        none = Missing(max(missing, key=lambda r: missing[r]) if missing else "not_asked")
        return entry | {"shares": dict.fromkeys(axis.values, none), "distance": none, "bounds": None,
                        "instrument_corrected": None}  # fmt: skip
    lost = sum(missing.values())
    rng = scoring.rng(prompt, observed.name, axis.name, instrument, "shares")
    estimates = share_intervals(counts, level=scoring.level, missing=lost)
    distance = distance_estimate(
        counts,
        np.array([target[value] for value in axis.values]),
        distance=DISTANCE[axis.scale],
        rng=rng,
        draws=scoring.draws,
        level=scoring.level,
        missing=lost,
    )
    bounds = [bound.tolist() for bound in worst_case_bounds(counts, lost)]
    return entry | {
        "shares": dict(zip(axis.values, estimates, strict=True)),
        "distance": distance,
        "bounds": dict(zip(axis.values, map(list, zip(*bounds, strict=True)), strict=True)) if lost else None,
        "instrument_corrected": _corrected(counts, axis, known_errors, rng, scoring, lost),
    }


def differences(
    sets: Sequence[ObservedSet], axis: Axis, ideal: Mapping[str, float] | None, prompt: str, scoring: Scoring
) -> list[dict[str, Any]]:
    """Entries of `differences` for every pair of sets: share and distance of the second less those of the first."""
    target = np.array([(ideal or {}).get(value, 1 / len(axis.values)) for value in axis.values])
    entries = []
    for first, second in combinations(sets, 2):
        a, b = (np.array(s.counts(scoring.instrument, axis)) for s in (first, second))
        if not (a.sum() and b.sum()):
            continue
        names = (first.name, second.name)
        rng = scoring.rng(prompt, *names, axis.name, scoring.instrument, "differences")
        entries.append({
            "prompt": prompt, "axis": axis.name, "instrument": scoring.instrument, "sets": list(names),
            "shares": {v: share_difference(b, a, i, level=scoring.level) for i, v in enumerate(axis.values)},
            "distance": distance_difference(b, a, target, distance=DISTANCE[axis.scale], rng=rng, draws=scoring.draws,
                                            level=scoring.level),
        })  # fmt: skip
    return entries


def confusion_between(
    sets: Sequence[ObservedSet], axis: Axis, instrument: str, reference: str
) -> tuple[Confusion, dict[str, Any]]:
    """How an instrument's answers compare with a reference's on the same pictures, and as an entry of results.json."""
    columns = [[v for s in sets for v in s.values[name][axis.name]] for name in (reference, instrument)]
    table = confusion(axis.values, *columns)
    entry = {"axis": axis.name, "instrument": instrument, "reference": reference, "values": list(axis.values),
             "counts": table.counts.tolist(), "missing": {v: dict(r) for v, r in table.missing.items()}}  # fmt: skip
    return table, entry


def _corrected(
    counts: Counts,
    axis: Axis,
    known_errors: Counts | None,
    rng: np.random.Generator,
    scoring: Scoring,
    missing: int,
) -> dict[str, Any] | None:
    """Shares corrected for the instrument's known errors; None where a value was never seen by the reference."""
    if known_errors is None or not known_errors.sum(axis=1).all():
        return None
    try:
        estimates = corrected_share_intervals(
            counts, known_errors, rng=rng, draws=scoring.draws, level=scoring.level, missing=missing
        )
    except NotEnoughData:
        return None
    return dict(zip(axis.values, estimates, strict=True))
