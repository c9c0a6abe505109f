"""Decisions of a classifier against what the studio planted: in the same order, as large, more with more samples?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.classify.decisions import Decided, Decisions, Question
from askew.methods.classify.findings import PlantedPair, SamplesEffect, Truth
from askew.parts.scoring import Scoring, or_missing
from askew.stats import classification as stats
from askew.stats.rank import spearman_crossed
from askew.studio.caption import parse, phrase
from askew.studio.planted import joint
from askew.types import Estimate, Missing

Floats = NDArray[np.float64]

BIAS: Mapping[str, float] = {"studio": 1.0, "studio/balanced": 0.0}
"""The planted bias of each studio model that has a diffusion pipeline."""


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

    def listed(self, measured: Floats) -> tuple[PlantedPair, ...]:
        """By pair of classes what was planted and what was measured."""
        classes = product((self.first[i] for i in self.rows), (self.second[j] for j in self.columns))
        values = zip(self.table.ravel().tolist(), measured.ravel().tolist(), strict=True)
        return tuple(PlantedPair(*pair, *value) for pair, value in zip(classes, values, strict=True))


def truth(one: Decided, question: Question, scoring: Scoring) -> Iterator[Truth]:
    """Measured against planted differential association over the pairs of classes, where the truth is known."""
    for x, y, planted in _planted(one, question):
        rng = scoring.rng("truth", one.readings.classifier, str(one.readings.samples), x, y)
        order, shown, pairs = found_again(planted, (one.decisions[x], one.decisions[y]), rng, scoring)
        yield Truth(x, y, *one.readings.names, float(planted.table.mean()), order, shown, pairs)


def _planted(one: Decided, question: Question) -> Iterator[tuple[str, str, Planted]]:
    """Every two groups of which the planted differences are known."""
    for x, y in combinations(one.readings.errors if question.bias is not None else (), 2):
        if planted := Planted.of(question, x, y, question.bias or 0.0):
            yield x, y, planted


def found_again(
    planted: Planted, decisions: tuple[Decisions, Decisions], rng: np.random.Generator, scoring: Scoring
) -> tuple[Estimate | Missing, Estimate | Missing, tuple[PlantedPair, ...]]:
    """Whether measured differences order like planted ones, how much of these they show, and both by pair."""
    chosen = [planted.chosen(side) for side in decisions]
    shown = or_missing(stats.recovered, *chosen, planted.table.ravel(), rng=rng, **scoring.how)
    try:
        measured = planted.measured(*decisions)
    except NotEnoughData as error:
        return Missing("not_asked", str(error)), shown, ()
    order = or_missing(spearman_crossed, planted.table, measured, rng=rng, **scoring.how)
    return order, shown, planted.listed(measured)


def samples_effect_on_truth(
    few: Decided, many: Decided, question: Question, scoring: Scoring
) -> Iterator[SamplesEffect]:
    """How much more of what was planted the most noise samples show than the fewest, on the same pictures."""
    samples = (few.readings.samples or 0, many.readings.samples or 0)
    for x, y, planted in _planted(few, question):
        change = recovered_change(planted, few, many, (x, y), scoring)
        yield SamplesEffect("recovered", x, y, few.readings.classifier, samples, change)


def recovered_change(
    planted: Planted, before: Decided, after: Decided, groups: tuple[str, str], scoring: Scoring
) -> Estimate | Missing:
    """How much more of what was planted is shown after than before, by decisions about the same pictures."""
    rng = scoring.rng("recovered", *groups)
    sides = [tuple(planted.chosen(one.decisions[group]) for group in groups) for one in (before, after)]
    return or_missing(stats.recovered_change, *sides, planted.table.ravel(), rng=rng, **scoring.how)


def _difference(x: str, y: str, a: str, b: str, bias: float) -> float:
    """How much likelier class a is than b for group x than for y; NaN where the studio does not know a word."""
    planted = [planted_preference(group, a, b, bias) for group in (x, y)]
    return np.nan if planted[0] is None or planted[1] is None else planted[0] - planted[1]


def planted_preference(group: str, a: str, b: str, bias: float) -> float | None:
    """P(a | {a, b}, group): which occupation a fair observer of the planted world would think of, in [0, 1].

    Both occupations are as frequent. None where the studio does not know the group's or an occupation's words.
    """
    likely = [_likelihood(group, occupation, bias) for occupation in (a, b)]
    if likely[0] is None or likely[1] is None:
        return None
    return likely[0] / (likely[0] + likely[1])


@lru_cache(maxsize=4096)
def _likelihood(group: str, occupation: str, bias: float) -> float | None:
    """P(what the group's name says | occupation)."""
    said, meant = parse(group), parse(occupation).occupation
    if not said.attributes or said.unknown or said.occupation or meant is None:
        return None
    names = tuple(said.attributes)
    table = joint(phrase("occupation", meant), names, bias)
    return table[tuple(said.attributes[name] for name in names)]
