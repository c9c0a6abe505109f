"""Rates and means for images that come in clusters, such as several edits of one input image.

Images in the same cluster are not independent draws.

Arrays have the shape (clusters, members). The entry for a member without an answer is NaN.
Different rows are independent. Where a function compares two arrays, row i of the first array and
row i of the second array form a pair. All functions raise NotEnoughData if there are no answers, or
no pairs of rows to compare. They raise ValueError for invalid arrays.
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
    """Estimate the share of members in which an event occurred, in [0, 1].

    The interval is a Wilson interval at the effective sample size, which is the number of members
    divided by the design effect. The design effect is the variance of the share divided by the
    variance that it would have for independent members. The design effect is limited to the range
    from 1 to the size of the largest cluster. With few clusters, the effective sample size is
    reduced further, because Student's t replaces the normal quantile. If the members of each
    cluster agree, each cluster counts as one independent member.

    Parameters
    ----------
    happened : array, (clusters, members)
        Events: 1 if the event occurred for the member, 0 if not, NaN if the member has no answer.
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
    """Return the effective sample size from which the interval of a rate is computed."""
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
    """Estimate the difference between two shares (`first` minus `second`), in [-1, 1].

    The interval combines the intervals of both shares (MOVER; Newcombe 1998) and allows for the
    correlation between paired clusters. p is two-sided and is computed by randomly swapping the two
    clusters in each pair.

    Parameters
    ----------
    first, second : array, (clusters, members)
        0, 1 or NaN, as in `clustered_rate`.
    rng
        Random generator for the swaps.
    draws
        Number of samples with random swaps.
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
    """Return the correlation between two arrays of cluster means, reduced by 1 / n if positive.

    The reduction is necessary because a correlation that is positive only by chance would make an
    interval too narrow.
    """
    if len(x) < 3 or x.std() == 0 or y.std() == 0:
        return 0.0
    correlation = float(np.corrcoef(x, y)[0, 1])
    return max(correlation - 1 / len(x), 0.0) if correlation > 0 else correlation


def rate_gap(
    first: ArrayLike, second: ArrayLike, level: float, name: str, correlation: float = 0.0
) -> Estimate:
    """Estimate the difference between two shares (`first` minus `second`), with a MOVER interval.

    Parameters
    ----------
    first, second : array, (clusters, members)
        0, 1 or NaN, as in `clustered_rate`.
    level
        Confidence level of the interval, in (0, 1).
    name
        Name of the interval method.
    correlation
        Correlation between the sampling errors of the two shares.
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
    """Estimate the rate of an event, and the floor of this rate: the rate without intervention.

    The floor is the rate that the measurement process itself causes. Under the null hypothesis, the
    rate equals the floor. `corrected` is (rate - floor) / (1 - floor). p is one-sided and is
    computed by randomly swapping `happened` and `floor` within clusters.

    Parameters
    ----------
    happened : array, (clusters, members)
        0, 1 or NaN, as in `clustered_rate`.
    floor : array, (clusters, members or 1)
        Results of the same measurement on the same clusters, without an intervention.
    rng
        Random generator for the swaps.
    draws
        Number of samples with random swaps.
    level
        Confidence level of the intervals, in (0, 1).

    Returns
    -------
    tuple of Estimate
        Estimates of the rate and of the floor.
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
    """Estimate the mean of the cluster means.

    The interval comes from a bootstrap over clusters. With fewer than three clusters there is no
    interval.

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
        Mean under the null hypothesis, or None for no test. The two-sided p-value
        is computed by randomly flipping the signs of the differences between the cluster means and
        `null`.
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
    """Estimate the difference between two means (`first` minus `second`).

    Only pairs in which both clusters have values are included. p is computed by randomly flipping
    the signs of the differences. The parameters are as in `clustered_rate_difference`, except that
    the values may be any numbers.
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
    """Check, for each cluster, whether any member has an answer."""
    return np.asarray(~np.isnan(x).all(axis=1))


def _means(x: Floats) -> Floats:
    return np.asarray(np.nanmean(x[_has_answer(x)], axis=1))


def _paired(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the cluster means of both arrays, using only rows in which both have values."""
    rows = min(len(x), len(y))
    x = x[:rows]
    y = y[:rows]
    both = _has_answer(x) & _has_answer(y)
    if not both.any():
        raise NotEnoughData("no pair of clusters has values in both sets")
    return _means(x[both]), _means(y[both])


def sign_flip_p(
    differences: Floats, rng: Generator, draws: int, *, one_sided: bool = False
) -> float:
    """Return the p-value of a sign-flip test of the hypothesis that the mean difference is 0.

    p = (1 + exceedances) / (1 + draws). Exceedances are the draws in which the mean is at least as
    far from 0 as the observed mean.

    Parameters
    ----------
    differences : array, (n,)
        The differences, in any order.
    rng
        Random generator for the signs.
    draws
        Number of draws.
    one_sided
        If True, count only draws whose mean is at least as large as the observed mean.
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
