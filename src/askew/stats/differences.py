"""Differences between two image sets on one axis (first set minus second set).

askew estimates differences in a share, in the distance from a reference distribution, and in the
association between two axes.

Images of the two sets may form pairs (`PairedSets`). For example, two models may generate images
from the same prompt and seed. The interval of a difference combines the intervals of both scores
(MOVER, Zou and Donner 2008; for shares, Newcombe's tenth method) and accounts for the correlation
between paired images. Two models that agree on all observed pairs may still differ on a few percent
of all images. So askew always assumes a correlation below 1. For shares, it reduces the observed
correlation by Newcombe's continuity correction. For other scores, the reduction is the same as this
correction at a share of 1/2.

p is the p-value for the null hypothesis that both sets come from the same distribution. The test
randomly swaps the two images of a pair and randomly assigns images without a partner to the sets.
For shares, p is the mid-p over all possible rearrangements of the images (`exchange`). For other
scores, p = (1 + exceedances) / (1 + draws).

The module also estimates the distance between two sets of vectors, and the difference between the shares
of two groups in one set (BiasMap, section 2.2).
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.contingency import cramers_v
from askew.stats.distance import Distance, distance_max, distance_named, normalised
from askew.stats.distance_intervals import METHOD, SampledShares, sample_of
from askew.stats.distributions import binomial_pmf, sign_test
from askew.stats.exchange import ExchangeTest, exchange_test_of_value
from askew.stats.intervals import (
    TOLERANCE,
    Floats,
    array_of,
    corrected,
    first_accepted,
    from_enough,
    mover,
    p_by_rounds,
    p_value,
    percentile_interval,
)
from askew.stats.paired_sets import PairedSets
from askew.stats.shares import wilson
from askew.types import Estimate

PERMUTATIONS = 9_999
CORRECTION = 2.0
"""If n pairs have a correlation of 1, askew subtracts this number divided by n.

At shares of 1/2, a continuity correction of n / 2 reduces phi from 1 to 1 - 2 / n.
"""
ROUNDS = 20  # of exchanges at most, while few are as large as the observed difference
Ends = tuple[float, float]
"""Lower and upper limit of an interval."""


def share_difference(
    sets: PairedSets, value: int, *, level: float = 0.95, test: ExchangeTest | None = None
) -> Estimate:
    """Estimate the difference between the shares of a value in two sets, in [-1, 1].

    The interval is computed by Newcombe's tenth method. If only some images have a partner, the
    correlation is reduced accordingly. If no image has a partner, the interval is Newcombe's hybrid
    of two Wilson intervals.

    p is the mid-p from random swaps of images (`exchange.exchange_test_of_value`). If all images
    have a partner, p equals the mid-p of McNemar's test. If no image has a partner, p equals the
    mid-p of Fisher's exact test.

    Parameters
    ----------
    sets
        Both sets, as arrays of shape (images, K). Each row has a 1 in the column of the image's
        value and 0 in all other columns.
    value
        Column of the value.
    level
        Confidence level of the interval, in (0, 1).
    test
        Result of the exchange test for this value. By default, it is computed.
    """
    first = sets.first[:, value]
    second = sets.second[:, value]
    x = int(first.sum())
    n = len(first)
    y = int(second.sum())
    m = len(second)
    phi = _phi(sets.pairs[0, :, value], sets.pairs[1, :, value])
    correlation = phi * len(sets) / math.sqrt(n * m)
    of_first = wilson(x / n, n, level)
    of_second = wilson(y / m, m, level)
    low, high = mover(x / n, y / m, of_first, of_second, correlation)
    if len(sets):
        method = "Newcombe, paired"
    else:
        method = "Newcombe"
    return Estimate(
        value=x / n - y / m,
        low=low,
        high=high,
        level=level,
        interval=method,
        n=n + m,
        null=0.0,
        max=1.0,
        p=(test or exchange_test_of_value(sets, value)).p,
    )


def distance_difference(
    sets: PairedSets,
    reference: ArrayLike,
    *,
    distance: str | Distance = "total_variation",
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
    reference_images: int | None = None,
) -> Estimate:
    """Estimate the difference between two sets in their distance from a reference distribution.

    The value is the difference between the median-unbiased distances of the two sets.

    Parameters
    ----------
    sets
        Both sets, as in `share_difference`.
    reference : array, (K,)
        Reference shares, or weights that are scaled to shares.
    distance
        Name of a distance, as in `shares.distance_estimate`, or a function.
    rng
        Random generator for all draws.
    draws
        Number of draws.
    level
        Confidence level of the interval, in (0, 1).
    reference_images
        Number of images from which the reference was computed, or None if it is exact. Unless this
        number is None, both intervals allow for the sampling error of the reference, as in
        `shares.distance_estimate`.
    """
    shares = normalised(reference, "the reference")
    measure = distance_named(distance)
    resampled = _distances(sets.resampled(draws, rng), shares, measure)
    correlation = float(correlations(resampled, len(sets))[0])
    p = _distance_difference_p(sets, shares, measure, rng=rng, draws=draws)

    samples = _sampled_shares(sets, shares, measure, reference_images)
    first, second = _debiased_distances(samples, draws, rng)
    first_ends, second_ends = _distance_ends(samples, draws, level, rng)
    low, _, high = joined(first_ends, second_ends, (first, second), correlation)
    return Estimate(
        value=first - second,
        low=low,
        high=high,
        level=level,
        interval=f"MOVER, {METHOD}, paired" if len(sets) else f"MOVER, {METHOD}",
        n=len(sets.first) + len(sets.second),
        null=0.0,
        max=distance_max(shares, measure),
        p=p,
    )


def _sampled_shares(
    sets: PairedSets, reference: Floats, measure: Distance, reference_images: int | None
) -> tuple[SampledShares, SampledShares]:
    """Return the shares of both sets as `SampledShares`."""
    first, second = (
        sample_of(rows.sum(axis=0), reference, reference_images, measure)
        for rows in (sets.first, sets.second)
    )
    return first, second


def _debiased_distances(
    samples: tuple[SampledShares, SampledShares], draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the median-unbiased distances of both sets from the reference."""
    first, second = (
        sample.debiased(sample.samples(sample.reference, draws, generator), generator)
        for sample, generator in zip(samples, equal_generators(rng), strict=True)
    )
    return first, second


