"""Agreement of decisions about two groups with differences that were planted between the groups.

`recovered` measures how much of the planted differences decisions show, and `spearman_crossed`
whether measured differences have the planted order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from askew.errors import NotEnoughData
from askew.stats.classification import UNDECIDED, dealt_p
from askew.stats.clustered import sign_flip_p
from askew.stats.intervals import TOLERANCE, Floats, less_null, p_value, tail
from askew.stats.rank import standard_ranks
from askew.types import Estimate


def recovered(
    first: ArrayLike,
    second: ArrayLike,
    planted: ArrayLike,
    *,
    before: tuple[ArrayLike, ArrayLike] | None = None,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Estimate the share of planted differences between two groups that decisions show.

    The share is the slope, through zero, of the measured on the planted differences of the pairs:
    Σ planted · measured / Σ planted². It is 0 if decisions show nothing, and 1 if they show the
    planted size. It is a difference of means over images.

    The interval is Welch's t. Each group gets another image that is decided by a coin, or that does
    not change, so that the interval exists where all images agree. For p, images are dealt to the
    groups at random, or the decisions about an image before and after are swapped.

    Parameters
    ----------
    first, second
        Decisions (images, pairs) about the images of each group; images with a tie are missing.
    planted
        Planted differences of the pairs, first minus second: (pairs,).
    before
        Other decisions about the same images. The estimate is the increase of the share.
    rng
        Generator of the draws.
    draws
        Number of draws for p.
    level
        Level of the interval.

    Returns
    -------
    Estimate
        The share, or its increase.

    Raises
    ------
    NotEnoughData
        If a group has fewer than two images, or if nothing was planted.
    """
    x = np.asarray(planted, dtype=float)
    if float(x @ x) <= TOLERANCE:
        raise NotEnoughData("nothing was planted between these groups, so there is no slope")
    weights = x / float(x @ x)
    slopes = [np.asarray(side, dtype=float) @ weights for side in (first, second)]
    if before is not None:
        for group, decisions in enumerate(before):
            slopes[group] = slopes[group] - np.asarray(decisions, dtype=float) @ weights
    a, b = (of_images[~np.isnan(of_images)] for of_images in slopes)
    if min(len(a), len(b)) < 2:
        raise NotEnoughData(
            "each group needs two images that are decided between all pairs of classes"
        )
    n = len(a) + len(b)
    if before is None:
        coin = UNDECIDED * float(weights.sum())
        p = dealt_p(a, b, rng, draws)
    else:
        coin = 0.0
        p = sign_flip_p(np.append(a / len(a), -b / len(b)), rng, draws)
    value = float(a.mean() - b.mean())
    reach = _welch_reach((a, b), coin, level)
    estimate = Estimate(
        value=value,
        low=value - reach,
        high=value + reach,
        level=level,
        interval="Welch",
        n=n,
        missing=len(slopes[0]) + len(slopes[1]) - n,
    )
    return less_null(estimate, 0.0, p)


def _welch_reach(sides: tuple[Floats, Floats], coin: float, level: float) -> float:
    """Return half the length of Welch's interval, with another value `coin` on each side."""
    parts = [float(np.append(side, coin).var(ddof=1)) / len(side) for side in sides]
    variance = sum(parts)
    freedom = 1.0
    if variance:
        shares = [part**2 / (len(x) - 1) for part, x in zip(parts, sides, strict=True)]
        freedom = variance**2 / sum(shares)
    return float(t.isf(tail(level), freedom)) * math.sqrt(variance)


@dataclass(frozen=True, slots=True)
class CrossedTables:
    """Two tables of the same rows and columns.

    Attributes
    ----------
    first, second
        The tables: (rows, columns).
    """

    first: Floats
    second: Floats

    @property
    def largest(self) -> float:
        """Largest rank correlation below 1: that of a swapped pair of neighbors."""
        n = self.first.size
        return 1 - 12 / (n * (n**2 - 1))

    def ranks(self) -> tuple[Floats, Floats]:
        """Return the standard ranks of the cells of each table: (cells,)."""
        return standard_ranks(self.first.ravel()), standard_ranks(self.second.ravel())

    def without(self, axis: int, place: int) -> CrossedTables:
        """Return the tables without a row (axis 0) or a column (axis 1)."""
        return CrossedTables(
            np.delete(self.first, place, axis), np.delete(self.second, place, axis)
        )


def spearman_crossed(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Estimate Spearman's rank correlation of the cells of two tables, in [-1, 1].

    Rows and columns are the independent units: cells that share a row or a column are not
    independent pairs. All pairs of two sets of ten classes are a hundred cells of twenty classes.

    The interval is Fisher's z, with a jackknife error over rows and columns and Student's t. It is
    never narrower than for as many independent pairs. It exists from three rows and columns on. For
    the two-sided p, the rows and columns of a table are permuted.

    Parameters
    ----------
    x, y
        The tables: (rows, columns).
    rng
        Generator of the permutations.
    draws
        Number of permutations.
    level
        Level of the interval.

    Returns
    -------
    Estimate
        The correlation.

    Raises
    ------
    ValueError
        If the tables have different shapes.
    NotEnoughData
        As `askew.stats.rank.spearman`.
    """
    a = np.asarray(x, dtype=float)
    b = np.asarray(y, dtype=float)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(
            f"tables have the shapes {a.shape} and {b.shape}; they need the same rows and columns"
        )
    tables = CrossedTables(a, b)
    first, second = tables.ranks()
    r = correlation(first, second)
    shuffled = _shuffled_correlations(first.reshape(a.shape), second.reshape(a.shape), rng, draws)
    estimate = Estimate(r, n=a.size, null=0.0, max=1.0, p=p_value(abs(r), np.abs(shuffled)))
    if min(a.shape) < 3:
        return estimate
    try:
        variance = _jackknife_variance(tables)
    except NotEnoughData:
        return estimate
    independent = (1 + r**2 / 2) / (a.size - 3)
    reach = float(t.isf(tail(level), sum(a.shape) - 2)) * math.sqrt(max(variance, independent))
    z = math.atanh(float(np.clip(r, -tables.largest, tables.largest)))
    return replace(
        estimate,
        low=min(math.tanh(z - reach), r),
        high=max(math.tanh(z + reach), r),
        level=level,
        interval="Fisher z, jackknife over rows and columns",
    )


def _shuffled_correlations(
    first: Floats, second: Floats, rng: np.random.Generator, draws: int
) -> Sequence[float]:
    """Return correlations with randomly permuted rows and columns of the second table."""
    correlations = []
    for _ in range(draws):
        order = [rng.permutation(length) for length in first.shape]
        correlations.append(float((first * second[np.ix_(*order)]).sum()))
    return correlations


def _jackknife_variance(tables: CrossedTables) -> float:
    """Return the variance of Fisher's z by leaving out each row and each column."""
    variance = 0.0
    for axis, n in enumerate(tables.first.shape):
        left = [correlation(*tables.without(axis, place).ranks()) for place in range(n)]
        z = np.arctanh(np.clip(left, -tables.largest, tables.largest))
        variance += (n - 1) * float(z.var())
    return variance


def correlation(a: Floats, b: Floats) -> float:
    """Return the correlation of two lists of standard ranks."""
    return float(np.clip(a @ b, -1, 1))
