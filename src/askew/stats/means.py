"""Means of independent numbers, such as the scores of several prompts or the differences of several runs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from askew.errors import NotEnoughData
from askew.stats.intervals import tail
from askew.types import Estimate


def student_mean(
    numbers: ArrayLike, level: float, interval: str, *, missing: int = 0, null: float | None = None
) -> Estimate:
    """The mean of independent numbers with Student's interval.

    Args:
        numbers: (n,) finite numbers. A single one has no interval.
        interval: what the interval is over, for the reader.
        missing: numbers that could not be had.
        null: the mean to test against, two-sided; None tests nothing.

    Raises:
        NotEnoughData: there is no number.
        ValueError: not one axis, or a number that is not finite.
    """
    x = np.asarray(numbers, dtype=float)
    if x.ndim != 1 or not np.all(np.isfinite(x)):
        raise ValueError("a mean takes one list of finite numbers")
    if len(x) == 0:
        raise NotEnoughData("a mean needs at least one number")
    if len(x) == 1:
        return Estimate(float(x[0]), n=1, missing=missing, null=null)
    error = float(x.std(ddof=1) / math.sqrt(len(x)))
    return with_student(float(x.mean()), error, len(x) - 1, len(x), level, interval, missing=missing, null=null)


def with_student(
    value: float,
    error: float,
    freedom: float,
    n: int,
    level: float,
    interval: str,
    *,
    missing: int = 0,
    null: float | None = None,
) -> Estimate:
    """A mean and its standard error as an estimate, by Student's t with `freedom` degrees of freedom."""
    reach = float(stats.t.isf(tail(level), freedom)) * error
    p = None if null is None else _p(abs(value - null), error, freedom)
    return Estimate(value, value - reach, value + reach, level, interval, n=n, missing=missing, null=null, p=p)


def _p(distance: float, error: float, freedom: float) -> float:
    """Two-sided; without any spread a mean is either the null itself or far from it."""
    if error > 0:
        return float(2 * stats.t.sf(distance / error, freedom))
    return 1.0 if distance == 0 else 0.0
