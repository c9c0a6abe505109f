"""What the parts of a search do: its sizes (MineTheGap, table S1 and figure S4) and random prompts (figure S3).

Searches of the same run number share their seeds, so sizes are compared in pairs of runs, on fresh seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askew.errors import NotEnoughData
from askew.methods.significance import add_q
from askew.stats.means import student_mean
from askew.stats.searches import OVER_RUNS
from askew.types import Estimate, Missing

Entry = dict[str, Any]


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


def size_study(sections: Mapping[SearchSize, Mapping[str, Any]], runs: int, level: float) -> list[Entry]:
    """One entry per size, from the section `minethegap` of its results.

    Returns:
        [{population, selected, mutations, random, fresh, by_run, found, difference, curve}]: `fresh` and `found` E of
        the mean loss of the best prompts, over runs, on fresh seeds and when found; `by_run` the former of each run;
        `difference` E of `fresh` less that of the paper's size, paired by run, null for this size itself; `curve` the
        best loss so far, see `best_so_far`.
    """
    fresh = {size: _by_run(section["best"], "fresh_score", runs) for size, section in sections.items()}
    entries = [
        {
            "population": size.population,
            "selected": size.selected,
            "mutations": size.mutations,
            "random": size.random,
            "fresh": _mean(fresh[size], level),
            "by_run": fresh[size],
            "found": _mean(_by_run(section["best"], "score", runs), level),
            "difference": None if size == PAPER else _paired(fresh[PAPER], fresh[size], level),
            "curve": best_so_far(section["history"], runs),
        }
        for size, section in sections.items()
    ]
    add_q(entries, "difference")
    return entries


def random_study(random: Mapping[str, Any] | None, runs: int) -> Entry | None:
    """The random search beside the paper's size: `difference` E, mined less random, and its `curve` (figure S3)."""
    if random is None:
        return None
    return {"difference": random["difference"], "curve": best_so_far(random["history"], runs)}


def best_so_far(history: Sequence[Mapping[str, Any]], runs: int) -> list[Entry]:
    """[{iteration, mean, error}]: the best loss so far over runs, and its standard error; null for a single run."""
    by_iteration: dict[int, list[float]] = {}
    for entry in history:
        if entry["best_so_far"] is not None:
            by_iteration.setdefault(entry["iteration"], []).append(entry["best_so_far"])
    return [
        {
            "iteration": iteration,
            "mean": float(np.mean(some)),
            "error": float(np.std(some, ddof=1) / np.sqrt(len(some))) if len(some) > 1 else None,
        }
        for iteration, some in sorted(by_iteration.items())
        if len(some) == runs
    ]


def _by_run(best: Sequence[Mapping[str, Any]], score: str, runs: int) -> list[float | None]:
    """The mean loss of each run's best prompts; None for a run in which none could be scored."""
    found: list[float | None] = []
    for run in range(runs):
        values = [e[score]["value"] for e in best if e["run"] == run and e[score].get("value") is not None]
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
