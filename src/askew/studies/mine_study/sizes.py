"""What the size of a search does (MineTheGap, table S1 and figure S4), and what random prompts give (figure S3).

Searches of the same run number share their seeds, so sizes are compared in pairs of runs, on fresh seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askew.errors import NotEnoughData
from askew.findings import with_q
from askew.methods.mine.findings import Iteration, MineTheGap, RandomSearch
from askew.stats.means import OVER_RUNS, student_mean
from askew.studies.mine_study.findings import CurvePoint, RandomStudy, SizeScore
from askew.types import Estimate, Missing


@dataclass(frozen=True, slots=True)
class SearchSize:
    """Prompts in each iteration, how many of them are mutated, and how often each; random ones fill the rest."""

    population: int
    selected: int
    mutations: int

    @property
    def random(self) -> int:
        """Random prompts in each iteration."""
        return self.population - self.selected * self.mutations


PAPER = SearchSize(15, 5, 2)
SELECTIONS = (SearchSize(15, 5, 1), SearchSize(15, 3, 2), PAPER, SearchSize(15, 7, 2), SearchSize(15, 5, 3))
"""The rows of table S1."""

POPULATIONS = (SearchSize(9, 3, 2), PAPER, SearchSize(21, 7, 2))
"""The curves of figure S4."""


def size_study(sections: Mapping[SearchSize, MineTheGap], runs: int, level: float) -> tuple[SizeScore, ...]:
    """One entry per size; q over all differences."""
    fresh = {size: _by_run([(e.run, e.fresh_score) for e in one.best], runs) for size, one in sections.items()}
    entries = tuple(
        SizeScore(
            size.population, size.selected, size.mutations, size.random,
            fresh=_mean(fresh[size], level), by_run=tuple(fresh[size]),
            found=_mean(_by_run([(e.run, e.score) for e in section.best], runs), level),
            difference=None if size == PAPER else _paired(fresh[PAPER], fresh[size], level),
            curve=best_so_far(section.history, runs),
        )
        for size, section in sections.items()
    )  # fmt: skip
    return with_q(entries, lambda at: at[1:] if "difference" in at else None)


def random_study(random: RandomSearch | None, runs: int) -> RandomStudy | None:
    """The random search beside the paper's size."""
    return RandomStudy(random.difference, best_so_far(random.history, runs)) if random else None


def best_so_far(history: Sequence[Iteration], runs: int) -> tuple[CurvePoint, ...]:
    """The best loss so far over runs, for iterations that all of them have."""
    by_iteration: dict[int, list[float]] = {}
    for entry in history:
        if entry.best_so_far is not None:
            by_iteration.setdefault(entry.iteration, []).append(entry.best_so_far)
    return tuple(
        CurvePoint(number, float(np.mean(some)), _error(some))
        for number, some in sorted(by_iteration.items())
        if len(some) == runs
    )


def _error(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _by_run(scores: Sequence[tuple[int, Estimate | Missing]], runs: int) -> list[float | None]:
    """The mean score of each run's best prompts; None for a run in which none could be scored."""
    found: list[float | None] = []
    for run in range(runs):
        values = [score.value for number, score in scores if number == run and isinstance(score, Estimate)]
        found.append(float(np.mean(values)) if values else None)
    return found


def _mean(values: Sequence[float | None], level: float, null: float | None = None) -> Estimate | Missing:
    known = [value for value in values if value is not None]
    try:
        return student_mean(known, level, OVER_RUNS, missing=len(values) - len(known), null=null)
    except NotEnoughData:
        return Missing("error", "no run could be scored")


def _paired(first: Sequence[float | None], second: Sequence[float | None], level: float) -> Estimate | Missing:
    pairs = zip(first, second, strict=True)
    return _mean([None if a is None or b is None else b - a for a, b in pairs], level, null=0.0)
