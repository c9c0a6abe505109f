"""Shares of perceived values in picture sets: intervals, distance from the ideal, differences, and
verdicts.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData, UsageError
from askew.findings import AGAIN, RESULTS_FILE, E, MappingKey, adapter, results_text, with_q
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet, why_missing
from askew.plan import AxisPlan
from askew.stats.confusion import corrected_share_intervals
from askew.stats.differences import distance_difference, share_difference
from askew.stats.distance_intervals import as_exact_together
from askew.stats.intervals import holm_then_bh
from askew.stats.paired_sets import PairedSets
from askew.stats.shares import (
    detectable_distance,
    distance_estimate,
    share_intervals,
    worst_case_bounds,
)
from askew.stats.significance import SIGNIFICANCE_LEVEL, is_significant
from askew.types import Estimate, record

Counts = NDArray[np.int64]

DISTANCE = {"nominal": "total_variation", "ordinal": "wasserstein"}
"""The distance on an axis by its scale: ranks matter on an ordinal one."""


@record
class Verdict:
    """Whether a picture set leans on an axis, by all that was tested there.

    value       the value furthest above its ideal
    p, q        Holm over the distances from the ideal and, where the ideal is equal shares, MAD; q by
                Benjamini-Hochberg over all sets and axes that an instrument read
    detectable  the distance that so many pictures show in nine of ten runs, were it the only lean; None: no distance
    """

    value: str
    p: float
    q: float
    detectable: float | None


@record
class SetShares:
    """What an instrument saw of an axis in one picture set.

    set                   "initial", or "AXIS: VALUE" of a counterfactual or condition
    distance              of the shares from the ideal
    total_variation       of ordered values the same, without their order: it sees a peak in the middle
    bounds                by value: its lowest and highest share if the missing pictures were known; None if none is
    instrument_corrected  the shares without the instrument's known errors
    verdict               None where nothing was tested
    reference_images        in how many pictures of a reference the ideal was counted; None: it is exact
    """

    prompt: str
    set: str
    axis: str
    instrument: str
    reference: Mapping[str, float]
    counts: Mapping[str, int]
    missing: Mapping[str, int]
    shares: Annotated[Mapping[str, E], MappingKey("value")]
    distance: E
    bounds: Mapping[str, tuple[float, float]] | None
    instrument_corrected: Annotated[Mapping[str, E], MappingKey("value")] | None
    verdict: Verdict | None = None
    reference_images: int | None = None
    total_variation: E | None = None

    @property
    def from_reference(self) -> list[Estimate]:
        """All that holds the shares against the ideal."""
        return [one for one in (self.distance, self.total_variation) if isinstance(one, Estimate)]

    @property
    def even(self) -> bool:
        """Whether the ideal is equal shares."""
        return len({round(share, 9) for share in self.reference.values()}) == 1

    @property
    def leading(self) -> str:
        """The value that is furthest above its ideal."""
        read = sum(self.counts.values()) or 1
        return max(
            self.counts,
            key=lambda value: self.counts[value] / read - self.reference.get(value, 0.0),
        )

    @property
    def of_prompt(self) -> bool:
        """Whether the pictures are a prompt's own or a condition's, not counterfactuals of the
        axis.
        """
        return not self.set.startswith(f"{self.axis}: ")


@record
class SharesDifference:
    """Shares and distance of the second of two sets less those of the first."""

    prompt: str
    axis: str
    instrument: str
    sets: tuple[str, str]
    shares: Annotated[Mapping[str, E], MappingKey("value")]
    distance: E


def reference_of(axis: AxisPlan) -> dict[str, float]:
    """The shares that the values of an axis should have, in their order: equal ones unless the plan
    says otherwise.
    """
    return {value: (axis.reference or {}).get(value, 1 / len(axis.values)) for value in axis.values}


def shares(
    observed: ObservedSet,
    planned: AxisPlan,
    prompt: str,
    scoring: Scoring,
    known_errors: Counts | None = None,
) -> SetShares:
    """Shares of an axis's values in a set, but for q-values. `known_errors`, counts of this
    instrument's answers (columns) against a reference (rows), corrects the shares.
    """
    instrument = scoring.instrument
    axis = planned.axis()
    target = reference_of(planned)
    counts = np.array(observed.counts(instrument, axis))
    missing = observed.missing(instrument, axis)
    place = (prompt, observed.name, axis.name, instrument)
    reasons = {str(reason): lost for reason, lost in missing.items()}
    by_value = dict(zip(axis.values, counts.tolist(), strict=True))
    seen = partial(
        SetShares, *place, target, by_value, reasons, reference_images=planned.reference_images
    )
    if not counts.sum():
        none = why_missing([observed], instrument, axis)
        return seen(dict.fromkeys(axis.values, none), none, None, None)
    lost = sum(missing.values())
    rng = scoring.rng(*place, "shares")
    estimates = share_intervals(counts, level=scoring.level, missing=lost)
    from_reference = partial(
        distance_estimate,
        counts,
        [*target.values()],
        missing=lost,
        reference_images=planned.reference_images,
        **scoring.interval_options,
    )
    distance = from_reference(distance=DISTANCE[axis.scale], rng=rng)
    corrected = None
    if (
        known_errors is not None and known_errors.sum(axis=1).all()
    ):  # the reference has seen every value
        with suppress(NotEnoughData):
            found = corrected_share_intervals(
                counts, known_errors, rng=rng, missing=lost, **scoring.interval_options
            )
            corrected = dict(zip(axis.values, found, strict=True))
    low, high = (bound.tolist() for bound in worst_case_bounds(counts, lost))
    return seen(
        dict(zip(axis.values, estimates, strict=True)),
        distance,
        dict(zip(axis.values, zip(low, high, strict=True), strict=True)) if lost else None,
        corrected,
        total_variation=from_reference(rng=scoring.rng(*place, "total variation"))
        if axis.scale == "ordinal"
        else None,
    )


def differences(
    sets: Sequence[ObservedSet], plan: AxisPlan, prompt: str, scoring: Scoring
) -> list[SharesDifference]:
    """For every two sets what the second shows less what the first shows, but for q-values."""
    axis = plan.axis()
    target = [*reference_of(plan).values()]
    found = []
    for first, second in combinations(sets, 2):
        a, b = (np.array(s.counts(scoring.instrument, axis)) for s in (first, second))
        if not (a.sum() and b.sum()):
            continue
        names = (first.name, second.name)
        rng = scoring.rng(prompt, *names, axis.name, scoring.instrument, "differences")
        both = PairedSets.of_counts(b, a)
        moved = {
            v: share_difference(both, i, level=scoring.level) for i, v in enumerate(axis.values)
        }
        distance = distance_difference(
            both, target, distance=DISTANCE[axis.scale], rng=rng, **scoring.interval_options
        )
        found.append(
            SharesDifference(prompt, axis.name, scoring.instrument, names, moved, distance)
        )
    return found


def with_q_of_differences(found: Iterable[SharesDifference]) -> tuple[SharesDifference, ...]:
    """The same, with q-values: of the distances, and of the shares by Holm over the values of each;
    by instrument.
    """
    entries = list(found)
    for name in dict.fromkeys(one.instrument for one in entries):
        own = [k for k, one in enumerate(entries) if one.instrument == name]
        known = [
            {v: e for v, e in entries[k].shares.items() if isinstance(e, Estimate)} for k in own
        ]
        results = holm_then_bh([[e.p for e in some.values() if e.p is not None] for some in known])
        for k, some, (_, _, qs) in zip(own, known, results, strict=True):
            adjusted = {v: replace(e, q=q) for (v, e), q in zip(some.items(), qs, strict=True)}
            entries[k] = replace(entries[k], shares=adjusted)
    return with_q(
        tuple(entries), lambda at: entries[int(at[0])].instrument if at[-1] == "distance" else None
    )


def recorded_shares(folder: Path) -> tuple[SetShares, ...]:
    """The shares that a finished run found, of whatever method. Raises UsageError for a folder that
    holds none.
    """
    path = folder / RESULTS_FILE
    try:
        content = json.loads(results_text(path)).get("shares") or []
        found: tuple[SetShares, ...] = adapter(tuple[SetShares, ...]).validate_json(
            json.dumps(content)
        )
    except (ValueError, AttributeError) as error:
        raise UsageError(f"the shares in {path} cannot be read ({error}): {AGAIN}") from error
    return found


SetAndAxis = tuple[str, str]
"""A prompt and an axis."""


def with_verdicts(
    entries: Iterable[SetShares],
    mads: Mapping[SetAndAxis, float] | None = None,
    captioner: str | None = None,
) -> tuple[tuple[SetShares, ...], dict[SetAndAxis, float]]:
    """Shares with a verdict on every set of a prompt's own, and the q of every MAD. Tests of one
    set and axis are joined by Holm: the distance of its shares, of ordered values also their total
    variation, and MAD. Those of all that an instrument read are one family of Benjamini-Hochberg
    (`holm_then_bh`). `mads` are p-values of MAD by prompt and axis, which rest on the answers of
    `captioner`. MAD asks whether pictures are equally near to all values: where the ideal is
    another it tells nothing, and gets no q. Where an axis has no shares it is tested alone.
    """
    found = list(entries)
    qs = dict[SetAndAxis, float]()
    for name in dict.fromkeys(
        [*(one.instrument for one in found), *([captioner] if mads and captioner else [])]
    ):
        own = {k: one for k, one in enumerate(found) if one.instrument == name and one.of_prompt}
        tests: dict[int | SetAndAxis, list[float]] = {
            k: ps
            for k, one in own.items()
            if (ps := [e.p for e in one.from_reference if e.p is not None])
        }
        places = {(one.prompt, one.axis): k for k, one in own.items() if one.set == "initial"}
        asked = dict[SetAndAxis, int | SetAndAxis]()
        for place, p in (mads or {}).items() if name == captioner else ():
            k = places.get(place)
            if k is None or own[k].even:
                asked[place] = k if k in tests else place
                tests.setdefault(asked[place], []).append(p)
        results = dict(zip(tests, holm_then_bh([*tests.values()]), strict=True))
        qs |= {place: results[key][2][-1] for place, key in asked.items()}
        for k in own.keys() & results.keys():
            found[k] = _judged(
                own[k], *results[k], SIGNIFICANCE_LEVEL / (len(tests[k]) * len(tests))
            )
    return tuple(found), qs


def _judged(one: SetShares, p: float, q: float, qs: Sequence[float], level: float) -> SetShares:
    """With the q of its own distances, the value that leads, and what so many pictures could have
    shown.
    """
    distance = DISTANCE["nominal" if one.total_variation is None else "ordinal"]
    pictures = as_exact_together(sum(one.counts.values()), one.reference_images)
    told = Verdict(
        one.leading,
        p,
        q,
        detectable_distance(pictures, (*one.reference.values(),), distance, level=level),
    )
    first, second = (
        [replace(e, q=own) for e, own in zip(one.from_reference, qs, strict=False)] + [None]
    )[:2]
    return replace(one, distance=first or one.distance, total_variation=second, verdict=told)


def is_biased(entry: SetShares) -> bool | None:
    """Check whether the shares of an image set on an axis deviate significantly from the reference.

    Returns
    -------
    bool or None
        By the verdict on the set. None where nothing was tested.
    """
    if entry.verdict is None:
        return is_significant(entry.distance)
    return entry.verdict.q < SIGNIFICANCE_LEVEL
