"""Agreement of two rankings."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats, p_value, tail
from askew.types import Estimate


def spearman(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Spearman's rank correlation, in [-1, 1], ties at their mean rank.

    Interval: Fisher's z with the variance (1 + r**2 / 2) / (n - 3) of Bonett and Wright (2000), from n = 4 on; a
    perfect correlation is widened as if one pair of neighbours were swapped. p: two-sided, by permutation of one list.
    Raises NotEnoughData for fewer than three pairs and where all numbers of one list are equal; ValueError for lists of
    different length and for a number that is not finite.
    """
    a, b = _standard_ranks(x), _standard_ranks(y)
    if len(a) != len(b):
        raise ValueError(f"lists of {len(a)} and {len(b)} numbers; pairs are needed")
    r = _correlation(a, b)
    shuffled = rng.permuted(np.tile(b, (draws, 1)), axis=1) @ a
    found = Estimate(r, n=len(a), null=0.0, max=1.0, p=p_value(abs(r), np.abs(shuffled)))
    if len(a) < 4:
        return found
    variance = (1 + float(np.clip(r, *_inside(len(a)))) ** 2 / 2) / (len(a) - 3)
    reach = float(scipy.stats.norm.isf(tail(level))) * math.sqrt(variance)
    return _around(found, len(a), reach, level, "Fisher z, Bonett-Wright")


def spearman_crossed(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Spearman's rank correlation of the cells of two tables whose rows and columns are units of their own, in [-1, 1].

    Cells that share a row or a column are no independent pairs: every class of one set held against every one of
    another makes a hundred cells of twenty classes. Interval: Fisher's z with the jackknife's error over rows and
    columns and Student's t, from three rows and columns on, never narrower than for as many independent pairs. p:
    two-sided, rows and columns of one table permuted. Tables are (rows, columns); errors as in `spearman`.
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(f"tables of the shapes {a.shape} and {b.shape}; two of the same rows and columns are needed")
    ranks = [_standard_ranks(table.ravel()) for table in (a, b)]
    r, (first, second) = _correlation(*ranks), (some.reshape(a.shape) for some in ranks)
    orders = ([rng.permutation(length) for length in a.shape] for _ in range(draws))
    shuffled = [float((first * second[np.ix_(*order)]).sum()) for order in orders]
    found = Estimate(r, n=a.size, null=0.0, max=1.0, p=p_value(abs(r), np.abs(shuffled)))
    if min(a.shape) < 3:
        return found
    variance = 0.0
    for axis, n in enumerate(a.shape):
        try:
            left = [_correlation(*(_standard_ranks(np.delete(x, k, axis).ravel()) for x in (a, b))) for k in range(n)]
        except NotEnoughData:
            return found
        variance += (n - 1) * float(np.arctanh(np.clip(left, *_inside(a.size))).var())
    independent = (1 + r**2 / 2) / (a.size - 3)
    reach = float(scipy.stats.t.isf(tail(level), sum(a.shape) - 2)) * math.sqrt(max(variance, independent))
    return _around(found, a.size, reach, level, "Fisher z, jackknife over rows and columns")


def _standard_ranks(x: ArrayLike) -> Floats:
    """Ranks less their mean, scaled to length 1, so that the product of two is their correlation."""
    values = np.asarray(x, dtype=float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError("a rank correlation takes two lists of finite numbers")
    if len(values) < 3 or np.ptp(values) == 0:
        raise NotEnoughData("a rank correlation needs at least three pairs, and numbers that are not all equal")
    centred = scipy.stats.rankdata(values) - (len(values) + 1) / 2
    return np.asarray(centred / np.linalg.norm(centred))


def _correlation(a: Floats, b: Floats) -> float:
    return float(np.clip(a @ b, -1, 1))


def _around(found: Estimate, n: int, reach: float, level: float, name: str) -> Estimate:
    """With an interval that reaches so far to both sides of Fisher's z of a correlation of n pairs."""
    r, z = found.value, math.atanh(float(np.clip(found.value, *_inside(n))))
    low, high = min(math.tanh(z - reach), r), max(math.tanh(z + reach), r)
    return replace(found, low=low, high=high, level=level, interval=name)


def _inside(n: int) -> tuple[float, float]:
    """The largest correlations of n pairs but for the perfect ones: one pair of neighbours is swapped."""
    most = 1 - 12 / (n * (n**2 - 1))
    return -most, most
