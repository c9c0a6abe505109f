"""Measure false positives and power of the test of an axis, and of the tests that it replaced.

    python -m benchmarks.calibration_pearson [REPEATS]

The script prints Markdown tables: eight axes tested together, labels with known errors, and a
reference that was counted in images. REPEATS (default 2000) runs are drawn for each row, all seeded.
It takes about two minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from askew.prompts.axes import BIASCONNECT
from askew.stats.confusion import ReadingErrors
from askew.stats.goodness_of_fit import NullLaw, reference_test
from askew.stats.intervals import holm_then_bh
from askew.studio.planted import truth
from benchmarks.calibration_shares import Floats, table
from benchmarks.markdown import numbers

LEVEL = 0.05
DRAWS = 50_000
PROMPTS = tuple(f"a photo of a {name}" for name in ("nurse", "plumber", "lawyer", "teacher"))
BIASED = ((24, 0.0), (48, 0.0), (96, 0.0), (24, 0.5), (48, 0.5), (48, 0.25))
"""Numbers of images, and biases of the planted model."""

RULES = ("total variation and MAD, Holm", "total variation", "Pearson, usual p", "Pearson, mid-p")
ERRORS = ((0.8, 0.2), (0.02, 0.98))
"""P(label | true value) of an instrument that misses a fifth of the first value."""

LABELED = 50
"""Images of each true value that estimate the errors."""

RARE = (0.03, 0.97)
"""Shares of two values in the model and in its reference, which are the same."""


@cache
def total_variation_law(images: int, values: int) -> NullLaw:
    """Return the law of the total variation from equal shares in images of a fair model."""
    rng = np.random.default_rng([images, values])
    counts = rng.multinomial(images, [1 / values] * values, size=DRAWS)
    return NullLaw.simulated(from_equal_shares(counts))


def from_equal_shares(counts: ArrayLike) -> Floats:
    """Return the total variation of counts (..., K) from equal shares."""
    numbers_of_images = np.asarray(counts, dtype=float)
    shares = numbers_of_images / numbers_of_images.sum(axis=-1, keepdims=True)
    return np.asarray(np.abs(shares - 1 / shares.shape[-1]).sum(axis=-1) / 2)


def significant_axes(
    populations: list[Floats], images: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw images, and return which axes (rules, axes) have q < .05.

    p of MAD is uniform, as on an axis without a difference of counterfactual images. So the first
    rule shows the price of the correction for MAD.
    """
    p_values: list[list[float]] = [[], [], []]
    for population in populations:
        counts = rng.multinomial(images, population)
        law = total_variation_law(images, len(population))
        test = reference_test(counts, np.full(len(population), 1 / len(population)))
        _, usual = law.p(from_equal_shares(counts))
        p_values[0].append(float(usual))
        p_values[1].append(test.exact_p)
        p_values[2].append(test.p)
    pairs = [[p, float(rng.random())] for p in p_values[0]]
    joined = [q for _, q, _ in holm_then_bh(pairs)]
    q_values = [joined, *(false_discovery_control(rule) for rule in p_values)]
    return np.array(q_values) < LEVEL


def family_rows(repeats: int) -> Iterator[list[str]]:
    """Yield how often any of eight axes is significant, and how many are."""
    for images, bias in BIASED:
        rng = np.random.default_rng([images, int(100 * bias)])
        counts = np.zeros((len(RULES), repeats))
        for run in range(repeats):
            populations = planted_shares(PROMPTS[run % len(PROMPTS)], bias)
            counts[:, run] = significant_axes(populations, images, rng).sum(axis=1)
        figures = counts.mean(axis=1) if bias else (counts > 0).mean(axis=1)
        meaning = "axes found of 8" if bias else "false positives"
        yield [str(images), str(bias), meaning, *numbers(figures)]


@cache
def planted_shares(prompt: str, bias: float) -> list[Floats]:
    """Return the shares of the values of each axis in the planted model."""
    return [np.array([*truth(prompt, axis, bias).values()]) for axis in BIASCONNECT]


def error_rows(repeats: int) -> Iterator[list[str]]:
    """Yield how often an axis is significant, without and with known errors of its labels."""
    rates = np.array(ERRORS)
    for images in (48, 96, 200):
        for share in (0.5, 0.75, 0.25):
            rng = np.random.default_rng([images, int(100 * share)])
            rejections = np.zeros(2)
            for _ in range(repeats):
                confusion = [rng.multinomial(LABELED, row) for row in rates]
                counts = rng.multinomial(images, np.array([share, 1 - share]) @ rates)
                plain = reference_test(counts, (0.5, 0.5))
                known = reference_test(counts, (0.5, 0.5), errors=ReadingErrors.of(confusion))
                rejections += (plain.p < LEVEL, known.p < LEVEL)
            yield [str(images), str(share), *numbers(rejections / repeats)]


def reference_rows(repeats: int) -> Iterator[list[str]]:
    """Yield how often a model differs from a counted reference, as if exact and with its images."""
    for images in (48, 200):
        for reference_images in (12, 24, 48):
            for shares in (RARE, (0.3, 0.7)):
                rng = np.random.default_rng([images, reference_images])
                rejections = np.zeros(2)
                for _ in range(repeats):
                    reference = rng.multinomial(reference_images, RARE) / reference_images
                    counts = rng.multinomial(images, shares)
                    exact = reference_test(counts, reference)
                    counted = reference_test(counts, reference, reference_images=reference_images)
                    rejections += (exact.p < LEVEL, counted.p < LEVEL)
                yield [
                    str(images),
                    str(reference_images),
                    str(shares[0]),
                    *numbers(rejections / repeats),
                ]


FAMILY = ("images", "bias", "figure", *RULES)
LABELS = ("images", "true share", "labels as they are", "with known errors")
REFERENCES = ("images", "images of the reference", "true share", "as if exact", "as counted")


def main(repeats: int) -> None:
    """Print the tables."""
    table("Eight axes together", FAMILY, family_rows(repeats))
    table("Labels with known errors", LABELS, error_rows(min(repeats, 1000)))
    table("A counted reference, true share .03", REFERENCES, reference_rows(repeats))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
