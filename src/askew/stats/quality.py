"""Whether pictures of the same seeds look as if one model made them, and whether two axes began to hang together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.contingency import cramers_v
from askew.stats.differences import PairedSets
from askew.stats.intervals import Floats, p_value, percentile_interval, picture_matrix
from askew.types import Estimate

PERMUTATIONS = 9_999


def kernel_distance(first: ArrayLike, second: ArrayLike, *, rng: np.random.Generator, draws: int = 1000) -> Estimate:
    """Squared maximum mean discrepancy of two sets of vectors by the kernel k = (x.y / d + 1)^3, unbiased.

    The mean over i != j of h_ij = k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) - k(y_i, x_j) (Gretton et al. 2012, Eq. 4):
    the "kernel inception distance" of Binkowski et al. (2018), in whatever embedder. 0 on average where one model made
    both, at any number of pictures and however much x_i and y_i, of one seed, have in common; it may be below 0. p: the
    two of a pair change places at random, which turns the signs of their h.

    Args:
        first, second: (n, d) vectors, n >= 2; those in the same row are a pair.

    Raises:
        NotEnoughData: fewer than two pairs.
    """
    x, y = picture_matrix(first), picture_matrix(second)
    n, width = x.shape
    if n < 2:
        raise NotEnoughData("a distance between two sets of pictures needs at least two pictures in each")
    xx, yy, xy = ((a @ b.T / width + 1) ** 3 for a, b in ((x, x), (y, y), (x, y)))
    h = xx + yy - xy - xy.T
    np.fill_diagonal(h, 0.0)
    signs = np.concatenate([np.ones((1, n)), rng.choice([-1.0, 1.0], (draws, n))])
    found = ((signs @ h) * signs).sum(axis=1) / (n * (n - 1))
    return Estimate(float(found[0]), n=2 * n, null=0.0, p=p_value(float(found[0]), found[1:]))


def dependence_change(
    sets: PairedSets, shape: tuple[int, int], *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """How much more two axes hang together in the first set than in the second: difference of Cramer's V, in [-1, 1].

    Interval: percentile bootstrap, pairs together. p: by 9,999 exchanges of the pictures of pairs, so that one pair of
    axes can stand out among many; it asks whether one joint distribution gave both, for a rise alone. Equal numbers of
    pictures have V's excess of few pictures in common.

    Args:
        sets: rows (pictures, K L), 1 in the column of the two values seen, the second axis fastest.
        shape: (K, L).
    """

    def rise(means: tuple[ArrayLike, ArrayLike]) -> Floats:
        after, before = (cramers_v(np.asarray(one).reshape(-1, *shape)) for one in means)
        return np.asarray(after - before)

    value = float(rise(sets.means)[0])
    low, high = percentile_interval(rise(sets.resampled(draws, rng)), level)
    exchanged = rise(sets.exchanged(PERMUTATIONS, rng))
    n = len(sets.first) + len(sets.second)
    return Estimate(value, min(low, value), max(high, value), level, "percentile bootstrap, paired", n, null=0.0,
                    max=1.0, p=p_value(value, exchanged))  # fmt: skip
