"""Means of independent numbers, such as the scores of several prompts or runs."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.clustered import sign_flip_p
from askew.stats.distributions import student_isf, student_sf
from askew.stats.intervals import LEAST_IMAGES, TOLERANCE, Floats, array_of, ends, tail
from askew.types import Estimate

MOST_ENUMERATED = 12
"""Maximum number of differences for which all sign flips are enumerated."""

SIGN_DRAWS = 10_000
"""Number of random sign flips if there are too many differences to enumerate all flips."""


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
        Numbers to average. There is no interval or p-value for a single number, or for two
        equal numbers.
    level
        Confidence level of the interval, in (0, 1).
    interval
        Name of the interval method.
    missing
        Number of missing values. It is reported but does not affect the estimate.
    null
        Mean under the null hypothesis of the two-sided test.
    bounds
        Minimum and maximum possible mean. The interval is clipped to this range.

    Raises
    ------
    NotEnoughData
        If there are no numbers.
    ValueError
        If `numbers` has more than one dimension, or a number is not finite.
    """
    x = array_of(numbers, "a mean", "(numbers)")
    if len(x) == 1 or (len(x) < LEAST_IMAGES and np.ptp(x) <= TOLERANCE):
        return Estimate(float(x.mean()), n=len(x), missing=missing, null=null)
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


def prompt_mean(
    numbers: ArrayLike,
    errors: ArrayLike,
    level: float = 0.95,
    *,
    missing: int = 0,
    bounds: tuple[float, float] | None = None,
    rng: Generator | None = None,
) -> Estimate:
    """Estimate a mean over prompts, where the number for each prompt has a measurement error.

    askew computes two standard errors: one from the spread between prompts, and one from the errors
    within prompts. askew uses the larger standard error, because the numbers of a few prompts can
    agree by chance. The interval is Student's t.

    Parameters
    ----------
    numbers : array, (prompts,)
        The number for each prompt. A single number has no interval.
    errors : array, (prompts,)
        Standard error of each number.
    level
        Confidence level of the interval, in (0, 1).
    missing
        Number of missing values. It is reported but does not affect the estimate.
    bounds
        Minimum and maximum possible mean. The interval is clipped to this range.
    rng
        Random generator for the sign flips of a two-sided test of the mean against 0; None for no
        test. For at most 12 numbers, all sign flips are enumerated, and p is the mid-p, which is at
        least 1 / 2**prompts.

    Raises
    ------
    NotEnoughData
        If there are no numbers.
    """
    mean = student_mean(numbers, level, "t over prompts", missing=missing, bounds=bounds)
    x = np.asarray(numbers, dtype=float)
    if len(x) == 1:
        return mean if rng is None else replace(mean, null=0.0)
    within = float(np.linalg.norm(errors)) / len(x)
    widened = with_student(
        value=mean.value,
        error=max(float(x.std(ddof=1)) / math.sqrt(len(x)), within),
        freedom=len(x) - 1,
        n=len(x),
        level=level,
        interval="t over prompts, at least the error within prompts",
    )
    low, high = np.clip(ends(widened), *(bounds or (-np.inf, np.inf))).tolist()
    widened = replace(widened, low=low, high=high, missing=missing)
    return widened if rng is None else replace(widened, null=0.0, p=_mean_p(x, rng))


def _mean_p(x: Floats, rng: Generator) -> float:
    """Return the mid-p from all sign flips or, for many numbers, the p-value from random flips."""
    if len(x) > MOST_ENUMERATED:
        return sign_flip_p(x, rng, SIGN_DRAWS)
    signs = np.array(list(product((-1.0, 1.0), repeat=len(x))))
    excess = np.abs(signs @ np.sort(x)) - abs(x.sum())
    return float(np.mean(excess > TOLERANCE) + np.mean(np.abs(excess) <= TOLERANCE) / 2)


def mean_cas(scores: ArrayLike, apart: ArrayLike, level: float = 0.95) -> Estimate:
    """Estimate the mean CAS of a value over the prompts of a domain (TIBET, section 5.2).

    The interval is Student's interval over prompts, extended downward by the mean of `apart` and
    upward by twice this mean. This extension covers an error that is similar for all prompts of a
    domain: the images do not reveal whether two sets differ in only a few concepts or in all of
    them. Adding prompts does not reduce this error (docs/reference/calibration.md).

    Parameters
    ----------
    scores : array, (prompts,)
        Debiased CAS of the value for each prompt.
    apart : array, (prompts,)
        Possible error of each debiased CAS (`Associations.apart`).
    level
        Confidence level of the interval, in (0, 1).
    """
    mean = student_mean(scores, level, "t over prompts, both paths")
    if mean.interval is None:
        return mean
    extension = float(np.asarray(apart, dtype=float).mean())
    low, high = ends(mean)
    return replace(mean, low=max(low - extension, 0.0), high=min(high + 2 * extension, 1.0))


def mean_cas_contrast(contrasts: ArrayLike, plug_ins: ArrayLike, level: float = 0.95) -> Estimate:
    """Estimate the mean CAS contrast of a value over the prompts of a domain, tested against 0.

    The interval is Student's interval over prompts. This interval is extended by the mean bias
    correction, in the direction of that correction.

    Parameters
    ----------
    contrasts : array, (prompts,)
        Debiased CAS contrast of the value for each prompt.
    plug_ins : array, (prompts,)
        The same contrasts without bias correction.
    level
        Confidence level of the interval, in (0, 1).
    """
    mean = student_mean(contrasts, level, "t over prompts, further out", null=0.0)
    if mean.interval is None:
        return mean
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
    """Return an estimate with Student's interval, given a mean and its standard error.

    Parameters
    ----------
    value, error
        The mean and its standard error.
    freedom
        Degrees of freedom.
    n
        Number of observations.
    level
        Confidence level of the interval, in (0, 1).
    interval
        Name of the interval method.
    null
        Mean under the null hypothesis of the two-sided test. With a standard error of 0, p is 1 if
        the mean equals the null value, and 0 otherwise.
    """
    reach = student_isf(tail(level), freedom) * error
    p = None
    if null is not None:
        distance = abs(value - null)
        if error > TOLERANCE:
            p = 2 * student_sf(distance / error, freedom)
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
    """Estimate how much the mean loss of the best prompts differs between two searches.

    The value is the difference in mean loss between the searches (second minus first). If the
    difference is below 0, the second search is better. With two or more runs, the searches are
    paired by run, and the interval is for the mean difference over runs. With a single run, the
    interval is for the mean difference over similar prompts, and does not account for the variation
    between runs.

    Parameters
    ----------
    first, second
        For each run of the search, the losses of the run's best prompts, measured on held-out
        images.
    level
        Confidence level of the interval, in (0, 1).

    Raises
    ------
    NotEnoughData
        If there are no runs, or a run has no losses.
    ValueError
        If the two searches have different numbers of runs.
    """
    if len(first) != len(second):
        raise ValueError(
            f"the searches have {len(first)} and {len(second)} runs, but runs are compared in pairs"
        )
    if not first or any(len(losses) == 0 for losses in (*first, *second)):
        raise NotEnoughData("a search without a measured prompt cannot be compared")
    if len(first) > 1:
        differences = [float(np.mean(b) - np.mean(a)) for a, b in zip(first, second, strict=True)]
        return student_mean(differences, level, "t over runs", null=0.0)
    return _prompt_difference(
        np.asarray(first[0], dtype=float), np.asarray(second[0], dtype=float), level
    )


def _prompt_difference(a: Floats, b: Floats, level: float) -> Estimate:
    """Return the mean of `b` minus the mean of `a`, with Welch's interval over prompts."""
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
