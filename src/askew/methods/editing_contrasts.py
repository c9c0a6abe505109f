"""What differs between groups, sets of targets and strengths; groups put together ("downstream", figure 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.editing import GENDER, EditedGroup, Readings, changes, skin_changes
from askew.methods.significance import add_q
from askew.parts.scoring import Scoring
from askew.prompts.groups import stated_value
from askew.stats.clustered import (
    clustered_mean,
    clustered_mean_difference,
    clustered_rate,
    clustered_rate_difference,
)
from askew.types import Estimate, Missing

Floats = NDArray[np.float64]
Contrast = Literal["group", "targets", "strength"]

POOLED_BY = ("gender", "ethnicity")
"""Axes by whose values, as the groups' names say them, groups are put together."""


@dataclass(frozen=True, slots=True)
class Place:
    """One cell of the results: a group, a set of targets, a strength."""

    group: EditedGroup
    targets: str
    strength: float

    def json(self) -> dict[str, Any]:
        """As it stands in results.json."""
        return {"group": self.group.name, "targets": self.targets, "strength": self.strength}


def contrasts(
    groups: Sequence[EditedGroup],
    targets: Mapping[str, Sequence[str]],
    strengths: Sequence[float],
    readings: Readings,
    scoring: Scoring,
) -> list[dict[str, Any]]:
    """Differences between every two groups, every two sets of targets, and the least and the greatest strength.

    An entry: {contrast, first, second, gender_change: E, ita_change: E}, the second's less the first's. Picture k of
    every group is edited from the same noise, and makes a pair with picture k of the others. q over the entries of a
    contrast.
    """
    entries = [
        _difference(kind, first, second, targets, readings, scoring)
        for kind, first, second in _comparable(groups, list(targets), sorted(strengths))
    ]
    for kind in ("group", "targets", "strength"):
        for score in ("gender_change", "ita_change"):
            add_q([entry for entry in entries if entry["contrast"] == kind], score)
    return entries


def pooled(
    groups: Sequence[EditedGroup],
    targets: Mapping[str, Sequence[str]],
    strengths: Sequence[float],
    readings: Readings,
    scoring: Scoring,
) -> list[dict[str, Any]]:
    """Change of gender and of ITA over all groups whose names say the same gender, or the same ethnicity.

    An entry: {axis, value, groups, targets, strength, gender_change: E, ita_change: E}.
    """
    return [
        _pool(axis, value, own, name, strength, targets, readings, scoring)
        for axis in POOLED_BY
        for value, own in _by_stated(groups, axis).items()
        for name in targets
        for strength in sorted(strengths)
    ]


def _comparable(
    groups: Sequence[EditedGroup], targets: Sequence[str], strengths: Sequence[float]
) -> Iterator[tuple[Contrast, Place, Place]]:
    for name in targets:
        for strength in strengths:
            for a, b in combinations(groups, 2):
                yield "group", Place(a, name, strength), Place(b, name, strength)
    for group in groups:
        for strength in strengths:
            for one, other in combinations(targets, 2):
                yield "targets", Place(group, one, strength), Place(group, other, strength)
        if len(strengths) > 1:
            for name in targets:
                yield "strength", Place(group, name, strengths[0]), Place(group, name, strengths[-1])


def _difference(
    kind: Contrast,
    first: Place,
    second: Place,
    targets: Mapping[str, Sequence[str]],
    readings: Readings,
    scoring: Scoring,
) -> dict[str, Any]:
    rng = scoring.rng(kind, *(str(part) for place in (first, second) for part in place.json().values()))
    seen = readings.values.get(GENDER, {})
    changed = [changes(p.group, targets[p.targets], p.strength, seen) for p in (second, first)]
    tones = [skin_changes(p.group, targets[p.targets], p.strength, readings, "ita") for p in (second, first)]
    return {
        "contrast": kind,
        "first": first.json(),
        "second": second.json(),
        "gender_change": _measured(clustered_rate_difference, changed, rng, scoring),
        "ita_change": _measured(clustered_mean_difference, tones, rng, scoring),
    }


def _measured(measure: Any, sides: Sequence[Floats], rng: np.random.Generator, scoring: Scoring) -> Estimate | Missing:
    try:
        found: Estimate = measure(*sides, rng=rng, draws=scoring.draws, level=scoring.level)
    except NotEnoughData as error:
        return Missing("not_asked", str(error))
    return found


def _pool(
    axis: str,
    value: str,
    groups: Sequence[EditedGroup],
    name: str,
    strength: float,
    targets: Mapping[str, Sequence[str]],
    readings: Readings,
    scoring: Scoring,
) -> dict[str, Any]:
    rng = scoring.rng("pooled", axis, value, name, f"{strength:g}")
    seen = readings.values.get(GENDER, {})
    changed = np.concatenate([changes(group, targets[name], strength, seen) for group in groups])
    tones = np.concatenate([skin_changes(group, targets[name], strength, readings, "ita") for group in groups])
    return {
        "axis": axis,
        "value": value,
        "groups": [group.name for group in groups],
        "targets": name,
        "strength": strength,
        "gender_change": _measured(_rate, [changed], rng, scoring),
        "ita_change": _measured(_mean, [tones], rng, scoring),
    }


def _rate(changed: Floats, *, rng: np.random.Generator, draws: int, level: float) -> Estimate:
    return clustered_rate(changed, level=level)


def _mean(values: Floats, *, rng: np.random.Generator, draws: int, level: float) -> Estimate:
    return clustered_mean(values, rng=rng, draws=draws, level=level, null=0.0)


def _by_stated(groups: Sequence[EditedGroup], axis: str) -> dict[str, list[EditedGroup]]:
    """Groups by what their names say; empty unless there are two values to hold against each other."""
    found: dict[str, list[EditedGroup]] = {}
    for group in groups:
        value = stated_value(group.name, axis)
        if value is not None:
            found.setdefault(value, []).append(group)
    return found if len(found) > 1 else {}
