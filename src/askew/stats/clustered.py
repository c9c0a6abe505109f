"""Rates and means over images that come in clusters, such as several edits of one input image.

Images of a cluster are not independent draws.

Arrays have the shape (clusters, members). A member without an answer is NaN. Rows are independent
of each other. If two arrays are compared, their rows form pairs. All functions raise NotEnoughData without
answers, or without a pair of rows for a comparison, and ValueError for invalid arrays.
"""

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.intervals import (
    TOLERANCE,
    Floats,
    array_of,
    bootstrap_errors,
    corrected,
    ends,
    from_enough,
    mover,
    percentile_interval,
    student_stretch,
)
from askew.stats.shares import wilson
from askew.types import Estimate

BATCH_OF_DRAWS = 1000


def clustered_rate(happened: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Estimate the share of members in which an event happened, in [0, 1].

    Interval: Wilson's with the effective number of members. This is their number divided by the
    design effect (variance of the share relative to independent members). It is limited to 1 and
    the size of a cluster, and reduced for few clusters (t for z). If all members of each cluster
    agree, each cluster counts once.

    Parameters
    ----------
    happened : array, (clusters, members)
        0, 1 or NaN.
    level
        Confidence level of the interval, in (0, 1).
    """
    x = _checked(happened)
    if not np.isin(x[~np.isnan(x)], (0, 1)).all():
        raise ValueError("a rate needs 0, 1 or NaN for each member")
    n = int((~np.isnan(x)).sum())
    share = float(np.nansum(x[_has_answer(x)], axis=1).sum() / n)
    low, high = wilson(share, _effective_members(x, share, level), level)
    return Estimate(
        value=share,
        low=low,
        high=high,
        level=level,
        interval="Wilson, effective size",
        n=n,
        missing=int(x.size - n),
        max=1.0,
    )


def _effective_members(x: Floats, share: float, level: float) -> float:
    """Return the number of independent members whose share would have an interval of equal length."""
    answered = x[_has_answer(x)]
    counts = (~np.isnan(answered)).sum(axis=1)
    sums = np.nansum(answered, axis=1)
    n = int(counts.sum())
    clusters = len(counts)
    if clusters == 1:
        return 1.0
    largest = float(counts.max())
    independent = share * (1 - share) / n
    variance = clusters / (clusters - 1) * float(((sums - share * counts) ** 2).sum()) / n**2
    effect = largest
    if independent != 0:
        effect = min(max(variance / independent, 1.0), largest)
    return float(n / effect / student_stretch(level, clusters - 1) ** 2)


def clustered_rate_difference(
    first: ArrayLike, second: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Estimate the share in `first` minus the share in `second`, in [-1, 1].

    Interval: both shares' intervals combined (MOVER; Newcombe 1998), with the correlation of paired
    clusters. p: two-sided, from random swaps of the two
    members of each pair.

    Parameters
    ----------
    first, second : array, (clusters, members)
        0, 1 or NaN.
    rng
        Random generator for the swaps.
    draws
        Number of random swaps.
    level
        Confidence level of the interval, in (0, 1).
    """
    x = _checked(first)
    y = _checked(second)
    x_means, y_means = _paired(x, y)
    correlation = cluster_correlation(x_means, y_means)
    difference = rate_gap(x, y, level, "MOVER, Wilson, paired", correlation)
    return replace(difference, null=0.0, p=sign_flip_p(x_means - y_means, rng, draws))


def cluster_correlation(x: Floats, y: Floats) -> float:
    """Return the correlation of two arrays of cluster means, reduced if it is positive.

    The part that is expected by chance would make an interval too narrow.
    """
    if len(x) < 3 or x.std() == 0 or y.std() == 0:
        return 0.0
    correlation = float(np.corrcoef(x, y)[0, 1])
    return max(correlation - 1 / len(x), 0.0) if correlation > 0 else correlation


def rate_gap(
    first: ArrayLike, second: ArrayLike, level: float, name: str, correlation: float = 0.0
) -> Estimate:
    """Estimate the share in `first` minus the share in `second`, in [-1, 1], by MOVER.

    Parameters
    ----------
    first, second : array, (clusters, members)
        0, 1 or NaN.
    level
        Confidence level of the interval, in (0, 1).
    name
        Name of the interval's method.
    correlation
        Correlation of both shares' errors.
    """
    a = clustered_rate(first, level=level)
    b = clustered_rate(second, level=level)
    low, high = mover(a.value, b.value, ends(a), ends(b), correlation)
    return Estimate(
        value=a.value - b.value,
        low=max(low, -1.0),
        high=min(high, 1.0),
        level=level,
        interval=name,
        n=(a.n or 0) + (b.n or 0),
        missing=a.missing + b.missing,
        max=1.0,
    )


def rate_above_floor(
    happened: ArrayLike, floor: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95
) -> tuple[Estimate, Estimate]:
    """Estimate a rate, with the rate of the measurement process as its null.

    `corrected` is (rate - floor) / (1 - floor). p: one-sided, by random exchanges of the rate and
    the floor of clusters.

    Parameters
    ----------
    happened : array, (clusters, members)
        0, 1 or NaN.
    floor : array, (clusters, members or 1)
        The same for the same clusters, without an intervention.
    rng
        Random generator for the swaps.
    draws
        Number of random swaps.
    level
        Confidence level of the intervals, in (0, 1).

    Returns
    -------
    tuple of Estimate
        The rate and the floor.
    """
    x = _checked(happened)
    y = _checked(floor)
    rate = clustered_rate(x, level=level)
    base = clustered_rate(y, level=level)
    x_means, y_means = _paired(x, y)
    p = sign_flip_p(x_means - y_means, rng, draws, one_sided=True)
    return corrected(rate, base.value, p), base


def clustered_mean(
    values: ArrayLike,
    *,
    rng: Generator,
    draws: int = 1000,
    level: float = 0.95,
    null: float | None = None,
) -> Estimate:
    """Estimate the mean over clusters of the means of their members.

    The interval is by bootstrap over clusters. Fewer than three clusters have no interval.

    Parameters
    ----------
    values : array, (clusters, members)
        Numbers or NaN.
    rng
        Random generator for all draws.
    draws
        Number of draws.
    level
        Confidence level of the interval, in (0, 1).
    null
        Mean under the null. p is two-sided, by random signs of the clusters' distances from it.
    """
    x = _checked(values)
    rows = _means(x)
    missing = int(np.isnan(x).sum())
    mean = float(rows.mean())
    errors = bootstrap_errors(rows[:, None], draws, rng)[:, 0]
    low, high = percentile_interval(mean + errors, level)
    estimate = Estimate(
        value=mean,
        low=low,
        high=high,
        level=level,
        interval="bootstrap over sources",
        n=int(x.size - missing),
        missing=missing,
        null=null,
        p=None if null is None else sign_flip_p(rows - null, rng, draws),
    )
    return from_enough(estimate, len(rows))


def clustered_mean_difference(
    first: ArrayLike, second: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Estimate the mean of `first` minus the mean of `second`, over pairs of clusters with values.

    p: by sign flips. Parameters as in `clustered_rate_difference`, with any numbers.
    """
    x_means, y_means = _paired(_checked(first), _checked(second))
    differences = (x_means - y_means)[:, None]
    return clustered_mean(differences, rng=rng, draws=draws, level=level, null=0.0)


def _checked(values: ArrayLike) -> Floats:
    x = array_of(values, "an array of clusters", "(clusters, members)", finite=False)
    if np.isnan(x).all():
        raise NotEnoughData("no member of any cluster has a value")
    return x


def _has_answer(x: Floats) -> NDArray[np.bool_]:
    """Check for each cluster whether any member has an answer."""
    return np.asarray(~np.isnan(x).all(axis=1))


def _means(x: Floats) -> Floats:
    return np.asarray(np.nanmean(x[_has_answer(x)], axis=1))


def _paired(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the cluster means of both arrays for the rows in which both have a value."""
    rows = min(len(x), len(y))
    x = x[:rows]
    y = y[:rows]
    both = _has_answer(x) & _has_answer(y)
    if not both.any():
        raise NotEnoughData("no two clusters have values in both sets")
    return _means(x[both]), _means(y[both])


def sign_flip_p(
    differences: Floats, rng: Generator, draws: int, *, one_sided: bool = False
) -> float:
    """Return p of the mean of differences whose signs are random under the null.

    It is (1 + draws at least as far from 0) / (1 + draws).

    Parameters
    ----------
    differences : array, (n,)
        The differences, in any order.
    rng
        Random generator for the signs.
    draws
        Number of draws.
    one_sided
        Count only means that are at least as large.
    """
    differences = differences[np.lexsort((differences, np.abs(differences)))]
    observed = float(differences.sum())
    exceeding = 0
    for start in range(0, draws, BATCH_OF_DRAWS):
        size = (min(BATCH_OF_DRAWS, draws - start), len(differences))
        sums = rng.choice((-1.0, 1.0), size=size) @ differences
        if one_sided:
            far = sums >= observed - TOLERANCE
        else:
            far = np.abs(sums) >= abs(observed) - TOLERANCE
        exceeding += int(far.sum())
    return (1 + exceeding) / (1 + draws)
