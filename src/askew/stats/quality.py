"""Whether two sets of pictures look as if one model had made them, and whether two axes began to hang together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.contingency import cramers_v
from askew.stats.intervals import Floats, p_value, percentile_interval, picture_matrix
from askew.stats.means import welch_error, with_student
from askew.types import Estimate

PERMUTATIONS = 9_999


def kernel_distance(first: ArrayLike, second: ArrayLike, *, rng: np.random.Generator, draws: int = 1000) -> Estimate:
    """Squared maximum mean discrepancy of two sets of vectors by the kernel (x.y / d + 1)^3, unbiased.

    The "kernel inception distance" of Binkowski et al. (2018, section 4), in whatever embedder: 0 on average where
    one model made both, at any number of pictures, which Frechet's distance is not; it may be below 0. p: by
    permutation of the pictures' sets.

    Args:
        first: (n, d) vectors, n >= 2.
        second: (m, d) vectors, m >= 2.

    Raises:
        NotEnoughData: fewer than two pictures in a set.
    """
    a, b = picture_matrix(first), picture_matrix(second)
    if min(len(a), len(b)) < 2:
        raise NotEnoughData("a distance between two sets of pictures needs at least two pictures in each")
    rows = np.concatenate([a, b])
    kernel = (rows @ rows.T / rows.shape[1] + 1) ** 3
    np.fill_diagonal(kernel, 0.0)
    member = np.zeros((draws + 1, len(rows)))
    member[0, : len(a)] = 1
    for k in range(draws):
        member[k + 1, rng.choice(len(rows), len(a), replace=False)] = 1
    found = _discrepancies(kernel, member, len(a), len(b))
    return Estimate(float(found[0]), n=len(rows), null=0.0, p=p_value(float(found[0]), found[1:]))


def _discrepancies(kernel: Floats, member: Floats, n: int, m: int) -> Floats:
    """MMD^2 (draws,) where `member` (draws, n + m) says which rows are the first set's."""
    toward = member @ kernel
    within, all_of = (toward * member).sum(axis=1), kernel.sum()
    across = toward.sum(axis=1) - within
    return np.asarray(within / (n * (n - 1)) + (all_of - within - 2 * across) / (m * (m - 1)) - 2 * across / (n * m))


def dependence_change(
    before: ArrayLike, after: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """How much more two axes hang together after than before: Cramer's V after less V before, in [-1, 1].

    Interval: percentile bootstrap of both sets. p: by 9,999 permutations of the pictures' sets, so that one pair can
    stand out among many; it asks whether one joint distribution gave both, for a rise alone. Equal numbers of pictures
    have V's excess of few pictures in common.

    Args:
        before: (K, L) counts of the values of two axes, in that order.
        after: (K, L) counts of the same.

    Raises:
        NotEnoughData: a set without pictures.
    """
    a, b = (np.asarray(one, dtype=np.int64) for one in (before, after))
    n, m = int(a.sum()), int(b.sum())
    if not (n and m):
        raise NotEnoughData("a change of dependence needs pictures before and after")
    value = float(cramers_v(b) - cramers_v(a))
    drawn = [rng.multinomial(size, one.ravel() / size, draws).reshape(-1, *one.shape) for one, size in ((a, n), (b, m))]
    low, high = percentile_interval(cramers_v(drawn[1]) - cramers_v(drawn[0]), level)
    pooled = (a + b).ravel()
    first = rng.multivariate_hypergeometric(pooled, n, size=PERMUTATIONS)
    permuted = cramers_v((pooled - first).reshape(-1, *a.shape)) - cramers_v(first.reshape(-1, *a.shape))
    return Estimate(value, min(low, value), max(high, value), level, "percentile bootstrap", n + m, null=0.0, max=1.0,
                    p=p_value(value, permuted))  # fmt: skip


def mean_difference(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Mean of the first numbers less that of the second, with Welch's interval and two-sided p.

    Args:
        first, second: (n,), (m,) numbers of pictures, two or more each.

    Raises:
        NotEnoughData: fewer than two numbers in a set.
    """
    sides = [np.asarray(one, dtype=float) for one in (first, second)]
    if min(map(len, sides)) < 2:
        raise NotEnoughData("a difference of means needs at least two pictures in each set")
    value = float(sides[0].mean() - sides[1].mean())
    error, freedom = welch_error(sides[0], sides[1])
    return with_student(value, error, freedom, sum(map(len, sides)), level, "Welch", null=0.0)
