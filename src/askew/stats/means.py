"""Means of independent numbers, such as the scores of several prompts or the differences of several
runs.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.intervals import TOLERANCE, array_of, ends, tail
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
    """The mean of independent numbers (n,) with Student's interval, if there are two, cut off at
    `bounds`.

    `interval` says what it is over; the mean is tested against `null`, two-sided. Raises
    NotEnoughData without a number, ValueError for more than one axis and for a number that is not
    finite.
    """
    x = array_of(numbers, "a mean", "(numbers)")
    if len(x) == 1:
        return Estimate(float(x[0]), n=1, missing=missing, null=null)
    error = float(x.std(ddof=1) / math.sqrt(len(x)))
    found = with_student(float(x.mean()), error, len(x) - 1, len(x), level, interval, null)
    low, high = np.clip(ends(found), *(bounds or (None, None))).tolist()
    return replace(found, low=low, high=high, missing=missing)


def mean_cas(scores: ArrayLike, apart: ArrayLike, level: float = 0.95) -> Estimate:
    """The mean CAS of a value over the prompts of a domain (TIBET, section 5.2).

    Of debiased CAS (prompts,). Student's interval over prompts, longer by the mean of `apart`
    (`Associations.apart`) downward and by twice that upward: whether sets differ in few concepts or
    in all is much the same for all prompts of a domain, so that no number of prompts makes up for
    it (docs/reference/calibration.md).
    """
    found = student_mean(scores, level, "t over prompts, both paths")
    off = float(np.asarray(apart, dtype=float).mean())
    low, high = ends(found)
    return replace(found, low=max(low - off, 0.0), high=min(high + 2 * off, 1.0))


def mean_cas_contrast(leans: ArrayLike, plug_ins: ArrayLike, level: float = 0.95) -> Estimate:
    """The mean lean of a value over the prompts of a domain: `mean_cas` for differences, tested
    against 0.

    Student's interval over prompts, longer away from 0 by as much as the mean was debiased. `leans`
    are (prompts,) debiased differences of CAS, `plug_ins` the same not debiased.
    """
    found = student_mean(leans, level, "t over prompts, further out", null=0.0)
    off, (low, high) = found.value - float(np.asarray(plug_ins, dtype=float).mean()), ends(found)
    return replace(found, low=max(low + min(off, 0.0), -1.0), high=min(high + max(off, 0.0), 1.0))


def with_student(
    value: float,
    error: float,
    freedom: float,
    n: int,
    level: float,
    interval: str,
    null: float | None = None,
) -> Estimate:
    """A mean and its standard error as an estimate, by Student's t with `freedom` degrees of
    freedom. p against `null` is two-sided; without any spread a mean is either the null itself or
    far from it.
    """
    reach = float(scipy.stats.t.isf(tail(level), freedom)) * error
    p = None
    if null is not None:
        far = abs(value - null)
        p = (
            float(2 * scipy.stats.t.sf(far / error, freedom))
            if error > TOLERANCE
            else float(far <= TOLERANCE)
        )
    return Estimate(value, value - reach, value + reach, level, interval, n, null=null, p=p)


def search_difference(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], level: float
) -> Estimate:
    """Mean loss of the best prompts of the second search less that of the first; below 0 the second
    is the better one.

    With two runs or more, each run is one pair, and the interval is for the mean difference between
    runs. A single run has nothing but its prompts: the interval then is for prompts like these, and
    says nothing of other runs.

    `first` and `second` are by run the losses of a search's best prompts, best on pictures that the
    search never saw. NotEnoughData is raised without a run, or for a run without a loss; ValueError
    for different numbers of runs.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} runs; they are compared in pairs")
    if not first or any(len(losses) == 0 for losses in (*first, *second)):
        raise NotEnoughData("a search without a measured prompt cannot be compared")
    if len(first) > 1:
        differences = [float(np.mean(b) - np.mean(a)) for a, b in zip(first, second, strict=True)]
        return student_mean(differences, level, "t over runs", null=0.0)
    a, b = (np.asarray(losses[0], dtype=float) for losses in (first, second))
    value = float(b.mean() - a.mean())
    n = min(len(a), len(b))
    if n < 2:
        return Estimate(value, n=n)
    parts = [float(x.var(ddof=1)) / len(x) for x in (a, b)]
    error = math.sqrt(sum(parts))
    shares = [part**2 / (len(x) - 1) for part, x in zip(parts, (a, b), strict=True)]
    freedom = sum(parts) ** 2 / sum(shares) if error else 1.0  # Welch's
    name = "Welch t over the best prompts of one run"
    return with_student(value, error, freedom, n, level, name, 0.0 if error else None)
