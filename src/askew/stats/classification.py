"""Bias in decisions between two classes (Saravanan et al. 2023, section 3).

Decisions are an array of shape (images, pairs): 1 for the first class of the pair, 0 for the second
class, and NaN where both classes fit equally well. Several decisions about the same image are not
independent draws. So askew computes Wilson intervals at the effective sample size. This is the
number of independent decisions that would give a share with the same variance as the observed
share. An ordinary bootstrap fails for shares near 0 and 1. Functions raise NotEnoughData if a group
has no decisions.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.clustered import (
    clustered_mean,
    clustered_rate,
    clustered_rate_difference,
    rate_gap,
)
from askew.stats.distributions import sign_test
from askew.stats.intervals import TOLERANCE, Floats, array_of, ends, less_null, mover, p_value
from askew.stats.shares import share_intervals
from askew.types import Estimate

UNDECIDED = 0.5
"""Expected association if a classifier's decisions do not depend on the group."""


def pair_decisions(errors: ArrayLike, pairs: Sequence[tuple[int, int]]) -> Floats:
    """Choose, for each image and each pair of classes, the class with the smaller mean error.

    The mean is taken over the samples on which both classes were evaluated.

    Parameters
    ----------
    errors : array, (images, classes, samples)
        Error of each class on each sample; NaN where the class was not evaluated.
    pairs
        Positions of the two classes in each pair.

    Returns
    -------
    array, (images, pairs)
        Decisions: 1 if the first class is chosen, 0 if the second class is chosen, NaN if the mean
        errors are equal or no sample was evaluated for both classes.
    """
    e = _checked(errors)
    decisions = np.zeros((len(e), len(pairs)))
    for column, (a, b) in zip(decisions.T, pairs, strict=True):
        gaps = _mean(e[:, b] - e[:, a])
        column[:] = np.where(np.isnan(gaps) | (gaps == 0), np.nan, gaps > 0)
    return decisions


def hits(errors: ArrayLike, true: int) -> Floats:
    """Check, for each image, whether the true class has the smallest mean error.

    Parameters
    ----------
    errors : array, (images, classes, samples)
        Error of each class on each sample; NaN where the evaluation of the class stopped early.
        Such a class is left out of the comparison for this image.
    true
        Position of the true class among the classes.

    Returns
    -------
    array, (images, 1)
        Hits: 1 if only the true class has the smallest error, NaN if it ties with another class,
        and 0 if another class has a smaller error.
    """
    means = _checked(errors).mean(axis=2)
    least = np.nanmin(means, axis=1)
    first = means[:, true] == least
    several = (means == least[:, None]).sum(axis=1) > 1
    return np.where(first & several, np.nan, first.astype(float))[:, None]


