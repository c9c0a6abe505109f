"""Agreement of two rankings."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from askew.errors import NotEnoughData
from askew.stats.intervals import TOLERANCE, Floats, tail
from askew.types import Estimate


def spearman(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Spearman's rank correlation, in [-1, 1], ties at their mean rank.

    Interval: Fisher's z with the variance (1 + r**2 / 2) / (n - 3) of Bonett and Wright (2000), from n = 4 on; a
    perfect correlation is widened as if one pair of neighbours were swapped. p: two-sided, by permutation of one list.

    Args:
        x: (n,) numbers.
        y: (n,) numbers.

    Raises:
        NotEnoughData: fewer than three pairs, or all numbers of one list equal.
        ValueError: lists of different length, or a number that is not finite.
    """
    a, b = _standard_ranks(x), _standard_ranks(y)
    if len(a) != len(b):
        raise ValueError(f"lists of {len(a)} and {len(b)} numbers; pairs are needed")
    r = float(np.clip(a @ b, -1, 1))
    shuffled = rng.permuted(np.tile(b, (draws, 1)), axis=1) @ a
    exceedances = int(np.count_nonzero(np.abs(shuffled) >= abs(r) - TOLERANCE))
    low, high = _bonett_wright(r, len(a), level)
    return Estimate(
        r,
        low,
        high,
        level if low is not None else None,
        "Fisher z, Bonett-Wright" if low is not None else None,
        n=len(a),
        null=0.0,
        max=1.0,
        p=(1 + exceedances) / (1 + draws),
    )


def _standard_ranks(x: ArrayLike) -> Floats:
    """Ranks less their mean, scaled to length 1, so that the product of two is their correlation."""
    values = np.asarray(x, dtype=float)
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError("a rank correlation takes two lists of finite numbers")
    if len(values) < 3 or np.ptp(values) == 0:
        raise NotEnoughData("a rank correlation needs at least three pairs, and numbers that are not all equal")
    centred = stats.rankdata(values) - (len(values) + 1) / 2
    return np.asarray(centred / np.linalg.norm(centred))


def _bonett_wright(r: float, n: int, level: float) -> tuple[float | None, float | None]:
    if n < 4:
        return None, None
    nearly_perfect = 1 - 12 / (n * (n**2 - 1))
    inside = float(np.clip(r, -nearly_perfect, nearly_perfect))
    reach = float(stats.norm.isf(tail(level))) * math.sqrt((1 + inside**2 / 2) / (n - 3))
    low, high = math.tanh(math.atanh(inside) - reach), math.tanh(math.atanh(inside) + reach)
    return min(low, r), max(high, r)
