"""What the studio planted between groups and occupations, and whether decisions show it: in that
order, as large?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.parts.scoring import Scoring, or_missing
from askew.studio.caption import parse
from askew.studio.planted import joint
from askew.types import Estimate, Missing
from benchmarks.recovery import recovered, spearman_crossed
from benchmarks.wording import phrase

Floats = NDArray[np.float64]
Decisions = Floats


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
    def of(
        cls, targets: Mapping[str, Sequence[str]], x: str, y: str, bias: float
    ) -> Planted | None:
        """What is planted between groups x and y; None where the studio does not know their words."""

        def difference(a: str, b: str) -> float:
            mine, theirs = (planted_preference(group, a, b, bias) for group in (x, y))
            return np.nan if mine is None or theirs is None else mine - theirs

        sets = [tuple(words) for words in targets.values()]
        whole = np.array([[difference(a, b) for b in sets[1]] for a in sets[0]], dtype=float)
        rows, columns = (
            np.flatnonzero(~np.isnan(whole).all(axis=axis)).tolist() for axis in (1, 0)
        )
        return cls(sets[0], sets[1], rows, columns, whole[np.ix_(rows, columns)]) if rows else None

    def chosen(self, decisions: Decisions) -> Decisions:
        """Decisions (pictures, pairs) about the pairs that the studio knows, in the order of the
        flat table.
        """
        cube = decisions.reshape(len(decisions), len(self.first), len(self.second))
        return np.asarray(cube[:, self.rows][:, :, self.columns].reshape(len(decisions), -1))

    def measured(self, x: Decisions, y: Decisions) -> Floats:
        """(rows, columns): the measured differences. Raises NotEnoughData for a pair that was never
        decided.
        """
        sides = [self.chosen(value) for value in (x, y)]
        if any(np.isnan(side).all(axis=0).any() for side in sides):
            raise NotEnoughData("a pair of classes fits all pictures of a group equally well")
        means = [np.nanmean(side, axis=0) for side in sides]
        return np.asarray((means[0] - means[1]).reshape(self.table.shape))


def found_again(
    planted: Planted,
    decisions: tuple[Decisions, Decisions],
    rng: np.random.Generator,
    scoring: Scoring,
) -> tuple[Estimate | Missing, Estimate | Missing]:
    """Whether measured differences order like planted ones, and how much of these they show."""
    chosen = [planted.chosen(side) for side in decisions]
    shown = or_missing(
        recovered, *chosen, planted.table.ravel(), rng=rng, **scoring.interval_options
    )
    try:
        measured = planted.measured(*decisions)
    except NotEnoughData as error:
        return Missing("not_asked", str(error)), shown
    return or_missing(
        spearman_crossed, planted.table, measured, rng=rng, **scoring.interval_options
    ), shown


def planted_preference(group: str, a: str, b: str, bias: float) -> float | None:
    """P(a | {a, b}, group): which occupation a fair observer of the planted world would think of,
    in [0, 1].

    Both occupations are as frequent. None where the studio does not know the group's or an
    occupation's words.
    """
    first, second = (_likelihood(group, occupation, bias) for occupation in (a, b))
    return None if first is None or second is None else first / (first + second)


@lru_cache(maxsize=4096)
def _likelihood(group: str, occupation: str, bias: float) -> float | None:
    """P(what the group's name says | occupation)."""
    prompt = parse(group)
    meant = parse(occupation).occupation
    if not prompt.attributes or prompt.unknown or prompt.occupation or meant is None:
        return None
    names = tuple(prompt.attributes)
    table = joint(phrase("occupation", meant), names, bias)
    return table[tuple(prompt.attributes[name] for name in names)]
