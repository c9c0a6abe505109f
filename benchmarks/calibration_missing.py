"""Measure intervals and verdicts where labels are missing more often for one value.

    python -m benchmarks.calibration_missing [REPEATS]

The script prints Markdown tables. REPEATS (default 2000) sets of images are drawn for each row, all
seeded. It takes about two minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np

from askew.stats.goodness_of_fit import reference_test
from askew.stats.missing_labels import closest_counts, worst_case_intervals
from benchmarks.calibration_shares import Floats, table

LEVEL = 0.05
RATES = ((0.4, 0.0), (0.0, 0.4), (0.1, 0.0), (0.1, 0.1))
"""Rates of missing labels of the first and of the second value."""


def labeled(
    images: int, share: float, rates: tuple[float, float], rng: np.random.Generator
) -> Floats:
    """Draw the numbers of labeled images of two values."""
    first = rng.binomial(images, share)
    return np.array(
        [rng.binomial(first, 1 - rates[0]), rng.binomial(images - first, 1 - rates[1])], dtype=float
    )


def interval_rows(repeats: int) -> Iterator[list[str]]:
    """Yield how often the bounds, and their intervals, contain the true share of the first value."""
    for images, share, rates in product((24, 48, 200), (0.5, 0.8), RATES):
        rng = np.random.default_rng([images, int(10 * share), int(10 * rates[0])])
        bounds = 0
        covered = 0
        width = 0.0
        for _ in range(repeats):
            counts = labeled(images, share, rates, rng)
            missing = images - int(counts.sum())
            lows, highs = worst_case_intervals(counts, missing)
            bounds += counts[0] <= share * images <= counts[0] + missing
            covered += lows[0] <= share <= highs[0]
            width += highs[0] - lows[0]
        numbers = (bounds / repeats, covered / repeats, width / repeats)
        yield [str(images), str(share), *map(str, rates), *(f"{number:.3f}" for number in numbers)]


def verdict_rows(repeats: int) -> Iterator[list[str]]:
    """Yield how often a set is significant by its labels, and in the worst case of missing labels."""
    for images, share, rates in product((48, 96, 200), (0.5, 0.8), RATES):
        rng = np.random.default_rng([images, int(10 * share), int(10 * rates[1])])
        by_labels = 0
        worst_case = 0
        for _ in range(repeats):
            counts = labeled(images, share, rates, rng)
            closest = closest_counts(counts, images - int(counts.sum()), [0.5, 0.5])
            by_labels += reference_test(counts, [0.5, 0.5]).p < LEVEL
            worst_case += reference_test(closest, [0.5, 0.5]).p < LEVEL
        rates_of_sets = (by_labels / repeats, worst_case / repeats)
        yield [
            str(images),
            str(share),
            *map(str, rates),
            *(f"{rate:.3f}" for rate in rates_of_sets),
        ]


def main(repeats: int) -> None:
    """Print the tables."""
    planted = ("images", "true share", "missing, first value", "missing, second value")
    intervals = ("bounds contain it", "coverage of their interval", "mean width")
    table("Shares with missing labels", (*planted, *intervals), interval_rows(repeats))
    verdicts = ("significant by the labels", "also in the worst case")
    table("Verdicts with missing labels", (*planted, *verdicts), verdict_rows(repeats))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
