"""Sequential tests: askew adds images and tests repeatedly, until it reaches a verdict.

Each of these tests is called a look. A look compares all images so far with the reference, using
the mid-p of Pearson's statistic (`goodness_of_fit`). The number of images doubles at every second
look. The significance level of a look grows with the number of images, in proportion to
`n ** LEVEL_GROWTH`. With a growth of 0, all looks would have the same level, as in Pocock's design
(1977, Biometrika 64, 191-199). Wang and Tsiatis (1987, Biometrics 43, 193-199) compare such
designs: with a growth, early looks reject less often, and late looks detect a weak bias more often.

The **scaled p** of a look is its p-value divided by `(n / most) ** LEVEL_GROWTH`, where `most` is
the maximum number of images. The **sequential p** is computed from the smallest scaled p of all
looks so far. The sequential p is the probability that a model without bias has a scaled p as small
as this at any look, up to the maximum number of images. The smallest scaled p never increases, so
a sequential p is valid regardless of when and why sampling stops. For axes with two values, the
probability is a sum over all sequences of labels. For other axes, it is simulated.

When sampling stops, askew reports *repeated confidence intervals* (Jennison and Turnbull 1989, JRSS
B 51, 305-361). askew raises the confidence level of each interval. Together, the intervals at all
looks then contain the model's true value with the desired probability. From look to look, the error
rates of the intervals grow by the same factors as the significance levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.confusion import ReadingErrors
from askew.stats.distributions import chi2_sf
from askew.stats.goodness_of_fit import (
    NullLaw,
    exact_law,
    law_with_errors,
    multinomial_probabilities,
    pearson,
)
from askew.stats.intervals import TOLERANCE, Floats

FIRST_LOOK = 8
"""Number of images per prompt at the first look."""
LEVEL_GROWTH = 0.25
"""The significance level of a look with n images is in proportion to n ** LEVEL_GROWTH."""
PATHS = 20_000
"""Number of simulated models without bias."""


def looks(most: int) -> tuple[int, ...]:
    """Return the numbers of images at which askew tests: 8, 12, 16, 24, 32, … up to `most`."""
    sizes = []
    size = FIRST_LOOK
    while size < most:
        sizes += [size, size + size // 2]
        size *= 2
    return (*(size for size in sizes if size < most), most)


def look_p(
    counts: ArrayLike, reference: tuple[float, ...], errors: ReadingErrors | None = None
) -> float:
    """Return the mid-p value for the images at one look, or 1 if there are no images.

    Parameters
    ----------
    counts : array, (K,)
        Number of images with each label.
    reference : tuple of float, (K,)
        Reference shares.
    errors
        Known labeling errors.
    """
    labels = np.asarray(counts, dtype=float)
    n = int(labels.sum())
    if n == 0:
        return 1.0
    expected, law = _law(n, reference, errors)
    mid, _ = law.p(pearson(labels, expected))
    return float(mid)


def sequential_p(
    p_values: Sequence[float],
    sizes: Sequence[int],
    reference: tuple[float, ...],
    errors: ReadingErrors | None = None,
) -> float:
    """Return the probability that a model without bias has a scaled p this small at any look.

    Parameters
    ----------
    p_values
        p-value of each look so far.
    sizes
        Number of labeled images at each planned look, even if sampling stopped earlier.
    reference : tuple of float, (K,)
        Reference shares.
    errors
        Known labeling errors.
    """
    return p_of_smallest(smallest_scaled_p(p_values, sizes), sizes, reference, errors)


def p_of_smallest(
    smallest: float,
    sizes: Sequence[int],
    reference: tuple[float, ...],
    errors: ReadingErrors | None = None,
) -> float:
    """Return the sequential p for the smallest scaled p; see `sequential_p`."""
    if smallest >= 1:
        return 1.0
    if errors is None and len(reference) == 2:
        return _two_values_p(smallest, tuple(sizes), reference)
    key = None if errors is None else errors.key
    _, usual = _smallest_p_law(tuple(sizes), reference, key).p(-smallest)
    return float(usual)


def smallest_scaled_p(p_values: Sequence[float], sizes: Sequence[int]) -> float:
    """Return the smallest scaled p of the looks so far.

    Parameters
    ----------
    p_values
        p-value of each look so far.
    sizes
        Number of images at each planned look, even if sampling stopped earlier.
    """
    scaled = [
        p / level_share(size, sizes[-1]) for p, size in zip(p_values, sizes, strict=False) if size
    ]
    return min(scaled, default=1.0)


def level_share(size: int, most: int) -> float:
    """Return the significance level at `size` images, divided by the level at `most` images."""
    return float((size / most) ** LEVEL_GROWTH)


def paired_sequential_p(p_values: Sequence[float], sizes: Sequence[int], values: int) -> float:
    """Return the probability that two sets with equal shares have a scaled p this small at any look.

    The p-value at a look comes from random swaps of images between the sets (`stats.exchange`). The
    function models the p-values at all looks with cumulative sums of normal vectors, which have one
    component fewer than the axis has values. The p-value at a look is then a p-value for the
    squared length of the sum. This model is exact in the limit of many images. It is conservative
    for few images, because their p-values can take only a few different values.

    Parameters
    ----------
    p_values
        p-value of each look so far.
    sizes
        Number of images at each planned look, even if sampling stopped earlier.
    values
        Number of values of the axis.
    """
    smallest = smallest_scaled_p(p_values, sizes)
    simulated = _smallest_normal_p(tuple(sizes), max(values - 1, 1))
    as_small = int(np.searchsorted(simulated, smallest, side="right"))
    return 1.0 if smallest >= 1 else (1 + as_small) / (1 + len(simulated))


def look_confidence(sizes: Sequence[int], confidence: float, images: int) -> float:
    """Return the confidence level that the interval at a look needs for a given joint confidence.

    Parameters
    ----------
    sizes
        Number of images at each look.
    confidence
        Probability that the intervals at all looks contain the true value, in (0, 1).
    images
        Number of images at this look.
    """
    if len(sizes) < 2:
        return confidence
    return 1 - _last_interval_error(tuple(sizes), confidence) * level_share(images, sizes[-1])


def _law(
    n: int, reference: tuple[float, ...], errors: ReadingErrors | None
) -> tuple[Floats, NullLaw]:
    """Return the expected counts and the null distribution of Pearson's statistic."""
    if errors is None:
        return n * np.array(reference), exact_law(n, reference)
    return law_with_errors(n, reference, errors)


