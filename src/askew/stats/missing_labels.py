"""Shares in all images, including images whose labels are missing for unknown reasons.

askew assumes nothing about why labels are missing. The reason may depend on the true value, so each
missing label may stand for any value. So even infinitely many images would show only that the share
of a value lies between two bounds.
"""

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.distributions import normal_cdf, normal_sf
from askew.stats.intervals import Floats, critical_value, tail
from askew.stats.shares import axis_counts, share_end

WIDEST = 40.0
"""Maximum distance between the two bounds, in standard errors; larger ones are reduced to it."""


def worst_case_intervals(
    counts: ArrayLike, missing: int, *, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return intervals for the shares in all images, regardless of why labels are missing.

    For the lower bound of a value's share, no missing label counts as this value. For the upper
    bound, all missing labels count as this value. The ends of the interval follow Imbens and Manski
    (2004, Eq. 6 and 7), but are mid-P limits instead of normal limits. The interval contains the
    true share with probability `level`, regardless of where the true share lies between the two
    bounds. If no labels are missing, the interval equals the interval from `share_intervals`.

    Parameters
    ----------
    counts : array, (K,)
        Number of images with each label.
    missing
        Number of images without a label.
    level
        Confidence level of the intervals, in (0, 1).

    Returns
    -------
    tuple of array, (K,)
        Low ends and high ends of the intervals.
    """
    if missing < 0:
        raise ValueError(f"missing is {missing}; it cannot be negative")
    c = axis_counts(counts)
    n = int(c.sum()) + missing
    lows = []
    highs = []
    for count in c.tolist():
        outer = imbens_manski_tail(count / n, (count + missing) / n, n, level)
        lows.append(1 - share_end(n - count, n, 1 - 2 * outer))
        highs.append(share_end(count + missing, n, 1 - 2 * outer))
    return np.array(lows), np.array(highs)


def imbens_manski_tail(lowest: float, highest: float, n: int, level: float) -> float:
    """Return the tail probability on each side of an interval for a share with missing labels.

    The probability is (1 - level) / 2 if both bounds are equal. The probability rises to 1 - level
    if the bounds are far apart, because the true share can then be close to only one bound.

    Parameters
    ----------
    lowest, highest
        Lower and upper bound of the share in these images.
    n
        Number of images.
    level
        Confidence level of the interval, in (0, 1).
    """
    if lowest == highest:
        return tail(level)
    error = math.sqrt(max(lowest * (1 - lowest), highest * (1 - highest)) / n)
    width = WIDEST
    if error > 0:
        width = min((highest - lowest) / error, WIDEST)

    def excess(z: float) -> float:
        covered = normal_cdf(z + width) - normal_cdf(-z)
        return float(covered - level)

    widest = critical_value(level)
    return normal_sf(scipy.optimize.brentq(excess, 0.0, widest + 1e-9))


def closest_counts(counts: ArrayLike, missing: int, reference: ArrayLike) -> Floats:
    """Fill in missing labels so that the counts are as close as possible to a reference.

    Each missing label in turn is assigned to the value with the smallest ratio of (count + 0.5) to
    the expected share. This procedure minimizes Pearson's statistic, which is a sum of convex
    terms.

    Parameters
    ----------
    counts : array, (K,)
        Number of images with each label.
    missing
        Number of images without a label.
    reference : array, (K,)
        Expected shares.
    """
    filled = axis_counts(counts).copy()
    expected = np.asarray(reference, dtype=float)
    for _ in range(missing):
        with np.errstate(divide="ignore"):
            filled[int(np.argmin((filled + 0.5) / expected))] += 1
    return filled
