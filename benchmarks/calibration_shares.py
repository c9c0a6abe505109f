"""Measure the coverage of intervals of shares, distances and differences.

    python -m benchmarks.calibration_shares [REPEATS]

The script prints a Markdown table for each statistic. The coverage of the interval of a share is
computed exactly. The others are simulated: REPEATS (default 300) audits of each planted population,
with 300 draws each. All draws are seeded. The script takes about three minutes on one free core.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from askew.stats.confusion import corrected_share_intervals
from askew.stats.differences import distance_difference, share_difference
from askew.stats.distance import DISTANCES, sensitivity
from askew.stats.paired_sets import PairedSets
from askew.stats.shares import distance_estimate, share_intervals
from askew.types import Estimate
from benchmarks.markdown import numbers

DRAWS = 300
SIZES = (10, 24, 48, 96)
FAIR6 = [1 / 6] * 6
ONE6 = [0.5] + [0.1] * 5
MILD6 = [0.25, 0.25, 0.15, 0.15, 0.1, 0.1]

POPULATIONS: dict[str, tuple[str, Sequence[float]]] = {
    "2 values, fair": ("total_variation", [0.5, 0.5]),
    "2 values, .6": ("total_variation", [0.6, 0.4]),
    "2 values, .8": ("total_variation", [0.8, 0.2]),
    "2 values, .95": ("total_variation", [0.95, 0.05]),
    "4 values, two over-represented": ("total_variation", [0.4, 0.4, 0.1, 0.1]),
    "6 values, fair": ("total_variation", FAIR6),
    "6 values, mild": ("total_variation", MILD6),
    "6 values, three at the reference": (
        "total_variation",
        [0.35, 1 / 6, 1 / 6, 1 / 6, 0.075, 0.075],
    ),
    "6 values, one over-represented": ("total_variation", ONE6),
    "6 values, strong": ("total_variation", [0.8, 0.1, 0.05, 0.05, 0, 0]),
    "3 ranks, fair": ("wasserstein", [1 / 3] * 3),
    "3 ranks, low": ("wasserstein", [0.6, 0.3, 0.1]),
    "3 ranks, both ends": ("wasserstein", [0.45, 0.1, 0.45]),
    "5 ranks, middle": ("wasserstein", [0.1, 0.2, 0.3, 0.3, 0.1]),
}

PAIRS: dict[str, tuple[Sequence[float], int, Sequence[float], int]] = {
    "same, .8": ([0.8, 0.2], 24, [0.8, 0.2], 96),
    "mirrored, .8": ([0.8, 0.2], 48, [0.2, 0.8], 48),
    "same, 6 values fair": (FAIR6, 24, FAIR6, 96),
    "same, 6 values one over-represented": (ONE6, 24, ONE6, 96),
    "6 values, fair minus one over-represented": (FAIR6, 24, ONE6, 96),
}

INSTRUMENTS: dict[str, tuple[Sequence[float], float, int, int]] = {
    "2 values, .5, right .9": ([0.5, 0.5], 0.9, 48, 20),
    "2 values, .8, right .9": ([0.8, 0.2], 0.9, 48, 20),
    "2 values, .97, right .9": ([0.97, 0.03], 0.9, 48, 20),
    "2 values, .97, right .9, many": ([0.97, 0.03], 0.9, 200, 50),
    "2 values, .8, right .99": ([0.8, 0.2], 0.99, 48, 20),
    "3 values, right .8": ([0.6, 0.3, 0.1], 0.8, 48, 20),
    "6 values, right .85": ([0.5, 0.3, 0.1, 0.1, 0, 0], 0.85, 48, 20),
}

Floats = NDArray[np.float64]
Experiment = Callable[[np.random.Generator], Estimate]


def simulate(truth: float, experiment: Experiment, repeats: int) -> list[str]:
    """Simulate an audit, and return the cells of SIMULATED.

    Parameters
    ----------
    truth
        True value of the statistic.
    experiment
        Function that draws images and returns the estimate.
    repeats
        Number of audits.
    """
    rng = np.random.default_rng(0)
    estimates = [experiment(rng) for _ in range(repeats)]
    low = np.array([estimate.low for estimate in estimates], dtype=float)
    high = np.array([estimate.high for estimate in estimates], dtype=float)
    below = float(np.mean(truth < low - 1e-9))
    above = float(np.mean(truth > high + 1e-9))
    width = float(np.mean(high - low))
    mean = float(np.mean([estimate.value for estimate in estimates]))
    p = [estimate.p for estimate in estimates if estimate.p is not None]
    small = f"{np.mean(np.array(p) < 0.05):.3f}" if p else ""
    rates = (1 - below - above, below, above, width)
    return [*numbers([truth, mean], "+.3f"), *numbers(rates), small]


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table, row by row as it is computed."""
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


