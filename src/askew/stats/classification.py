"""Decisions between pairs of classes, and which way they lean ("downstream", Saravanan et al. 2023,
section 3).

Decisions are (pictures, pairs): 1 for the pair's first class, 0 for its second, NaN where both fit
equally well. Several decisions about one picture are no independent draws, so intervals are
Wilson's at the number of independent decisions that would vary as much over pictures: the plain
bootstrap fails near 0 and 1. NotEnoughData is raised without a decision (about a group, where there
are two).
"""

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.stats.clustered import clustered_mean, clustered_rate, rate_gap
from askew.stats.intervals import TOLERANCE, Floats, array_of, less_null, p_value
from askew.stats.shares import share_intervals
from askew.types import Estimate

UNDECIDED = 0.5
"""The association of a classifier that does not care about the group."""


def pair_decisions(errors: ArrayLike, pairs: Sequence[tuple[int, int]]) -> Floats:
    """Which class of each pair fits each picture better: the one with the smaller mean error over
    common samples.

    `errors` are (pictures, classes, samples), NaN where a class was not evaluated; `pairs`
    positions of two classes. Returns decisions (pictures, pairs), NaN for equal errors or no sample
    in common.
    """
    e = _checked(errors)
    found = np.zeros((len(e), len(pairs)))
    for column, (a, b) in zip(found.T, pairs, strict=True):
        gaps = _mean(e[:, b] - e[:, a])
        column[:] = np.where(np.isnan(gaps) | (gaps == 0), np.nan, gaps > 0)
    return found


def hits(errors: ArrayLike, true: int) -> Floats:
    """Whether the class at the place `true` has the smallest mean error of all that were evaluated
    to the end.

    `errors` are (pictures, classes, samples), NaN where a class was given up before. Returns
    (pictures, 1): 1, 0, or NaN where the true class is one of several with the smallest error.
    """
    means = _checked(errors).mean(axis=2)
    least = np.nanmin(means, axis=1)
    first = means[:, true] == least
    several = (means == least[:, None]).sum(axis=1) > 1
    return np.where(first & several, np.nan, first.astype(float))[:, None]


def association(
    decisions: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """S(D, A, B): the share of decisions for a class of A, in [0, 1] (Eq. 2). Its null is one half.

    p: the classes change places at random, picture by picture, two-sided. The pairs are A x B.
    """
    rate = clustered_rate(decisions, level=level)
    p = clustered_mean(decisions, rng=rng, draws=draws, level=level, null=UNDECIDED).p
    return less_null(rate, UNDECIDED, p)


def differential(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """S(D_X, D_Y, A, B) = S(D_X, A, B) - S(D_Y, A, B), in [-1, 1] (Eq. 3). Its null is zero.

    Interval: both associations' intervals joined (MOVER). p: pictures are dealt to the groups at
    random, two-sided.
    """
    found = rate_gap(first, second, level, "MOVER, Wilson, effective size")
    x, y = (_mean(np.asarray(side, dtype=float)) for side in (first, second))
    return less_null(found, 0.0, dealt_p(x[~np.isnan(x)], y[~np.isnan(y)], rng, draws))


def pair_share(decisions: ArrayLike, *, level: float = 0.95) -> Estimate:
    """The share of a group's pictures that are given to the first class of one pair, in [0, 1]. Its
    null is one half.

    Interval: mid-P. p: exact binomial, two-sided. `decisions` are (pictures,) of 1, 0 and NaN.
    """
    d = np.asarray(decisions, dtype=float)
    made = d[~np.isnan(d)]
    for_first = int(made.sum())
    n = len(made)
    share = share_intervals([for_first, n - for_first], level=level, missing=len(d) - n)[0]
    return less_null(share, UNDECIDED, float(scipy.stats.binomtest(for_first, n, UNDECIDED).pvalue))


def _checked(errors: ArrayLike) -> Floats:
    return array_of(errors, "an array of errors", "(pictures, classes, samples)", finite=False)


def _mean(gaps: Floats) -> Floats:
    """Means of rows over what is known; NaN where nothing is."""
    counts = (~np.isnan(gaps)).sum(axis=1)
    sums = np.nansum(gaps, axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(gaps), np.nan), where=counts > 0))


def dealt_p(first: Floats, second: Floats, rng: np.random.Generator, draws: int) -> float:
    """Two-sided p of the difference of two means when pictures are dealt to the groups at random."""
    everything = np.concatenate([np.sort(first), np.sort(second)])
    weights = np.repeat([1 / len(first), -1 / len(second)], [len(first), len(second)])
    null = np.abs(rng.permuted(np.tile(everything, (draws, 1)), axis=1) @ weights)
    return p_value(abs(float(everything @ weights)) - TOLERANCE, null)
