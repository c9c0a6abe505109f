"""Decisions of a classifier against what the studio planted: in the same order, as large, more with more samples?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.decisions import Decided, Decisions, Entries, Question, fewest_and_most, how, or_missing
from askew.methods.planted_association import planted_preference
from askew.parts.scoring import Scoring
from askew.stats import classification as stats
from askew.stats.rank import spearman_crossed
from askew.types import Estimate, Missing

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Planted:
    """The planted differential association of two groups, by pair of classes that the studio knows.

    rows     the places of those classes in the first target set, `columns` in the second
    table    (rows, columns): how much likelier the first class is, for the first group than for the second
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    rows: list[int]
    columns: list[int]
    table: Floats

    @classmethod
    def of(cls, question: Question, x: str, y: str, bias: float) -> Planted | None:
        """What is planted between groups x and y; None where the studio does not know their words."""
        sets = [tuple(words) for words in question.targets.values()]
        whole = np.array([[_difference(x, y, a, b, bias) for b in sets[1]] for a in sets[0]], dtype=float)
        rows, columns = (np.flatnonzero(~np.isnan(whole).all(axis=axis)).tolist() for axis in (1, 0))
        return cls(sets[0], sets[1], rows, columns, whole[np.ix_(rows, columns)]) if rows else None

    def chosen(self, decisions: Decisions) -> Decisions:
        """Decisions (pictures, pairs) about the pairs that the studio knows, in the order of the flat table."""
        cube = decisions.reshape(len(decisions), len(self.first), len(self.second))
        return np.asarray(cube[:, self.rows][:, :, self.columns].reshape(len(decisions), -1))

    def measured(self, x: Decisions, y: Decisions) -> Floats:
        """(rows, columns): the measured differences. Raises NotEnoughData for a pair that was never decided."""
        sides = [self.chosen(one) for one in (x, y)]
        if any(np.isnan(side).all(axis=0).any() for side in sides):
            raise NotEnoughData("a pair of classes fits all pictures of a group equally well")
        means = [np.nanmean(side, axis=0) for side in sides]
        return np.asarray((means[0] - means[1]).reshape(self.table.shape))

    def listed(self, measured: Floats) -> Entries:
        """By pair of classes what was planted and what was measured."""
        return [
            {"a": self.first[i], "b": self.second[j], "planted": float(p), "measured": float(m)}
            for i, planted_row, measured_row in zip(self.rows, self.table, measured, strict=True)
            for j, p, m in zip(self.columns, planted_row, measured_row, strict=True)
        ]


def truth(one: Decided, question: Question, scoring: Scoring) -> Entries:
    """Measured against planted differential association over the pairs of classes, where the truth is known."""
    if question.bias is None:
        return []
    entries: Entries = []
    for x, y in combinations(one.readings.errors, 2):
        planted = Planted.of(question, x, y, question.bias)
        if planted is not None:
            names = {"group_x": x, "group_y": y, **one.readings.names}
            rng = scoring.rng("truth", one.readings.classifier, str(one.readings.samples), x, y)
            entries.append({**names, **found_again(planted, (one.decisions[x], one.decisions[y]), rng, how(scoring))})
    return entries


def found_again(
    planted: Planted, decisions: tuple[Decisions, Decisions], rng: np.random.Generator, settings: dict[str, Any]
) -> dict[str, Any]:
    """The mean planted difference, whether the measured ones order alike, how much of it they show, and the pairs."""
    chosen = [planted.chosen(side) for side in decisions]
    weights = planted.table.ravel()
    share = or_missing(stats.recovered, *chosen, weights, rng=rng, **settings)
    mean = float(planted.table.mean())
    try:
        measured = planted.measured(*decisions)
    except NotEnoughData as error:
        return {"planted": mean, "spearman": Missing("not_asked", str(error)), "recovered": share, "pairs": []}
    order = or_missing(spearman_crossed, planted.table, measured, rng=rng, **settings)
    return {"planted": mean, "spearman": order, "recovered": share, "pairs": planted.listed(measured)}


def samples_effect_on_truth(decided: Sequence[Decided], question: Question, scoring: Scoring) -> Entries:
    """How much more of what was planted the most noise samples show than the fewest, on the same pictures."""
    ends = fewest_and_most(decided)
    if ends is None or question.bias is None:
        return []
    few, many = ends
    shared = {"classifier": few.readings.classifier, "samples": [few.readings.samples, many.readings.samples]}
    entries: Entries = []
    for x, y in combinations(few.readings.errors, 2):
        planted = Planted.of(question, x, y, question.bias)
        if planted is not None:
            change = recovered_change(planted, few, many, (x, y), scoring)
            entries.append({"score": "recovered", "group_x": x, "group_y": y, **shared, "difference": change})
    return entries


def recovered_change(
    planted: Planted, before: Decided, after: Decided, groups: tuple[str, str], scoring: Scoring
) -> Estimate | Missing:
    """How much more of what was planted is shown after than before, by decisions about the same pictures."""
    rng = scoring.rng("recovered", *groups)
    sides = [tuple(planted.chosen(one.decisions[group]) for group in groups) for one in (before, after)]
    return or_missing(stats.recovered_change, *sides, planted.table.ravel(), rng=rng, **how(scoring))


def _difference(x: str, y: str, a: str, b: str, bias: float) -> float:
    """How much likelier class a is than b for group x than for y; NaN where the studio does not know a word."""
    planted = [planted_preference(group, a, b, bias) for group in (x, y)]
    return np.nan if planted[0] is None or planted[1] is None else planted[0] - planted[1]
