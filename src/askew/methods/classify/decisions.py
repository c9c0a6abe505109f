"""Errors of classes in pictures of social groups, the decisions that follow, and these against what the studio planted:
in the same order, as large, more with more samples?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.classify.findings import PlantedPair, Truth
from askew.parts.scoring import Scoring, or_missing
from askew.prompts.given import stated_value
from askew.stats import classification as stats
from askew.stats.rank import spearman_crossed
from askew.studio.caption import parse, phrase
from askew.studio.planted import joint
from askew.types import Estimate, Missing

GENDER = "gender"

Floats = NDArray[np.float64]
Decisions = Floats


@dataclass(frozen=True, slots=True)
class Readings:
    """One classifier's errors with one number of noise samples: by group (pictures, classes, samples).

    `samples` is None for a classifier that takes none. Smaller errors fit better.
    """

    classifier: str
    samples: int | None
    classes: tuple[str, ...]
    errors: Mapping[str, NDArray[np.float32]]

    @property
    def names(self) -> tuple[str, int | None]:
        """What says in an entry whose numbers these are: the classifier and its samples."""
        return self.classifier, self.samples


@dataclass(frozen=True, slots=True)
class Question:
    """Which classes are held against which, and what is right.

    targets  the two target sets
    truth    the true class by group
    bias     the planted bias of a studio model
    """

    targets: Mapping[str, Sequence[str]]
    truth: Mapping[str, str] = field(default_factory=dict)
    bias: float | None = None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every class of the first set with every one of the second."""
        first, second = self.targets.values()
        return list(product(first, second))


@dataclass(frozen=True, slots=True)
class Decided:
    """Readings with their decisions (pictures, pairs) by group; groups of one gender also pooled."""

    readings: Readings
    decisions: Mapping[str, Decisions]
    pooled: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, readings: Readings, pairs: Sequence[tuple[str, str]]) -> Decided:
        """The decisions between these classes."""
        at = {word: place for place, word in enumerate(readings.classes)}
        places = [(at[a], at[b]) for a, b in pairs]
        own = {group: stats.pair_decisions(errors, places) for group, errors in readings.errors.items()}
        pooled = _pooled(readings.errors)
        together = {name: np.concatenate([own[group] for group in groups]) for name, groups in pooled.items()}
        return cls(readings, own | together, pooled)

    @property
    def group_pairs(self) -> list[tuple[str, str]]:
        """Every two groups, and the pooled ones."""
        return [*combinations(self.readings.errors, 2), *combinations(self.pooled, 2)]


def true_classes(groups: Iterable[str], classes: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """The right class of each group: as given, else the one class whose gender is the group's. Others are left out."""
    genders = {word: stated_value(word, GENDER) for word in classes}
    found = dict(given)
    for group in groups:
        fitting = [word for word, gender in genders.items() if gender and gender == stated_value(group, GENDER)]
        if len(fitting) == 1:
            found.setdefault(group, fitting[0])
    return {group: found[group] for group in groups if group in found}


def _pooled(groups: Iterable[str]) -> dict[str, list[str]]:
    """Groups that say the same gender, under one name: only where there are several of each of two genders."""
    genders: dict[str, list[str]] = {}
    for group in groups:
        if gender := stated_value(group, GENDER):
            genders.setdefault(f"all {gender}", []).append(group)
    return genders if len(genders) == 2 and all(len(some) > 1 for some in genders.values()) else {}


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

        def difference(a: str, b: str) -> float:
            mine, theirs = (planted_preference(group, a, b, bias) for group in (x, y))
            return np.nan if mine is None or theirs is None else mine - theirs

        sets = [tuple(words) for words in question.targets.values()]
        whole = np.array([[difference(a, b) for b in sets[1]] for a in sets[0]], dtype=float)
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


def planted_pairs(one: Decided, question: Question) -> Iterator[tuple[str, str, Planted]]:
    """Every two groups of which the planted differences are known."""
    for x, y in combinations(one.readings.errors if question.bias is not None else (), 2):
        if planted := Planted.of(question, x, y, question.bias or 0.0):
            yield x, y, planted


def truth(one: Decided, question: Question, scoring: Scoring) -> Iterator[Truth]:
    """Measured against planted differential association over the pairs of classes, where the truth is known."""
    for x, y, planted in planted_pairs(one, question):
        rng = scoring.rng("truth", one.readings.classifier, str(one.readings.samples), x, y)
        order, shown, pairs = found_again(planted, (one.decisions[x], one.decisions[y]), rng, scoring)
        yield Truth(x, y, *one.readings.names, float(planted.table.mean()), order, shown, pairs)


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
    classes = product((planted.first[i] for i in planted.rows), (planted.second[j] for j in planted.columns))
    values = zip(classes, planted.table.ravel().tolist(), measured.ravel().tolist(), strict=True)
    return order, shown, tuple(PlantedPair(a, b, there, here) for (a, b), there, here in values)


def recovered_change(
    planted: Planted, before: Decided, after: Decided, groups: tuple[str, str], scoring: Scoring
) -> Estimate | Missing:
    """How much more of what was planted is shown after than before, by decisions about the same pictures."""
    rng = scoring.rng("recovered", *groups)
    sides = [tuple(planted.chosen(one.decisions[group]) for group in groups) for one in (before, after)]
    return or_missing(stats.recovered_change, *sides, planted.table.ravel(), rng=rng, **scoring.how)


def planted_preference(group: str, a: str, b: str, bias: float) -> float | None:
    """P(a | {a, b}, group): which occupation a fair observer of the planted world would think of, in [0, 1].

    Both occupations are as frequent. None where the studio does not know the group's or an occupation's words.
    """
    first, second = (_likelihood(group, occupation, bias) for occupation in (a, b))
    return None if first is None or second is None else first / (first + second)


@lru_cache(maxsize=4096)
def _likelihood(group: str, occupation: str, bias: float) -> float | None:
    """P(what the group's name says | occupation)."""
    said, meant = parse(group), parse(occupation).occupation
    if not said.attributes or said.unknown or said.occupation or meant is None:
        return None
    names = tuple(said.attributes)
    table = joint(phrase("occupation", meant), names, bias)
    return table[tuple(said.attributes[name] for name in names)]
