"""Measure false positives and coverage of differences between models over prompts in `askew rank`.

    python -m benchmarks.calibration_rank [REPEATS]

Two models have the same shares of two values in each prompt, or the second model has larger
deviations. Prompts are drawn from a Beta distribution of shares. The script also prints the rank
correlation of scores with planted deviations over 40 prompts. All draws are seeded.
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, spearmanr

from askew.stats.intervals import ends, tail
from askew.stats.means import prompt_mean, student_mean
from askew.stats.shares import distance_estimate
from askew.types import Estimate
from benchmarks.markdown import numbers, table_row

Floats = NDArray[np.float64]
IMAGES = (8, 15, 24)
PROMPTS = (2, 4, 8, 16)
EQUAL = (0.5, 0.5)
LARGEST = 0.5
"""Largest distance of the shares of two values from equal shares."""


@cache
def size_and_error(count: int, images: int) -> tuple[float, float, float]:
    """Return the bias-corrected size, its standard error, and the size corrected for chance."""
    rng = np.random.default_rng(0)
    estimate = distance_estimate((count, images - count), EQUAL, rng=rng, draws=1000)
    low, high = ends(estimate)
    error = (high - low) / (2 * norm.isf(tail(0.95))) / LARGEST
    return estimate.mark / LARGEST, float(error), estimate.corrected or 0.0


def sizes(shares: Floats, images: int, rng: np.random.Generator) -> Floats:
    """Draw images of some prompts; return sizes, errors and chance-corrected sizes as columns."""
    counts = rng.binomial(images, shares)
    return np.array([size_and_error(int(count), images) for count in counts])


def tested(prompts: int, images: int, repeats: int, power: bool) -> list[float]:
    """Return rates of p < .05 with Student's t (as before) and with sign flips, and coverages.

    The coverages are of Student's interval and of the interval with a floor, for the mean
    difference of the true deviations.
    """
    rng = np.random.default_rng((prompts, images, power))
    rejected = np.zeros(2)
    covered = np.zeros(2)
    for _ in range(repeats):
        first_shares = rng.beta(2, 2, prompts)
        shrink = 0.3 if power else 1.0
        second_shares = 0.5 + shrink * (first_shares - 0.5)
        first = sizes(first_shares, images, rng)
        second = sizes(second_shares, images, rng)
        old = first[:, 2] - second[:, 2]
        truth = 2 * float(np.mean(np.abs(first_shares - 0.5) - np.abs(second_shares - 0.5)))
        t = student_mean(old, null=0.0)
        errors = np.hypot(first[:, 1], second[:, 1])
        mean = prompt_mean(first[:, 0] - second[:, 0], errors, bounds=(-1, 1), rng=rng)
        for place, estimate in enumerate((t, mean)):
            rejected[place] += estimate.p is not None and estimate.p < 0.05
            covered[place] += covers(estimate, truth)
    return [*(rejected / repeats), *(covered / repeats)]


def covers(estimate: Estimate, truth: float) -> bool:
    """Check whether an interval contains the truth. Two equal numbers have no interval."""
    if estimate.low is None:
        return True
    low, high = ends(estimate)
    return low <= truth <= high


def agreement(images: int, repeats: int) -> list[float]:
    """Return mean rank correlations of corrected and bias-corrected sizes with true deviations."""
    rng = np.random.default_rng(images)
    correlations = np.zeros(2)
    for _ in range(repeats):
        shares = rng.beta(1, 1, 40)
        measured = sizes(shares, images, rng)
        truth = np.abs(shares - 0.5)
        correlations += [spearmanr(measured[:, column], truth)[0] for column in (2, 0)]
    return list(correlations / repeats)


def main() -> None:
    """Print the tables."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    head = "prompts | images | false positives: t | sign flips | power: t | sign flips"
    print(table_row(f"{head} | coverage: t | with floor"))
    print(table_row(*["---:"] * 8))
    for prompts, images in product(PROMPTS, IMAGES):
        null = tested(prompts, images, repeats, power=False)
        other = tested(prompts, images, repeats, power=True)
        cells = numbers([*null[:2], *other[:2], *null[2:]])
        print(table_row(str(prompts), str(images), *cells), flush=True)
    print()
    print(table_row("images", "rank correlation, corrected", "bias-corrected"))
    print(table_row(*["---:"] * 3))
    for images in IMAGES:
        print(table_row(str(images), *numbers(agreement(images, repeats // 5))))


if __name__ == "__main__":
    main()
