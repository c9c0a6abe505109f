"""Means of independent numbers, such as scores of several prompts or of several runs."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.intervals import TOLERANCE, Floats, array_of, ends, tail
from askew.types import Estimate


def student_mean(
    numbers: ArrayLike,
    level: float = 0.95,
    interval: str = "Student's t",
    *,
    missing: int = 0,
    null: float | None = None,
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """Estimate the mean of independent numbers with Student's interval.

    Parameters
    ----------
    numbers : array, (n,)
        The numbers. A single number has no interval.
    level
        Level of the interval, in (0, 1).
    interval
        Name of the interval's method.
    missing
        Numbers that are missing, which are only recorded.
    null
        Mean under the null, tested two-sided.
    bounds
        Smallest and largest possible mean, at which the interval is cut.

    Raises
    ------
    NotEnoughData
        If there is no number.
    ValueError
        If there is more than one axis, or a number is not finite.
    """
    x = array_of(numbers, "a mean", "(numbers)")
    if len(x) == 1:
        return Estimate(float(x[0]), n=1, missing=missing, null=null)
    error = float(x.std(ddof=1) / math.sqrt(len(x)))
    mean = with_student(
        value=float(x.mean()),
        error=error,
        freedom=len(x) - 1,
        n=len(x),
        level=level,
        interval=interval,
        null=null,
    )
    low, high = ends(mean)
    if bounds is not None:
        low, high = np.clip((low, high), *bounds).tolist()
    return replace(mean, low=low, high=high, missing=missing)


def mean_cas(scores: ArrayLike, apart: ArrayLike, level: float = 0.95) -> Estimate:
    """Estimate the mean CAS of a value over the prompts of a domain (TIBET, section 5.2).

    Student's interval over prompts, extended downward by the mean of `apart` and upward by twice
    this mean. Whether sets differ in few or in all concepts is similar for all prompts of a domain,
    so more prompts do not reduce this error (docs/reference/calibration.md).

    Parameters
    ----------
    scores : array, (prompts,)
        Debiased CAS.
    apart : array, (prompts,)
        `Associations.apart` of the value.
    level
        Level of the interval, in (0, 1).
    """
    mean = student_mean(scores, level, "t over prompts, both paths")
    extension = float(np.asarray(apart, dtype=float).mean())
    low, high = ends(mean)
    return replace(mean, low=max(low - extension, 0.0), high=min(high + 2 * extension, 1.0))


def mean_cas_contrast(contrasts: ArrayLike, plug_ins: ArrayLike, level: float = 0.95) -> Estimate:
    """Estimate the mean CAS contrast of a value over the prompts of a domain, tested against 0.

    Student's interval over prompts, extended away from 0 by the amount of the bias correction.

    Parameters
    ----------
    contrasts : array, (prompts,)
        Debiased contrasts of CAS.
    plug_ins : array, (prompts,)
        The same contrasts without bias correction.
    level
        Level of the interval, in (0, 1).
    """
    mean = student_mean(contrasts, level, "t over prompts, further out", null=0.0)
    shift = mean.value - float(np.asarray(plug_ins, dtype=float).mean())
    low, high = ends(mean)
    return replace(
        mean, low=max(low + min(shift, 0.0), -1.0), high=min(high + max(shift, 0.0), 1.0)
    )


def with_student(
    value: float,
    error: float,
    freedom: float,
    n: int,
    level: float,
    interval: str,
    null: float | None = None,
) -> Estimate:
    """Make an estimate of a mean and its standard error, by Student's t.

    Parameters
    ----------
    value, error
        The mean and its standard error.
    freedom
        Degrees of freedom.
    n
        Number of observations.
    level
        Level of the interval, in (0, 1).
    interval
        Name of the interval's method.
    null
        Mean under the null; p is two-sided. Without spread, the mean either equals the null, or p
        is 0.
    """
    reach = float(scipy.stats.t.isf(tail(level), freedom)) * error
    p = None
    if null is not None:
        distance = abs(value - null)
        if error > TOLERANCE:
            p = float(2 * scipy.stats.t.sf(distance / error, freedom))
        else:
            p = float(distance <= TOLERANCE)
    return Estimate(
        value=value,
        low=value - reach,
        high=value + reach,
        level=level,
        interval=interval,
        n=n,
        null=null,
        p=p,
    )


def search_difference(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], level: float
) -> Estimate:
    """Estimate the mean loss of the second search's best prompts minus that of the first search.

    Below 0 the second search is better. With two runs or more, each run is a pair, and the interval
    is for the mean difference between runs. With a single run, the interval is for similar prompts,
    and does not cover other runs.

    Parameters
    ----------
    first, second
        Losses of a search's best prompts by run, on images that the search did not use.
    level
        Level of the interval, in (0, 1).

    Raises
    ------
    NotEnoughData
        If there is no run, or a run has no loss.
    ValueError
        If the numbers of runs differ.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} runs; they are compared in pairs")
    if not first or any(len(losses) == 0 for losses in (*first, *second)):
        raise NotEnoughData("a search without a measured prompt cannot be compared")
    if len(first) > 1:
        differences = [float(np.mean(b) - np.mean(a)) for a, b in zip(first, second, strict=True)]
        return student_mean(differences, level, "t over runs", null=0.0)
    return _prompt_difference(
        np.asarray(first[0], dtype=float), np.asarray(second[0], dtype=float), level
    )


def _prompt_difference(a: Floats, b: Floats, level: float) -> Estimate:
    """Return the mean of b minus the mean of a, with Welch's interval over prompts."""
    value = float(b.mean() - a.mean())
    n = min(len(a), len(b))
    if n < 2:
        return Estimate(value=value, n=n)
    parts = [float(x.var(ddof=1)) / len(x) for x in (a, b)]
    error = math.sqrt(sum(parts))
    shares = [part**2 / (len(x) - 1) for part, x in zip(parts, (a, b), strict=True)]
    return with_student(
        value=value,
        error=error,
        freedom=sum(parts) ** 2 / sum(shares) if error else 1.0,
        n=n,
        level=level,
        interval="Welch t over the best prompts of one run",
        null=0.0 if error else None,
    )
