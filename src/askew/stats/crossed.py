"""Estimate rates from judgments that several raters made about several items.

Both the raters and the items are samples from larger populations. Judgments by the same rater are
not independent, and neither are judgments about the same item. The variance of a rate is therefore
clustered by rater and by item (Cameron, Gelbach and Miller 2011).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats, critical_value, student_stretch
from askew.stats.shares import wilson
from askew.types import Estimate

ASSUMED_SHARE = 0.8
ASSUMED_ITEM_CORRELATION = 0.1
ASSUMED_RATER_CORRELATION = 0.05
"""Rate and correlations that askew assumes when it plans a study.

The two correlations are between judgments about the same item, and between judgments by the same
rater.
"""


def crossed_rate(happened: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Estimate the share of judgments in which an event occurred, in [0, 1].

    The interval is a Wilson interval at the effective sample size, which is the number of judgments
    divided by the design effect. The design effect is at least 1. With few raters or items, the
    effective sample size is reduced further, because Student's t with Satterthwaite's degrees of
    freedom replaces the normal quantile. If all judgments are equal, the effective sample size is
    the number of items.

    Parameters
    ----------
    happened : array, (raters, items, members)
        Judgments: 1 if the event occurred, 0 if not, NaN if there is no judgment. A rater judges
        all members of an item together.
    level
        Confidence level of the interval, in (0, 1).

    Raises
    ------
    NotEnoughData
        If there are no judgments.
    """
    x = np.asarray(happened, dtype=float)
    n = int((~np.isnan(x)).sum())
    if not n:
        raise NotEnoughData("there is no answer")
    share = float(np.nansum(x) / n)
    low, high = wilson(share, _effective(x, share, level), level)
    return Estimate(
        value=share,
        low=low,
        high=high,
        level=level,
        interval="Wilson, clustered by raters and items",
        n=n,
        max=1.0,
    )


def _effective(x: Floats, share: float, level: float) -> float:
    """Return the effective sample size: the equivalent number of independent judgments."""
    n = int((~np.isnan(x)).sum())
    judged = np.any(~np.isnan(x), axis=2)
    items = int(np.any(judged, axis=0).sum())
    raters = int(np.any(judged, axis=1).sum())
    if items == 1:
        return 1.0
    if share in (0.0, 1.0):
        return float(items)
    errors = np.nansum(x - share, axis=2)
    by_item = items / (items - 1) * float((errors.sum(axis=0) ** 2).sum())
    by_rater = 0.0
    if raters > 1:
        clustered = float((errors.sum(axis=1) ** 2).sum() - (errors**2).sum())
        by_rater = raters / (raters - 1) * max(clustered, 0.0)
    freedom = _freedom(by_item, items, by_rater, raters)
    effect = max((by_item + by_rater) / (n * share * (1 - share)), 1.0)
    stretch = student_stretch(level, freedom)
    return float(n / effect / stretch**2)


def _freedom(by_item: float, items: int, by_rater: float, raters: int) -> float:
    """Return Satterthwaite's degrees of freedom for the sum of two variances.

    If all items and all raters have the same mean judgment, both variances are 0. The function then
    returns the smallest possible degrees of freedom.
    """
    squares = by_item**2 / (items - 1) + by_rater**2 / max(raters - 1, 1)
    if squares == 0:
        return float(min(items - 1, max(raters - 1, 1)))
    return (by_item + by_rater) ** 2 / squares


def rate_half_width(
    items: int, members: int, per_item: int, raters: int, level: float = 0.95
) -> float:
    """Return the expected half-width of the interval for a rate of .8.

    The assumed correlation is .1 between judgments about the same item, and .05 between judgments
    by the same rater.

    Parameters
    ----------
    items, members
        Number of items, and number of members of each item.
    per_item
        Number of raters who judge each item.
    raters
        Number of raters.
    level
        Confidence level of the interval, in (0, 1).
    """
    judgments = items * members * per_item
    rest = 1 - ASSUMED_ITEM_CORRELATION - ASSUMED_RATER_CORRELATION
    share = rest / judgments
    share += ASSUMED_ITEM_CORRELATION / items + ASSUMED_RATER_CORRELATION / raters
    variance = ASSUMED_SHARE * (1 - ASSUMED_SHARE) * share
    return critical_value(level) * math.sqrt(variance)