SIMULATED = ("truth", "mean value", "coverage", "truth below", "truth above", "width", "p < .05")


def share_rows() -> Iterable[list[str]]:
    """Yield the exact coverage of the interval of a share, by number of images."""
    truths = np.linspace(0.0005, 0.9995, 1999)
    inside = (truths >= 0.1) & (truths <= 0.9)
    for n in (10, 15, 24, 48, 96, 200):
        intervals = [share_intervals([k, n - k])[0] for k in range(n + 1)]
        low = np.array([[interval.low] for interval in intervals])
        high = np.array([[interval.high] for interval in intervals])
        chances = stats.binom.pmf(np.arange(n + 1)[:, None], n, truths)
        coverage = (chances * ((low <= truths) & (truths <= high))).sum(axis=0)
        cells = []
        for part in (coverage[inside], coverage[~inside]):
            cells += numbers([part.mean(), part.min()])
        yield [str(n), *cells]


def distance_rows(repeats: int) -> Iterable[list[str]]:
    """Yield the coverage of the distance from a uniform reference."""
    for (name, (distance, shares)), n in product(POPULATIONS.items(), SIZES):
        p = np.array(shares)
        reference = np.full(len(shares), 1 / len(shares))
        audit = partial(audited_distance, p=p, n=n, reference=reference, distance=distance)
        yield [name, str(n), *simulate(float(DISTANCES[distance](p, reference)), audit, repeats)]


def audited_distance(
    rng: np.random.Generator, p: Floats, n: int, reference: Floats, distance: str
) -> Estimate:
    """Estimate the deviation from the reference from n drawn images."""
    return distance_estimate(
        rng.multinomial(n, p), reference, distance=distance, rng=rng, draws=DRAWS
    )


def difference_rows(repeats: int) -> Iterable[list[str]]:
    """Yield the coverage of differences between two sets, of a share and of the deviation."""
    for name, (first, n, second, m) in PAIRS.items():
        p = np.array(first)
        q = np.array(second)
        reference = np.full(len(first), 1 / len(first))
        pair: dict[str, Any] = {"p": p, "n": n, "q": q, "m": m}
        share = partial(audited_share_difference, **pair)
        distance = partial(audited_difference, **pair, reference=reference)
        images = f"{n}, {m}"
        yield [f"share: {name}", images, *simulate(float(p[0] - q[0]), share, repeats)]
        true_difference = float(sensitivity(p, q, reference))
        yield [f"distance: {name}", images, *simulate(true_difference, distance, repeats)]


def audited_share_difference(
    rng: np.random.Generator, p: Floats, n: int, q: Floats, m: int
) -> Estimate:
    """Estimate the difference of the first value's share from n and m drawn images."""
    return share_difference(PairedSets.of_counts(rng.multinomial(n, p), rng.multinomial(m, q)), 0)


def audited_difference(
    rng: np.random.Generator, p: Floats, n: int, q: Floats, m: int, reference: Floats
) -> Estimate:
    """Estimate the difference of the deviation from n and m drawn images."""
    sets = PairedSets.of_counts(rng.multinomial(n, p), rng.multinomial(m, q))
    return distance_difference(sets, reference, rng=rng, draws=DRAWS)


def corrected_rows(repeats: int) -> Iterable[list[str]]:
    """Yield the coverage of every share after correction for the instrument's errors."""
    for name, (shares, right, n, labels) in INSTRUMENTS.items():
        p = np.array(shares)
        k = len(shares)
        rates = np.full((k, k), (1 - right) / (k - 1))
        np.fill_diagonal(rates, right)
        for value in range(k):
            audit = partial(audited_share, p=p, rates=rates, n=n, labels=labels, value=value)
            cells = simulate(float(p[value]), audit, repeats)
            yield [f"{name}, value {value}", f"{n}, {labels}", *cells]


def audited_share(
    rng: np.random.Generator, p: Floats, rates: Floats, n: int, labels: int, value: int
) -> Estimate:
    """Estimate the corrected share of a value from n drawn images.

    `labels` labeled images of each value estimate the error rates.
    """
    answers = rng.multinomial(n, p @ rates)
    confused = rng.multinomial(labels, rates)
    return corrected_share_intervals(answers, confused, rng=rng, draws=DRAWS)[value]


def main(repeats: int) -> None:
    """Print all tables."""
    edges = ("inside: mean", "inside: minimum", "edges: mean", "edges: minimum")
    table("Shares (exact; inside is .1 to .9)", ("images", *edges), share_rows())
    table(
        "Distance from a uniform reference",
        ("population", "images", *SIMULATED),
        distance_rows(repeats),
    )
    table("Differences of two sets", ("sets", "images", *SIMULATED), difference_rows(repeats))
    table("Corrected shares", ("instrument", "images, labels", *SIMULATED), corrected_rows(repeats))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
