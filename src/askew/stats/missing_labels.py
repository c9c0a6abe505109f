"""Shares and tests if labels are missing for reasons that may depend on the missing label.

Nothing is assumed about these reasons: each missing label may be any value. The share of a value
among all images is then known to lie between two bounds, even with infinitely many images.
"""

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.intervals import Floats, tail
from askew.stats.shares import axis_counts, share_end

WIDEST = 40.0
"""Largest width of the bounds, in standard errors, at which the tail is computed."""


def worst_case_intervals(
    counts: ArrayLike, missing: int, *, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return intervals of the shares of all images, for any reason why labels are missing.

    The lowest share counts no missing label as the value, and the highest share counts all. The
    ends are those of Imbens and Manski (2004, Eq. 6 and 7) with mid-P limits instead of normal ones: the
    interval contains the true share with probability `level`, wherever the share is between its
    bounds. Without missing labels it is the interval of `share_intervals`.

    Parameters
    ----------
    counts : array, (K,)
        Images by label.
    missing
        Images without a label.
    level
        Confidence level of the intervals, in (0, 1).

    Returns
    -------
    tuple of array, (K,)
        Low and high ends.
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
    """Return the probability that is left out beyond each bound of a share.

    It is (1 - level) / 2 if both bounds are equal. It rises to 1 - level if they are far apart,
    since the true share is then near one bound at most.

    Parameters
    ----------
    lowest, highest
        Observed bounds of a share.
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
        covered = scipy.stats.norm.cdf(z + width) - scipy.stats.norm.cdf(-z)
        return float(covered - level)

    widest = float(scipy.stats.norm.isf(tail(level)))
    return float(scipy.stats.norm.sf(scipy.optimize.brentq(excess, 0.0, widest + 1e-9)))


def closest_counts(counts: ArrayLike, missing: int, reference: ArrayLike) -> Floats:
    """Return the counts of all images if missing labels make them as close to a reference as possible.

    Each missing label in turn is given the value with the smallest ratio of its next count to its
    expected count. This minimizes Pearson's statistic, which is a sum of convex terms.

    Parameters
    ----------
    counts : array, (K,)
        Images by label.
    missing
        Images without a label.
    reference : array, (K,)
        Expected shares.
    """
    filled = axis_counts(counts).copy()
    expected = np.asarray(reference, dtype=float)
    for _ in range(missing):
        with np.errstate(divide="ignore"):
            filled[int(np.argmin((filled + 0.5) / expected))] += 1
    return filled
