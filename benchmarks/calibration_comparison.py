"""How often the intervals of differences between two models hold the truth, by planted populations.

    python -m benchmarks.calibration_comparison [REPEATS]

Prints Markdown tables. Every repeat draws pictures from two models whose true scores are known; rho
is the correlation of what the two make of one seed. REPEATS (default 400) comparisons a row, of
concepts a third as many; 300 draws each, everything seeded. About fifteen minutes on one free core.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from askew.stats.association import cas, mad
from askew.stats.association_differences import association_differences
from askew.stats.differences import distance_difference, share_difference
from askew.stats.distance import total_variation
from askew.stats.paired_sets import PairedSets
from askew.types import Estimate

Floats = NDArray[np.float64]
SIZES = (10, 24, 48)
DRAWS = 300
FAIR6 = [1 / 6] * 6
ONE6 = [0.5] + [0.1] * 5

ANSWERS: dict[str, tuple[Sequence[float], Sequence[float], float]] = {
    "6 values, fair; one in excess": (FAIR6, ONE6, 0.5),
    "6 values, both fair": (FAIR6, FAIR6, 0.9),
    ".8; .8, independent": ([0.8, 0.2], [0.8, 0.2], 0.0),
    ".8; .78, nearly the same": ([0.8, 0.2], [0.78, 0.22], 0.99),
    ".85; .2, mirrored": ([0.85, 0.15], [0.2, 0.8], 0.7),
    ".03; .1, rare": ([0.03, 0.97], [0.1, 0.9], 0.5),
}
"""Shares of an axis's values in two models, and rho."""

LEANS: dict[str, tuple[float, float, float]] = {
    "biased .9; fair": (0.9, 0.5, 0.5),
    "both .85, independent": (0.85, 0.85, 0.0),
    "both .85, nearly the same": (0.85, 0.85, 0.95),
    "biased .95; .75": (0.95, 0.75, 0.8),
}
"""Share of the first of two values in the initial pictures of two models, and rho."""


class Tally:
    """Hits of an interval, and small p-values."""

    def __init__(self, truth: float) -> None:
        self.truth = truth
        self._found = list[Estimate]()

    def add(self, estimate: Estimate) -> None:
        self._found.append(estimate)

    @property
    def coverage(self) -> float:
        ends = [(e.low or 0.0, e.high or 0.0) for e in self._found]
        return float(np.mean([low - 1e-9 <= self.truth <= high + 1e-9 for low, high in ends]))

    @property
    def alarms(self) -> float:
        """Share of p below .05."""
        return float(np.mean([(e.p or 0.0) < 0.05 for e in self._found]))

    def cells(self) -> list[str]:
        value = float(np.mean([e.value for e in self._found]))
        width = float(np.mean([(e.high or 0.0) - (e.low or 0.0) for e in self._found]))
        return [
            *(f"{x:+.3f}" for x in (self.truth, value)),
            *(f"{x:.3f}" for x in (self.coverage, width, self.alarms)),
        ]


def noise(rng: np.random.Generator, shape: tuple[int, ...], rho: float) -> tuple[Floats, Floats]:
    """Uniform numbers that two models make of common seeds, correlated."""
    common = rng.normal(size=shape)
    other = rho * common + math.sqrt(1 - rho * rho) * rng.normal(size=shape)
    return norm.cdf(common), norm.cdf(other)


def answered(
    rng: np.random.Generator, n: int, p: Sequence[float], q: Sequence[float], rho: float
) -> PairedSets:
    """The values that two models show on one axis, in pictures of the same seeds."""
    u, v = noise(rng, (n,), rho)
    codes = [np.searchsorted(np.cumsum(shares)[:-1], x) for shares, x in ((p, u), (q, v))]
    return PairedSets.of(np.eye(len(p))[codes[0]], np.eye(len(p))[codes[1]], range(n), range(n))


def share_and_distance(
    case: str, repeats: int, n: int = 48, draws: int = DRAWS
) -> tuple[Tally, Tally]:
    """Differences of the first value's share and of the distance from equal shares."""
    p, q, rho = ANSWERS[case]
    reference = np.full(len(p), 1 / len(p))
    rng = np.random.default_rng(8)
    distance = float(total_variation(p, reference) - total_variation(q, reference))
    tallies = Tally(p[0] - q[0]), Tally(distance)
    for _ in range(repeats):
        sets = answered(rng, n, p, q, rho)
        tallies[0].add(share_difference(sets, 0))
        tallies[1].add(distance_difference(sets, reference, rng=rng, draws=draws))
    return tallies


def populations(share: float) -> list[Floats]:
    """Frequencies of two values and twelve words in an initial population that leans, and in both
    counterfactuals.
    """
    words = 0.8 / np.arange(1, 13) ** 0.8
    first = np.append([1.0, 0.0], words)
    second = np.append([0.0, 1.0], words[::-1])
    return [share * first + (1 - share) * second, first, second]


def cas_and_mad(case: str, repeats: int, n: int = 48, draws: int = DRAWS) -> tuple[Tally, Tally]:
    """Differences of the first counterfactual's CAS and of MAD."""
    a, b, rho = LEANS[case]
    models = [populations(share) for share in (a, b)]
    scores = [np.array([cas(initial, other) for other in others]) for initial, *others in models]
    tallies = (
        Tally(float(scores[0][0] - scores[1][0])),
        Tally(float(mad(scores[0]) - mad(scores[1]))),
    )
    rng = np.random.default_rng(9)
    for _ in range(repeats):
        drawn = [(p, q, *noise(rng, (n, len(p)), rho)) for p, q in zip(*models, strict=True)]
        sets = [PairedSets.of(u < p, v < q, range(n), range(n)) for p, q, u, v in drawn]
        (entry, *_), spread = association_differences(sets, rng=rng, draws=draws)
        tallies[0].add(entry)
        tallies[1].add(spread)
    return tallies


def table(
    title: str, cases: Sequence[str], names: Sequence[str], run: Callable[..., tuple[Tally, Tally]]
) -> None:
    """Print a Markdown table, row by row as it is computed."""
    header = ("models", "images", "score", "truth", "mean value", "coverage", "width", "p < .05")
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for n in SIZES:
        for case in cases:
            for name, tally in zip(names, run(case, n=n), strict=True):
                print(f"| {case} | {n} | {name} | {' | '.join(tally.cells())} |", flush=True)


def main(repeats: int) -> None:
    """Print all tables."""

    def answers(case: str, n: int) -> tuple[Tally, Tally]:
        return share_and_distance(case, repeats, n)

    def concepts(case: str, n: int) -> tuple[Tally, Tally]:
        return cas_and_mad(case, repeats // 3, n)

    table("Shares and distances", list(ANSWERS), ("share", "distance"), answers)
    table("CAS and MAD", list(LEANS), ("CAS", "MAD"), concepts)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
