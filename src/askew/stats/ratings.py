"""Reliability of mean ratings from several people, and correlation of the ratings with a score.

Rated items that belong together, such as the axes of a prompt, form a cluster. Intervals come from
a jackknife over clusters (Arvesen 1969). The intervals are computed on Fisher's z scale with
Student's t.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.distributions import normal_isf, student_isf
from askew.stats.intervals import Floats, critical_value, fisher_interval, tail
from askew.stats.power import POWER
from askew.types import Estimate

LEAST_CLUSTERS = 4
"""Minimum number of clusters needed for the interval of a correlation."""

LARGEST_CORRELATION = 1 - 1e-6

Places = NDArray[np.int64]


def mean_reliability(ratings: ArrayLike) -> float:
    """Return the reliability of mean ratings, in [0, 1].

    The reliability is the share of the variance of mean ratings that another group of raters would
    reproduce. The reliability is computed as 1 - MSW / MSB in a one-way analysis of variance
    (ICC(1, k) of Shrout and Fleiss 1979).

    Parameters
    ----------
    ratings : array, (raters, items)
        Ratings; NaN where a rater did not rate an item.

    Raises
    ------
    NotEnoughData
        If fewer than two items have a rating, or no item has two ratings.
    """
    x = np.asarray(ratings, dtype=float)
    counts = (~np.isnan(x)).sum(axis=0)
    x = x[:, counts > 0]
    counts = counts[counts > 0]
    items = len(counts)
    total = int(counts.sum())
    if items < 2 or total <= items:
        raise NotEnoughData(
            "reliability needs at least two rated items, and two ratings of at least one of them"
        )
    means = np.nansum(x, axis=0) / counts
    mean = float((means * counts).sum() / total)
    between = float((counts * (means - mean) ** 2).sum()) / (items - 1)
    within = float(np.nansum((x - means) ** 2)) / (total - items)
    return max(1 - within / between, 0.0) if between > 0 else 0.0


def spearman_of(x: Floats, y: Floats) -> float:
    """Return Spearman's rank correlation, or NaN if all numbers in a list are equal."""
    return _correlation(scipy.stats.rankdata(x), scipy.stats.rankdata(y))


def kendall_of(x: Floats, y: Floats) -> float:
    """Return Kendall's tau-b, or NaN if all numbers in a list are equal."""
    if not np.ptp(x) or not np.ptp(y):
        return math.nan
    return float(scipy.stats.kendalltau(x, y).statistic)


def _correlation(x: Floats, y: Floats) -> float:
    if not np.ptp(x) or not np.ptp(y):
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


def jackknife_correlation(
    statistic: Callable[[Places], float], clusters: ArrayLike, level: float = 0.95
) -> Estimate:
    """Estimate a correlation, with an interval from a jackknife over clusters.

    Parameters
    ----------
    statistic
        Function that takes indexes of items and returns the correlation for these items, in [-1,
        1]. The function returns NaN if the correlation is undefined.
    clusters : array, (items,)
        Cluster of each item.
    level
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        The correlation, where `n` is the number of items. The correlation has no interval if there
        are fewer than four clusters.

    Raises
    ------
    NotEnoughData
        If the correlation is not defined.
    """
    numbers = np.unique(np.asarray(clusters), return_inverse=True)[1]
    places = np.arange(len(numbers))
    r = statistic(places)
    if len(numbers) < 3 or math.isnan(r):
        raise NotEnoughData(
            "a correlation needs at least three pairs, and different numbers in each list"
        )
    estimate = Estimate(value=r, n=len(numbers), null=0.0, max=1.0)
    count = int(numbers.max()) + 1
    without = np.array([statistic(places[numbers != each]) for each in range(count)])
    if count < LEAST_CLUSTERS or np.isnan(without).any():
        return estimate
    z = _fisher(r)
    left_out = _fisher(without)
    variance = (count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum())
    # a perfect correlation has no variance in the sample
    variance = max(variance, 1 / (len(numbers) * max(count - 3, 1)))
    reach = student_isf(tail(level), count - 1) * math.sqrt(variance)
    return Estimate(
        value=r,
        low=min(math.tanh(z - reach), r),
        high=max(math.tanh(z + reach), r),
        level=level,
        interval="jackknife over clusters",
        n=len(numbers),
        null=0.0,
        max=1.0,
    )


def _fisher(r: Any) -> Any:
    return np.arctanh(np.clip(r, -LARGEST_CORRELATION, LARGEST_CORRELATION))


def correlation_half_width(items: int, correlation: float = 0.5, level: float = 0.95) -> float:
    """Return the expected half-width of the interval for a rank correlation.

    The interval is a normal interval on Fisher's z scale. Its variance is (1 + r**2 / 2) / (n - 3),
    as proposed by Bonett and Wright (2000).

    Parameters
    ----------
    items
        Number n of rated items.
    correlation
        The correlation r, in (-1, 1).
    level
        Confidence level of the interval, in (0, 1).
    """
    if items <= 3:
        return 1.0
    error = math.sqrt((1 + correlation**2 / 2) / (items - 3))
    low, high = fisher_interval(correlation, error, level)
    return (high - low) / 2


def detectable_correlation(items: int, level: float = 0.95, power: float = POWER) -> float | None:
    """Return the minimum rank correlation that a two-sided test detects with this power.

    Parameters
    ----------
    items
        Number of rated items.
    level
        One minus the significance level, in (0, 1).
    power
        Probability of a significant result, in (0, 1).

    Returns
    -------
    float or None
        The correlation; None if there are fewer than four items.
    """
    if items <= 3:
        return None
    reach = critical_value(level) + normal_isf(1 - power)
    return math.tanh(reach * math.sqrt(1.06 / (items - 3)))
