"""Sequential tests: askew adds images and tests repeatedly, until it reaches a verdict.

Each of these tests is called a look. A look compares all images so far with the reference, using
the mid-p of Pearson's statistic (`goodness_of_fit`). The number of images doubles at every second
look. The **sequential p** is computed from the smallest p of all looks so far. The sequential p is
the probability that a model without bias has a p-value as small as this at any look, up to the
maximum number of images. All looks have the same significance level, as in Pocock's design (1977,
Biometrika 64, 191-199). The smallest p never increases, so a sequential p is valid regardless of
when and why sampling stops.

When sampling stops, askew reports *repeated confidence intervals* (Jennison and Turnbull 1989, JRSS
B 51, 305-361). The interval at each look has a raised confidence level, so that with the desired
confidence, the intervals at all looks contain the model's true value.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.confusion import ReadingErrors
from askew.stats.distributions import chi2_sf
from askew.stats.goodness_of_fit import NullLaw, exact_law, law_with_errors, pearson
from askew.stats.intervals import Floats

FIRST_LOOK = 8
"""Number of images per prompt at the first look."""
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
    smallest_p: float,
    sizes: Sequence[int],
    reference: tuple[float, ...],
    errors: ReadingErrors | None = None,
) -> float:
    """Return the probability that a model without bias has a p-value this small at any look.

    Parameters
    ----------
    smallest_p
        Smallest p-value at any look so far.
    sizes
        Number of labeled images at each look, including looks that were not needed.
    reference : tuple of float, (K,)
        Reference shares.
    errors
        Known labeling errors.
    """
    key = None if errors is None else errors.key
    law = _smallest_p_law(tuple(sizes), reference, key)
    _, usual = law.p(-smallest_p)
    return float(usual)


def paired_sequential_p(smallest_p: float, sizes: Sequence[int], values: int) -> float:
    """Return the probability that two sets with equal true shares have a p this small at any look.

    The p-value at a look comes from random swaps of images between the sets (`stats.exchange`). The
    function models the p-values at all looks with cumulative sums of normal vectors, which have one
    component fewer than the axis has values. The p-value at a look is then a p-value for the
    squared length of the sum. This is exact for many images. It is conservative for few images,
    because their p-values can take only a few different levels.

    Parameters
    ----------
    smallest_p
        Smallest p-value at any look so far.
    sizes
        Number of images at each look, including looks that were not needed.
    values
        Number of values of the axis.
    """
    smallest = _smallest_normal_p(tuple(sizes), max(values - 1, 1))
    as_small = int(np.searchsorted(smallest, smallest_p, side="right"))
    return (1 + as_small) / (1 + len(smallest))


def look_confidence(sizes: Sequence[int], confidence: float) -> float:
    """Return the confidence level that each look's interval needs for a given joint confidence.

    Parameters
    ----------
    sizes
        Number of images at each look.
    confidence
        Probability that the intervals at all looks contain the true value, in (0, 1).
    """
    if len(sizes) < 2:
        return confidence
    smallest = _smallest_normal_p(tuple(sizes), 1)
    return 1 - float(np.quantile(smallest, 1 - confidence))


def _law(
    n: int, reference: tuple[float, ...], errors: ReadingErrors | None
) -> tuple[Floats, NullLaw]:
    """Return the expected counts and the null distribution of Pearson's statistic."""
    if errors is None:
        return n * np.array(reference), exact_law(n, reference)
    return law_with_errors(n, reference, errors)


@lru_cache(maxsize=256)
def _smallest_p_law(
    sizes: tuple[int, ...], reference: tuple[float, ...], key: bytes | None
) -> NullLaw:
    """Return the null distribution of -p, where p is the smallest p-value at any look."""
    values = len(reference)
    rng = np.random.default_rng([*sizes, values])
    errors = None
    shares = np.tile(np.array(reference), (PATHS, 1))
    if key is not None:
        errors = ReadingErrors(np.frombuffer(key).reshape(values, values))
        drawn = np.einsum("k,dkl->dl", reference, errors.drawn(PATHS, values))
        shares = drawn / drawn.sum(axis=1, keepdims=True)
    counts = np.zeros((PATHS, values))
    smallest = np.ones(PATHS)
    before = 0
    for size in sizes:
        counts = counts + rng.multinomial(size - before, shares)
        before = size
        if size:
            expected, law = _law(size, reference, errors)
            smallest = np.minimum(smallest, law.p(pearson(counts, expected))[0])
    return NullLaw.simulated(-smallest)


@lru_cache(maxsize=32)
def _smallest_normal_p(sizes: tuple[int, ...], components: int) -> Floats:
    """Simulate means of normal vectors, and return the sorted smallest p-values over all looks."""
    rng = np.random.default_rng(sizes)
    steps = np.diff(np.array([0, *sizes]))
    squared = np.zeros((10 * PATHS, len(sizes)))
    for _ in range(components):
        sums = np.cumsum(rng.normal(size=squared.shape) * np.sqrt(steps), axis=1)
        squared += sums**2 / np.array(sizes)
    return np.sort(chi2_sf(squared.max(axis=1), components))