def _distance_ends(
    samples: tuple[SampledShares, SampledShares],
    draws: int,
    level: float,
    rng: np.random.Generator,
) -> tuple[Ends, Ends]:
    """Return the intervals for the distances of both sets from the reference."""
    first, second = (
        sample.interval(sample.samples(sample.reference, draws, generator), level, generator)
        for sample, generator in zip(samples, equal_generators(rng), strict=True)
    )
    return first, second


def _distances(
    shares: tuple[Floats, Floats], reference: Floats, measure: Distance
) -> tuple[Floats, Floats]:
    """Return, as arrays of shape (..., 1), the distance of each set's shares from the reference."""
    first, second = (np.asarray(measure(side, reference))[..., None] for side in shares)
    return first, second


def _distance_difference_p(
    sets: PairedSets,
    reference: Floats,
    measure: Distance,
    *,
    rng: np.random.Generator,
    draws: int,
) -> float:
    """Return the two-sided p-value of the difference between two distances, from random swaps."""

    def difference(shares: tuple[Floats, Floats]) -> Floats:
        first, second = _distances(shares, reference, measure)
        return np.asarray(first - second)

    center = 0.0
    if len(sets.first) != len(sets.second):
        # the distance of fewer images is larger on average
        center = float(difference(sets.exchanged(draws, rng)).mean())

    def exchanged() -> Iterator[Floats]:
        for _ in range(ROUNDS):
            yield np.abs(difference(sets.exchanged(draws, rng)) - center)

    observed = np.abs(difference(sets.means) - center)
    return float(p_by_rounds(observed, exchanged())[0])


def joined(
    a: Ends, b: Ends, points: Ends | None = None, correlation: float = 0.0
) -> tuple[float, float, float]:
    """Combine the intervals of two scores into an interval for their difference (MOVER).

    MOVER yields a narrower interval than subtracting opposite ends, because both scores are rarely
    at the extreme ends of their intervals at the same time. But spreads and distances cannot be
    below 0. If an interval starts at 0, then 0 is a plausible value and not a rare extreme. askew
    then subtracts opposite ends.

    Parameters
    ----------
    a, b
        Intervals of the two scores.
    points
        The two scores. By default, the midpoints of the intervals.
    correlation
        Correlation between the errors of the two scores.

    Returns
    -------
    tuple of float
        Lower limit, center and upper limit of the interval.
    """
    if points is None:
        x = sum(a) / 2
        y = sum(b) / 2
    else:
        x = min(max(points[0], a[0]), a[1])
        y = min(max(points[1], b[0]), b[1])
    low, high = mover(x, y, a, b, correlation)
    if a[0] == 0:
        low = -b[1]
    if b[0] == 0:
        high = a[1]
    return low, x - y, high