@lru_cache(maxsize=4096)
def _two_values_p(smallest: float, sizes: tuple[int, ...], reference: tuple[float, ...]) -> float:
    """Return the probability that a scaled p is at most `smallest` at any look.

    The probability is a sum over all possible sequences of labels.
    """
    continuing = np.ones(1)
    before = 0
    reached = 0.0
    for size in sizes:
        continuing = np.convolve(continuing, _two_values(size - before, reference).probabilities)
        before = size
        if size:
            limit = smallest * level_share(size, sizes[-1]) * (1 + TOLERANCE)
            rejected = _two_values(size, reference).p_values <= limit
            reached += float(continuing[rejected].sum())
            continuing[rejected] = 0.0
    return min(reached, 1.0)


@dataclass(frozen=True, slots=True)
class TwoValues:
    """All possible counts for n images on an axis with two values.

    A count is the number of images that show the first value, from 0 to n.

    Attributes
    ----------
    probabilities : array, (n + 1,)
        Probability of each count if the model has the reference shares.
    p_values : array, (n + 1,)
        p-value of each count.
    """

    probabilities: Floats
    p_values: Floats


@lru_cache(maxsize=1024)
def _two_values(n: int, reference: tuple[float, ...]) -> TwoValues:
    """Return all possible counts for n images on an axis with two values."""
    first = np.arange(n + 1.0)
    counts = np.stack([first, n - first], axis=1)
    expected, law = _law(n, reference, None)
    return TwoValues(
        probabilities=multinomial_probabilities(counts, np.array(reference)),
        p_values=law.p(pearson(counts, expected))[0],
    )


@lru_cache(maxsize=256)
def _smallest_p_law(
    sizes: tuple[int, ...], reference: tuple[float, ...], key: bytes | None
) -> NullLaw:
    """Return the null distribution of -p, where p is the smallest scaled p at any look."""
    values = len(reference)
    rng = np.random.default_rng([*sizes, values])
    errors = None
    shares = np.tile(np.array(reference), (PATHS, 1))
    if key is not None:
        errors = ReadingErrors(np.frombuffer(key).reshape(values, values))
        drawn = np.einsum("k,dkl->dl", reference, errors.drawn(PATHS, values))
        shares = drawn / drawn.sum(axis=1, keepdims=True)
    counts = np.zeros((PATHS, values))
    smallest = np.full(PATHS, np.inf)
    before = 0
    for size in sizes:
        counts = counts + rng.multinomial(size - before, shares)
        before = size
        if size:
            expected, law = _law(size, reference, errors)
            scaled = law.p(pearson(counts, expected))[0] / level_share(size, sizes[-1])
            smallest = np.minimum(smallest, scaled)
    return NullLaw.simulated(-smallest)


@lru_cache(maxsize=256)
def _last_interval_error(sizes: tuple[int, ...], confidence: float) -> float:
    """Return the permitted probability that the interval at the last look misses the true value."""
    return float(np.quantile(_smallest_normal_p(sizes, 1), 1 - confidence))


@lru_cache(maxsize=32)
def _smallest_normal_p(sizes: tuple[int, ...], components: int) -> Floats:
    """Simulate means of normal vectors at all looks.

    Return the smallest scaled p of each simulation, in ascending order.
    """
    rng = np.random.default_rng(sizes)
    steps = np.diff(np.array([0, *sizes]))
    squared = np.zeros((10 * PATHS, len(sizes)))
    for _ in range(components):
        sums = np.cumsum(rng.normal(size=squared.shape) * np.sqrt(steps), axis=1)
        squared += sums**2 / np.array(sizes)
    lengths = np.sqrt(squared)
    # interpolation is much faster than a p-value for each length, with an error of about 1e-6 * p
    grid = np.linspace(0, lengths.max(), 2_000)
    p_values = np.exp(np.interp(lengths, grid, np.log(chi2_sf(grid**2, components))))
    shares = [level_share(size, sizes[-1]) for size in sizes]
    return np.sort((p_values / np.array(shares)).min(axis=1))
