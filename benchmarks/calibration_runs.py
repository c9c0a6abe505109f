"""Measure the tests of differences between two runs of classifications or edits.

    python -m benchmarks.calibration_runs [repeats]

Each image has a rate of decisions, beta-distributed around the rate of its group and run, with a
correlation of .3. Runs on the same images ("paired") share this rate's rank. A row states the
rates of two groups in both runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import scipy
from numpy.typing import NDArray

from askew.stats.run_differences import contrast_difference, rate_difference
from askew.types import Estimate

Floats = NDArray[np.float64]
Rates = tuple[float, float]
"""Rates of a group in the first and in the second run."""

COLUMNS = 10
CORRELATION = 0.3
DRAWS = 500


def drawn(rates: Rates, images: int, paired: bool, rng: np.random.Generator) -> list[Floats]:
    """Draw decisions (images, COLUMNS) of a group in both runs."""
    size = (1 - CORRELATION) / CORRELATION
    ranks = rng.random(images)
    runs = []
    for rate in rates:
        if not paired:
            ranks = rng.random(images)
        chances = scipy.stats.beta.ppf(ranks, rate * size, (1 - rate) * size)
        runs.append((rng.random((images, COLUMNS)) < chances[:, None]).astype(float))
    return runs


def tallied(estimate: Callable[[int], Estimate], truth: float, repeats: int) -> str:
    """Return the cells of a case: truth, coverage, width, and the share of p below .05."""
    estimates = [estimate(seed) for seed in range(repeats)]
    ends = np.array([(each.low, each.high) for each in estimates])
    covered = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    widths = ends[:, 1] - ends[:, 0]
    significant = [(each.p or 0.0) < 0.05 for each in estimates]
    return f"{truth:+.2f} | {covered.mean():.3f} | {widths.mean():.3f} | {np.mean(significant):.3f}"


def rate_row(rates: Rates, images: int, paired: bool, repeats: int) -> str:
    """Return the row of a rate of a group."""

    def estimate(seed: int) -> Estimate:
        rng = np.random.default_rng([seed, images])
        first, second = drawn(rates, images, paired, rng)
        return rate_difference(second, first, paired=paired, rng=rng, draws=DRAWS)

    case = f"{rates[0]}; {rates[1]} | {'paired' if paired else 'apart'} | {images}"
    return f"| {case} | {tallied(estimate, rates[1] - rates[0], repeats)} |"


def contrast_row(groups: tuple[Rates, Rates], images: int, paired: bool, repeats: int) -> str:
    """Return the row of a difference of two groups."""
    x_rates, y_rates = groups

    def estimate(seed: int) -> Estimate:
        rng = np.random.default_rng([seed, images])
        x, y = (drawn(rates, images, paired, rng)[::-1] for rates in groups)
        return contrast_difference((x[0], x[1]), (y[0], y[1]), paired=paired, rng=rng, draws=DRAWS)

    truth = (x_rates[1] - y_rates[1]) - (x_rates[0] - y_rates[0])
    names = f"{x_rates[0]}; {x_rates[1]} | {y_rates[0]}; {y_rates[1]}"
    case = f"{names} | {'paired' if paired else 'apart'} | {images}"
    return f"| {case} | {tallied(estimate, truth, repeats)} |"


def tables(repeats: int) -> Iterator[str]:
    """Yield the lines of both tables."""
    columns = "images | per group | truth | coverage | width | p < .05 |"
    rule = "| --- | ---: | ---: | ---: | ---: | ---: |"
    yield f"| rate in A; B | {columns}\n| --- {rule}"
    for rates, paired, images in product(((0.3, 0.3), (0.3, 0.5)), (True, False), (12, 24, 48)):
        yield rate_row(rates, images, paired, repeats)
    yield f"\n| first group in A; B | second group in A; B | {columns}\n| --- | --- {rule}"
    cases = (((0.5, 0.5), (0.3, 0.3)), ((0.3, 0.5), (0.3, 0.5)), ((0.5, 0.7), (0.5, 0.3)))
    for groups, paired, images in product(cases, (True, False), (12, 24, 48)):
        yield contrast_row(groups, images, paired, repeats)


def main() -> None:
    """Print the tables."""
    for line in tables(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        print(line, flush=True)


if __name__ == "__main__":
    main()