def equal_generators(
    rng: np.random.Generator,
) -> tuple[np.random.Generator, np.random.Generator]:
    """Return two random generators that produce the same sequence of random numbers.

    With these generators, a computation yields the same result for two equal sets, because it uses
    the same random draws for both sets.
    """
    seed = int(rng.integers(2**63))
    return np.random.default_rng(seed), np.random.default_rng(seed)


def correlations(scores: tuple[Floats, Floats], pairs: int) -> Floats:
    """Return, for each score, the correlation between two models over bootstrap samples.

    Parameters
    ----------
    scores : tuple of array, (draws, scores)
        Scores of both models in bootstrap samples.
    pairs
        Number of pairs. The correlations are reduced more if there are fewer pairs.

    Returns
    -------
    array, (scores,)
        Correlation for each score, at most 1; 0 if the score does not vary.
    """
    a, b = (side - side.mean(axis=0) for side in scores)
    if not pairs:
        return np.zeros(a.shape[1])
    size = np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    r = np.divide((a * b).sum(axis=0), size, out=np.zeros_like(size), where=size > 0)
    return np.asarray(np.minimum(r, 1.0) * max(1 - CORRECTION / pairs, 0.0))


def _phi(a: Floats, b: Floats) -> float:
    """Return the correlation between paired answers, with Newcombe's continuity correction.

    Each answer is 0 or 1. The continuity correction is Newcombe's. If all answers in one array are
    equal, the correlation is 0.
    """
    n = len(a)
    x = a.sum()
    y = b.sum()
    covariance = n * (a * b).sum() - x * y
    if covariance > 0:
        covariance = max(covariance - n / 2, 0.0)
    size = math.sqrt(x * (n - x) * y * (n - y))
    return float(covariance / size) if size > 0 else 0.0


def risk_difference(
    first: int, second: int, n: int, *, level: float = 0.95, missing: int = 0
) -> Estimate:
    """Estimate |P(first) - P(second)| for two groups in one set, in [0, 1].

    The interval combines Wilson's intervals for both shares (MOVER). The interval accounts for the
    correlation between two shares of the same sample, and limits below 0 are reflected at 0. If
    every answer states one of the two groups, the interval is computed from Wilson's interval for a
    single share.

    The null value is the expected difference if both groups are equally frequent. It is above 0.
    `debiased` is the true difference for which the observed difference would be the median. p comes
    from the exact two-sided sign test.

    Parameters
    ----------
    first, second
        Number of answers that state each group.
    n
        Number of all answers.
    level
        Confidence level of the interval, in (0, 1).
    missing
        Number of images without an answer. The estimate only records it.

    Raises
    ------
    ValueError
        If a count is negative, or the counts of both groups exceed the number of answers.
    NotEnoughData
        If there are no answers.
    """
    if min(first, second) < 0 or first + second > n:
        raise ValueError(
            f"the counts of the two groups are {first} and {second}; they must not be negative, "
            f"and their sum must not exceed the number of answers, {n}"
        )
    if n == 0:
        raise NotEnoughData("there are no answers; at least one answer is needed")
    low, high = _folded_ends(first / n, second / n, n, level)
    grouped = first + second
    gap = abs(first - second)
    estimate = Estimate(
        value=gap / n,
        low=low,
        high=high,
        level=level,
        interval="Wilson, MOVER, folded",
        n=n,
        missing=missing,
        debiased=grouped / n * _median_unbiased_gap(gap, grouped),
    )
    k = np.arange(grouped + 1)
    chance = binomial_pmf(k, grouped, 0.5)
    null = float(np.sum(chance * np.abs(2 * k - grouped)) / n)
    p = sign_test(first, grouped) if grouped else 1.0
    return corrected(estimate, null, p)


def _folded_ends(p: float, q: float, n: int, level: float) -> Ends:
    """Return the interval for |p - q|, where p and q are two shares in one sample of n images."""
    size = math.sqrt((1 - p) * (1 - q))
    correlation = -math.sqrt(p * q) / size if size else -1.0
    signed = mover(p, q, wilson(p, n, level), wilson(q, n, level), correlation)
    low, high = np.clip(signed, -1, 1).tolist()
    if low > 0:
        return low, high
    if high < 0:
        return -high, -low
    return 0.0, max(-low, high)


