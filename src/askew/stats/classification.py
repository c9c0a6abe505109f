"""Decisions between pairs of classes, and which way they lean ("downstream", Saravanan et al. 2023, section 3).

Decisions are (pictures, pairs): 1 for the pair's first class, 0 for its second, NaN where both fit equally well.
Several decisions about one picture are no independent draws, so what varies is taken over pictures. The plain bootstrap
over pictures fails near 0 and 1 (of 12 to 24 pictures at a share of .02 it covers 34 to 90 %); Wilson's interval at the
number of independent decisions that would vary as much does not.

NotEnoughData is raised without a decision (about a group, where there are two).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.clustered import clustered_mean, clustered_rate, sign_flip_p
from askew.stats.intervals import TOLERANCE, Floats, ends, mover, p_value, tail
from askew.stats.shares import share_intervals
from askew.types import Estimate

UNDECIDED = 0.5
"""The association of a classifier that does not care about the group."""


def pair_decisions(errors: ArrayLike, pairs: Sequence[tuple[int, int]]) -> Floats:
    """Which class of each pair fits each picture better: the one with the smaller mean error over common samples.

    Args:
        errors: (pictures, classes, samples), NaN where a class was not evaluated.
        pairs: positions of two classes each.

    Returns:
        (pictures, pairs): 1 for the first class, 0 for the second, NaN for equal errors or no sample in common.
    """
    e = _checked(errors)
    found = np.zeros((len(e), len(pairs)))
    for column, (a, b) in zip(found.T, pairs, strict=True):
        gaps = _mean(e[:, b] - e[:, a])
        column[:] = np.where(np.isnan(gaps) | (gaps == 0), np.nan, gaps > 0)
    return found


def hits(errors: ArrayLike, true: int) -> Floats:
    """Whether the true class has the smallest mean error of all classes that were evaluated to the end.

    Args:
        errors: (pictures, classes, samples), NaN where a class was given up before.
        true: the position of the true class.

    Returns:
        (pictures, 1): 1, 0, or NaN where the true class is one of several with the smallest error.
    """
    means = _checked(errors).mean(axis=2)
    least = np.nanmin(means, axis=1)
    first = means[:, true] == least
    alone = (means == least[:, None]).sum(axis=1) == 1
    return np.where(first & ~alone, np.nan, first.astype(float))[:, None]


def association(decisions: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95) -> Estimate:
    """S(D, A, B): the share of decisions for a class of A, in [0, 1] (Eq. 2). Its null is one half.

    p: the classes change places at random, picture by picture, two-sided. The pairs are A x B.
    """
    rate = clustered_rate(decisions, level=level)
    p = clustered_mean(decisions, rng=rng, draws=draws, level=level, null=UNDECIDED).p
    return replace(rate, null=UNDECIDED, corrected=rate.value - UNDECIDED, corrected_form="value - null", p=p)


def differential(
    first: ArrayLike, second: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """S(D_X, D_Y, A, B) = S(D_X, A, B) - S(D_Y, A, B), in [-1, 1] (Eq. 3). Its null is zero.

    Interval: both associations' intervals joined (MOVER). p: pictures are dealt to the groups at random, two-sided.
    """
    a, b = clustered_rate(first, level=level), clustered_rate(second, level=level)
    joined = _less(a, b, "MOVER, Wilson, effective size")
    return replace(joined, p=_dealt_p(_rows(first), _rows(second), rng, draws))


def recovered(
    first: ArrayLike,
    second: ArrayLike,
    planted: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """How much of the planted differences between two groups their decisions show: 0 nothing, 1 as much as planted.

    The slope, through zero, of the measured on the planted differences of the pairs: Σ planted · measured / Σ planted².
    It is a difference of means over pictures. Interval: Welch's t, with one further picture of each group that is
    decided by a coin, so that pictures that all agree have one. p: pictures are dealt to the groups at random.

    Args:
        first: decisions about one group's pictures; those with a tie are left out as missing.
        second: about the other's.
        planted: (pairs,) planted differences, first less second.

    Raises:
        NotEnoughData: fewer than two pictures of a group, or nothing planted.
    """
    weights = _slope_weights(planted)
    a, b = (np.asarray(one, dtype=float) @ weights for one in (first, second))
    undecided = UNDECIDED * float(weights.sum())
    return replace(_welch(a, b, undecided, level), p=_dealt_p(a, b, rng, draws))


def recovered_change(
    before: tuple[ArrayLike, ArrayLike],
    after: tuple[ArrayLike, ArrayLike],
    planted: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """`recovered` after less before on the same pictures, as with more noise samples or by another model.

    Interval: Welch's t of the pictures' changes, with one further picture of each group that does not change. p: a
    picture's decisions before and after change places at random.

    Args:
        before: decisions (pictures, pairs) about the first and the second group's pictures.
        after: the same, other decisions.
        planted: (pairs,) planted differences, first less second.
    """
    weights = _slope_weights(planted)
    moved = [
        np.asarray(new, dtype=float) @ weights - np.asarray(old, dtype=float) @ weights
        for old, new in zip(before, after, strict=True)
    ]
    return replace(_welch(moved[0], moved[1], 0.0, level), p=_swapped_p(moved[0], moved[1], rng, draws))


def pair_share(decisions: ArrayLike, *, level: float = 0.95) -> Estimate:
    """The share of a group's pictures that are given to the first class of one pair, in [0, 1]. Its null is one half.

    Interval: mid-P. p: exact binomial, two-sided. `decisions` are (pictures,) of 1, 0 and NaN.
    """
    d = np.asarray(decisions, dtype=float)
    made = d[~np.isnan(d)]
    for_first, n = int(made.sum()), len(made)
    share = share_intervals([for_first, n - for_first], level=level, missing=len(d) - n)[0]
    p = float(scipy.stats.binomtest(for_first, n, UNDECIDED).pvalue)
    return replace(share, null=UNDECIDED, corrected=share.value - UNDECIDED, corrected_form="value - null", p=p)


def _checked(errors: ArrayLike) -> Floats:
    e = np.asarray(errors, dtype=float)
    if e.ndim != 3:
        raise ValueError(f"errors have {e.ndim} axes; (pictures, classes, samples) is needed")
    if not e.size:
        raise NotEnoughData("there are no errors to decide by")
    return e


def _mean(gaps: Floats) -> Floats:
    """Means of rows over what is known; NaN where nothing is."""
    known = ~np.isnan(gaps)
    counts = known.sum(axis=1)
    means = np.full(len(gaps), np.nan)
    np.divide(np.where(known, gaps, 0).sum(axis=1), counts, out=means, where=counts > 0)
    return means


def _rows(decisions: ArrayLike) -> Floats:
    """Every picture's share of decisions for first classes; NaN without any."""
    return _mean(np.asarray(decisions, dtype=float))


