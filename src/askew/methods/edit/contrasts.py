"""What differs between groups, sets of targets and strengths; groups put together ("downstream", figure 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import numpy as np

from askew.findings import Address, with_q
from askew.methods.edit.findings import Contrast, Place, Pooled
from askew.methods.edit.plan import GENDER
from askew.methods.edit.reading import Cell, EditedGroup, Floats, Readings
from askew.parts.scoring import Scoring, or_missing
from askew.prompts.groups import stated_value
from askew.stats.clustered import (
    clustered_mean,
    clustered_mean_difference,
    clustered_rate,
    clustered_rate_difference,
)

POOLED_BY = ("gender", "ethnicity")
"""Axes by whose values, as the groups' names say them, groups are put together."""


def contrasts(
    groups: Sequence[EditedGroup],
    targets: Mapping[str, Sequence[str]],
    strengths: Sequence[float],
    readings: Readings,
    scoring: Scoring,
) -> tuple[Contrast, ...]:
    """Differences between every two groups, every two sets of targets, and the least and the greatest strength.

    Picture k of every group is edited from the same noise, and makes a pair with picture k of the others. q over the
    entries of one kind of contrast.
    """
    by_name = {group.name: group for group in groups}

    def sides(place: Place) -> tuple[Floats, Floats]:
        cell = Cell(by_name[place.group], tuple(targets[place.targets]), place.strength)
        return cell.changes(readings.values.get(GENDER, {})), cell.skin(readings, "ita")

    found = []
    for kind, one, other in _comparable(list(by_name), list(targets), sorted(strengths)):
        rng = scoring.rng(kind, *(str(part) for at in (one, other) for part in (at.group, at.targets, at.strength)))
        (genders, tones), (genders_there, tones_there) = sides(one), sides(other)
        found.append(Contrast(
            kind, one, other,
            or_missing(clustered_rate_difference, genders_there, genders, rng=rng, **scoring.how),
            or_missing(clustered_mean_difference, tones_there, tones, rng=rng, **scoring.how),
        ))  # fmt: skip

    def family(at: Address) -> tuple[str, str | int]:
        return found[int(at[0])].contrast, at[1]

    return with_q(tuple(found), family)


def pooled(
    groups: Sequence[EditedGroup],
    targets: Mapping[str, Sequence[str]],
    strengths: Sequence[float],
    readings: Readings,
    scoring: Scoring,
) -> tuple[Pooled, ...]:
    """Change of gender and of ITA over all groups whose names say the same gender, or the same ethnicity."""
    found = []
    for axis in POOLED_BY:
        for value, own in _by_stated(groups, axis).items():
            for (name, words), strength in product(targets.items(), sorted(strengths)):
                cells = [Cell(group, tuple(words), strength) for group in own]
                rng = scoring.rng("pooled", axis, value, name, f"{strength:g}")
                changed = np.concatenate([cell.changes(readings.values.get(GENDER, {})) for cell in cells])
                tones = np.concatenate([cell.skin(readings, "ita") for cell in cells])
                found.append(Pooled(
                    axis, value, tuple(group.name for group in own), name, strength,
                    or_missing(clustered_rate, changed, level=scoring.level),
                    or_missing(clustered_mean, tones, rng=rng, null=0.0, **scoring.how),
                ))  # fmt: skip
    return tuple(found)


def _comparable(
    groups: Sequence[str], targets: Sequence[str], strengths: Sequence[float]
) -> Iterator[tuple[str, Place, Place]]:
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


def _by_stated(groups: Sequence[EditedGroup], axis: str) -> dict[str, list[EditedGroup]]:
    """Groups by what their names say; empty unless there are two values to hold against each other."""
    found: dict[str, list[EditedGroup]] = {}
    for group in groups:
        value = stated_value(group.name, axis)
        if value is not None:
            found.setdefault(value, []).append(group)
    return found if len(found) > 1 else {}