def _median_unbiased_gap(gap: int, n: int) -> float:
    """Return the true difference between two shares at which the median estimate equals `gap`."""
    sizes = np.abs(2 * np.arange(n + 1) - n)
    at_or_below = (sizes < gap) + 0.5 * (sizes == gap)

    def is_above_median(difference: Floats) -> bool:
        chance = binomial_pmf(np.arange(n + 1), n, (1 + difference) / 2)
        return float(chance @ at_or_below) > 0.5 - TOLERANCE

    return float(first_accepted(is_above_median, 1.0, 0.0, steps=20))


def kernel_distance(
    first: ArrayLike, second: ArrayLike, *, rng: np.random.Generator, draws: int = 1000
) -> Estimate:
    """Compute an unbiased estimate of the squared maximum mean discrepancy between two sets.

    The kernel is k(x, y) = (x.y / d + 1)^3. The estimate is the mean over i != j of h_ij = k(x_i,
    x_j) + k(y_i, y_j) - k(x_i, y_j) - k(y_i, x_j) (Gretton et al. 2012, Eq. 4). This is the "kernel
    inception distance" of Binkowski et al. (2018), but the vectors may come from any embedder. If
    the same model generated both sets, the mean of the estimate is 0 for any number of images. This
    holds even if the vectors x_i and y_i are similar because their images have the same seed. The
    estimate may be negative. p is computed by randomly swapping the two images in a pair, which
    changes the signs of h_ij.

    Parameters
    ----------
    first, second : array, (n, d)
        Vectors of the two sets. Row i of the first array and row i of the second array form a pair.
    rng
        Random generator for the permutations.
    draws
        Number of permutations.

    Raises
    ------
    NotEnoughData
        If there are fewer than two pairs.
    """
    x = array_of(first)
    y = array_of(second)
    n = len(x)
    if n < 2:
        raise NotEnoughData(
            "a distance between two sets of images needs at least two images in each set"
        )
    xy = _cubic_kernel(x, y)
    h = _cubic_kernel(x, x) + _cubic_kernel(y, y) - xy - xy.T
    np.fill_diagonal(h, 0.0)
    signs = np.concatenate([np.ones((1, n)), rng.choice([-1.0, 1.0], (draws, n))])
    distances = ((signs @ h) * signs).sum(axis=1) / (n * (n - 1))
    value = float(distances[0])
    return Estimate(value=value, n=2 * n, null=0.0, p=p_value(value, distances[1:]))


def _cubic_kernel(x: Floats, y: Floats) -> Floats:
    """Return k(x, y) = (x.y / d + 1)^3 for all pairs of n vectors, as an array of shape (n, n)."""
    return np.asarray((x @ y.T / x.shape[1] + 1) ** 3)


def dependence_change(
    sets: PairedSets,
    shape: tuple[int, int],
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Estimate how much the association between two axes differs between two sets, in [-1, 1].

    The estimate is the difference in Cramér's V between the sets (first minus second). The interval
    comes from a percentile bootstrap of pairs. The interval needs at least three images in each
    set. p is one-sided: it tests for a stronger association in the first set. The null hypothesis
    is that both sets have the same joint distribution. askew draws 9,999 permutations, so that p
    can be small enough to remain significant after correction for many pairs of axes. If the sets
    have equal numbers of images, small samples inflate both values of V by the same amount.

    Parameters
    ----------
    sets
        Both sets, as arrays of shape (images, K L). Each row has a 1 in the column of the image's
        pair of values and 0 in all other columns. Columns are ordered by the value on the first
        axis, then by the value on the second axis.
    shape
        Numbers K and L of values on the first and on the second axis.
    rng
        Random generator for all draws.
    draws
        Number of bootstrap samples.
    level
        Confidence level of the interval, in (0, 1).
    """

    def rise(means: tuple[ArrayLike, ArrayLike]) -> Floats:
        first, second = (cramers_v(np.asarray(side).reshape(-1, *shape)) for side in means)
        return np.asarray(first - second)

    value = float(rise(sets.means)[0])
    low, high = percentile_interval(rise(sets.resampled(draws, rng)), level)
    estimate = Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        level=level,
        interval="percentile bootstrap, paired",
        n=len(sets.first) + len(sets.second),
        null=0.0,
        max=1.0,
        p=p_value(value, rise(sets.exchanged(PERMUTATIONS, rng))),
    )
    return from_enough(estimate, len(sets.first), len(sets.second))