def association(
    decisions: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Estimate S(D, A, B), the share of decisions for a class in A (Saravanan et al., Eq. 2).

    S is in [0, 1], and its null value is 1/2. p is two-sided. The test randomly chooses images, and
    swaps A and B in all decisions about each chosen image.

    Parameters
    ----------
    decisions : array, (images, pairs)
        1, 0 or NaN for each pair of a class in A and a class in B.
    rng
        Random generator for the swaps.
    draws
        Number of samples with random swaps.
    level
        Confidence level of the interval, in (0, 1).
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
    """Estimate the difference between the associations of two groups (Saravanan et al., Eq. 3).

    S(D_X, D_Y, A, B) = S(D_X, A, B) - S(D_Y, A, B) is in [-1, 1], and its null value is 0. The
    interval combines the intervals of both associations (MOVER). p is two-sided and is computed by
    randomly assigning images to the groups.

    Parameters
    ----------
    first, second : array, (images, pairs)
        Decisions about the images of group X and of group Y: 1, 0 or NaN.
    rng
        Random generator for the assignments.
    draws
        Number of assignments.
    level
        Confidence level of the interval, in (0, 1).
    """
    gap = rate_gap(first, second, level, "MOVER, Wilson, effective size")
    return less_null(gap, 0.0, dealt_p(image_means(first), image_means(second), rng, draws))


def rate_change(
    after: ArrayLike,
    before: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Estimate how much the rate of decisions for the first class changes on the same images.

    The change lies in [-1, 1]. A decision is included only if it is known both before and after the
    change. The null value is zero. p is two-sided and is computed by randomly flipping the sign of
    each image's mean change.

    Parameters
    ----------
    after, before : array, (images, pairs)
        Decisions about the same images, after and before the change: 1, 0 or NaN.
    rng
        Random generator for the signs.
    draws
        Number of draws.
    level
        Confidence level of the interval, in (0, 1).
    """
    known_after, known_before = _known_in_both(after, before)
    return clustered_rate_difference(known_after, known_before, rng=rng, draws=draws, level=level)


def differential_change(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Estimate how much the difference between two associations changes (Saravanan et al., Eq. 3).

    The estimate is the difference in change between the groups (first minus second). The estimate
    lies in [-2, 2], and its null value is 0. The interval combines the intervals of both changes
    (MOVER). p is two-sided and is computed by randomly assigning images, with their mean changes,
    to the groups.

    Parameters
    ----------
    first, second : tuple of array, (images, pairs)
        Decisions about the images of each group: first the decisions after the change, then the
        decisions before the change.
    rng
        Random generator for the assignments.
    draws
        Number of assignments.
    level
        Confidence level of the interval, in (0, 1).
    """
    x, y = (rate_change(*both, rng=rng, draws=1, level=level) for both in (first, second))
    low, high = mover(x.value, y.value, ends(x), ends(y))
    gap = Estimate(
        value=x.value - y.value,
        low=max(low, -2.0),
        high=min(high, 2.0),
        level=level,
        interval="MOVER, Wilson, paired",
        n=(x.n or 0) + (y.n or 0),
        missing=x.missing + y.missing,
        max=2.0,
    )
    changes = [_image_changes(*decisions) for decisions in (first, second)]
    return less_null(gap, 0.0, dealt_p(changes[0], changes[1], rng, draws))


def _known_in_both(after: ArrayLike, before: ArrayLike) -> tuple[Floats, Floats]:
    """Return both arrays, with NaN wherever a decision is missing in either array."""
    x = np.asarray(after, dtype=float)
    y = np.asarray(before, dtype=float)
    missing = np.isnan(x) | np.isnan(y)
    return np.where(missing, np.nan, x), np.where(missing, np.nan, y)


def image_means(decisions: ArrayLike) -> Floats:
    """Return the mean decision about each image that has at least one known decision."""
    means = _mean(np.asarray(decisions, dtype=float))
    return np.asarray(means[~np.isnan(means)])


def _image_changes(after: ArrayLike, before: ArrayLike) -> Floats:
    """Return the mean change for each image that has at least one known change."""
    return image_means(np.asarray(after, dtype=float) - np.asarray(before, dtype=float))


def pair_share(decisions: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Estimate the share of a group's images that are assigned to the first class of a pair.

    The share is in [0, 1], and its null value is 1/2. The interval is a mid-P interval, and p comes
    from the exact two-sided binomial test.

    Parameters
    ----------
    decisions : array, (images,)
        Decisions about the group's images: 1, 0 or NaN.
    level
        Confidence level of the interval, in (0, 1).
    """
    d = np.asarray(decisions, dtype=float)
    decided = d[~np.isnan(d)]
    for_first = int(decided.sum())
    n = len(decided)
    share = share_intervals([for_first, n - for_first], level=level, missing=len(d) - n)[0]
    return less_null(share, UNDECIDED, sign_test(for_first, n))


def _checked(errors: ArrayLike) -> Floats:
    return array_of(errors, "an array of errors", "(images, classes, samples)", finite=False)


def _mean(gaps: Floats) -> Floats:
    """Return the mean of the known numbers in each row, or NaN if a row has no known numbers."""
    counts = (~np.isnan(gaps)).sum(axis=1)
    sums = np.nansum(gaps, axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(gaps), np.nan), where=counts > 0))


def dealt_p(first: Floats, second: Floats, rng: np.random.Generator, draws: int) -> float:
    """Test the difference between two means by randomly assigning images to the groups.

    Parameters
    ----------
    first : array, (n,)
        A number for each image of the first group.
    second : array, (m,)
        A number for each image of the second group.
    rng
        Random generator for the assignments.
    draws
        Number of assignments.

    Returns
    -------
    float
        The two-sided p.
    """
    pooled = np.concatenate([np.sort(first), np.sort(second)])
    weights = np.repeat([1 / len(first), -1 / len(second)], [len(first), len(second)])
    null = np.abs(rng.permuted(np.tile(pooled, (draws, 1)), axis=1) @ weights)
    return p_value(abs(float(pooled @ weights)) - TOLERANCE, null)