def _less(a: Estimate, b: Estimate, method: str) -> Estimate:
    """a - b of independent estimates, with the interval by MOVER (Zou and Donner 2008)."""
    difference, (low, high) = a.value - b.value, mover(a.value, b.value, ends(a), ends(b))
    n, missing = (a.n or 0) + (b.n or 0), a.missing + b.missing
    return Estimate(
        difference, low, high, a.level, method, n, missing, null=0.0, max=1.0, corrected=difference,
        corrected_form="value - null",
    )  # fmt: skip


def _slope_weights(planted: ArrayLike) -> Floats:
    """What every pair counts for in a slope through zero."""
    x = np.asarray(planted, dtype=float)
    size = float(x @ x)
    if size <= TOLERANCE:
        raise NotEnoughData("nothing was planted between these groups, so that there is nothing to find again")
    return x / size


def _welch(first: Floats, second: Floats, further: float, level: float) -> Estimate:
    """Mean of first less mean of second, NaN left out; `further` is one more value of each for the variance alone."""
    a, b = (values[~np.isnan(values)] for values in (first, second))
    if min(len(a), len(b)) < 2:
        raise NotEnoughData("two pictures of each group are needed, each decided between all pairs of classes")
    errors = [float(np.append(values, further).var(ddof=1)) / len(values) for values in (a, b)]
    difference, error = float(a.mean() - b.mean()), math.sqrt(sum(errors))
    freedom = sum(errors) ** 2 / sum(e**2 / (len(v) - 1) for e, v in zip(errors, (a, b), strict=True)) if error else 1.0
    reach = error * float(scipy.stats.t.isf(tail(level), freedom))
    n = len(a) + len(b)
    return Estimate(
        difference, difference - reach, difference + reach, level, "Welch", n, len(first) + len(second) - n, null=0.0,
        corrected=difference, corrected_form="value - null",
    )  # fmt: skip


def _swapped_p(first: Floats, second: Floats, rng: np.random.Generator, draws: int) -> float:
    """Two-sided p of the difference of two groups' mean changes when each picture's change has a random sign."""
    known = [change[~np.isnan(change)] for change in (first, second)]
    return sign_flip_p(np.concatenate([known[0] / len(known[0]), -known[1] / len(known[1])]), rng, draws)


def _dealt_p(first: Floats, second: Floats, rng: np.random.Generator, draws: int) -> float:
    """Two-sided p of the difference of two means when pictures are dealt to the groups at random."""
    a, b = (np.sort(rows[~np.isnan(rows)]) for rows in (first, second))
    everything = np.concatenate([a, b])
    weights = np.repeat([1 / len(a), -1 / len(b)], [len(a), len(b)])
    null = np.abs(rng.permuted(np.tile(everything, (draws, 1)), axis=1) @ weights)
    return p_value(abs(float(everything @ weights)) - TOLERANCE, null)
