"""Shares of perceived values in picture sets: intervals, distance from the ideal, differences between sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData, UsageError
from askew.findings import AGAIN, RESULTS_FILE, Address, E, Keyed, adapter, read_text, with_q
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.stats.confusion import corrected_share_intervals
from askew.stats.differences import distance_difference, share_difference
from askew.stats.shares import distance_estimate, share_intervals, worst_case_bounds
from askew.types import Axis, Estimate, Missing, record

Counts = NDArray[np.int64]

DISTANCE = {"nominal": "total_variation", "ordinal": "wasserstein"}
"""The distance on an axis by its scale: ranks matter on an ordinal one."""


@record
class SetShares:
    """What an instrument saw of an axis in one picture set.

    set                   "initial", or "AXIS: VALUE" of a counterfactual or condition
    distance              of the shares from the ideal
    bounds                by value: its lowest and highest share if the missing pictures were known; None if none is
    instrument_corrected  the shares without the instrument's known errors
    """

    prompt: str
    set: str
    axis: str
    instrument: str
    ideal: Mapping[str, float]
    counts: Mapping[str, int]
    missing: Mapping[str, int]
    shares: Annotated[Mapping[str, E], Keyed("value")]
    distance: E
    bounds: Mapping[str, tuple[float, float]] | None
    instrument_corrected: Annotated[Mapping[str, E], Keyed("value")] | None

    @property
    def of_prompt(self) -> bool:
        """Whether the pictures are a prompt's own or a condition's, not counterfactuals of the axis."""
        return not self.set.startswith(f"{self.axis}: ")


@record
class SharesDifference:
    """Shares and distance of the second of two sets less those of the first."""

    prompt: str
    axis: str
    instrument: str
    sets: tuple[str, str]
    shares: Annotated[Mapping[str, E], Keyed("value")]
    distance: E


S = TypeVar("S", SetShares, SharesDifference)


def shares(
    observed: ObservedSet,
    axis: Axis,
    ideal: Mapping[str, float] | None,
    prompt: str,
    scoring: Scoring,
    known_errors: Counts | None = None,
) -> SetShares:
    """Shares of an axis's values in a set, but for q-values. `ideal` None is uniform.

    `known_errors`, counts of this instrument's answers (columns) against a reference (rows), corrects the shares.
    """
    instrument, target = scoring.instrument, ideal or dict.fromkeys(axis.values, 1 / len(axis.values))
    counts, missing = np.array(observed.counts(instrument, axis)), observed.missing(instrument, axis)
    place = (prompt, observed.name, axis.name, instrument)
    reasons = {str(reason): lost for reason, lost in missing.items()}
    seen = partial(SetShares, *place, target, dict(zip(axis.values, counts.tolist(), strict=True)), reasons)
    if not counts.sum():
        none = Missing(max(missing, key=lambda r: missing[r]) if missing else "not_asked")
        return seen(dict.fromkeys(axis.values, none), none, None, None)
    lost = sum(missing.values())
    rng = scoring.rng(*place, "shares")
    estimates = share_intervals(counts, level=scoring.level, missing=lost)
    distance = distance_estimate(counts, _in_order(target, axis), distance=DISTANCE[axis.scale], rng=rng, missing=lost,
                                 **scoring.how)  # fmt: skip
    low, high = (bound.tolist() for bound in worst_case_bounds(counts, lost))
    return seen(
        dict(zip(axis.values, estimates, strict=True)),
        distance,
        dict(zip(axis.values, zip(low, high, strict=True), strict=True)) if lost else None,
        _corrected(counts, axis, known_errors, rng, scoring, lost),
    )


def differences(
    sets: Sequence[ObservedSet], axis: Axis, ideal: Mapping[str, float] | None, prompt: str, scoring: Scoring
) -> list[SharesDifference]:
    """For every two sets what the second shows less what the first shows, but for q-values."""
    target = _in_order(ideal or dict.fromkeys(axis.values, 1 / len(axis.values)), axis)
    found = []
    for first, second in combinations(sets, 2):
        a, b = (np.array(s.counts(scoring.instrument, axis)) for s in (first, second))
        if not (a.sum() and b.sum()):
            continue
        names = (first.name, second.name)
        rng = scoring.rng(prompt, *names, axis.name, scoring.instrument, "differences")
        moved = {v: share_difference(b, a, i, level=scoring.level) for i, v in enumerate(axis.values)}
        distance = distance_difference(b, a, target, distance=DISTANCE[axis.scale], rng=rng, **scoring.how)
        found.append(SharesDifference(prompt, axis.name, scoring.instrument, names, moved, distance))
    return found


def with_q_of_distances(found: Iterable[S], wanted: Callable[[S], bool] = lambda one: True) -> tuple[S, ...]:
    """The same, with q-values of the wanted ones' distances: one family per instrument."""
    entries = tuple(found)

    def family(at: Address) -> str | None:
        entry = entries[int(at[0])]
        return entry.instrument if at[1:] == ("distance",) and wanted(entry) else None

    return with_q(entries, family)


def recorded_shares(folder: Path) -> tuple[SetShares, ...]:
    """The shares that a finished run found, of whatever method. Raises UsageError for a folder that holds none."""
    path = folder / RESULTS_FILE
    try:
        content = json.loads(read_text(path)).get("shares") or []
        found: tuple[SetShares, ...] = adapter(tuple[SetShares, ...]).validate_json(json.dumps(content))
    except (ValueError, AttributeError) as error:
        raise UsageError(f"the shares in {path} cannot be read ({error}): {AGAIN}") from error
    return found


def _in_order(shares: Mapping[str, float], axis: Axis) -> NDArray[np.float64]:
    return np.array([shares[value] for value in axis.values])


def _corrected(
    counts: Counts, axis: Axis, known_errors: Counts | None, rng: np.random.Generator, scoring: Scoring, missing: int
) -> dict[str, Estimate] | None:
    """Shares without the instrument's known errors; None where a value was never seen by the reference."""
    if known_errors is None or not known_errors.sum(axis=1).all():
        return None
    try:
        estimates = corrected_share_intervals(counts, known_errors, rng=rng, missing=missing, **scoring.how)
    except NotEnoughData:
        return None
    return dict(zip(axis.values, estimates, strict=True))
