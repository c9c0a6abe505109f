"""Agreement of two rankings."""

import math
from dataclasses import replace

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats, array_of, p_value, tail
from askew.types import Estimate


def spearman(
    x: ArrayLike, y: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Spearman's rank correlation, in [-1, 1], ties at their mean rank.

    Interval: Fisher's z with the variance (1 + r**2 / 2) / (n - 3) of Bonett and Wright (2000),
    from n = 4 on; a perfect correlation is widened as if one pair of neighbours were swapped. p:
    two-sided, by permutation of one list. Raises NotEnoughData for fewer than three pairs and where
    all numbers of one list are equal; ValueError for lists of different length and for a number
    that is not finite.
    """
    a = standard_ranks(x)
    b = standard_ranks(y)
    if len(a) != len(b):
        raise ValueError(f"lists of {len(a)} and {len(b)} numbers; pairs are needed")
    r = float(np.clip(a @ b, -1, 1))
    shuffled = rng.permuted(np.tile(b, (draws, 1)), axis=1) @ a
    found = Estimate(r, n=len(a), null=0.0, max=1.0, p=p_value(abs(r), np.abs(shuffled)))
    if len(a) < 4:
        return found
    most = 1 - 12 / (
        len(a) * (len(a) ** 2 - 1)
    )  # the largest but for a perfect one: one pair of neighbours is swapped
    inside = float(np.clip(r, -most, most))
    reach = float(scipy.stats.norm.isf(tail(level))) * math.sqrt((1 + inside**2 / 2) / (len(a) - 3))
    low = min(math.tanh(math.atanh(inside) - reach), r)
    high = max(math.tanh(math.atanh(inside) + reach), r)
    return replace(found, low=low, high=high, level=level, interval="Fisher z, Bonett-Wright")


def standard_ranks(x: ArrayLike) -> Floats:
    """Ranks less their mean, scaled to length 1, so that the product of two is their correlation."""
    values = array_of(x, "a list of a rank correlation", "(numbers)")
    if len(values) < 3 or np.ptp(values) == 0:
        raise NotEnoughData(
            "a rank correlation needs at least three pairs, and numbers that are not all equal"
        )
    centred = scipy.stats.rankdata(values) - (len(values) + 1) / 2
    return np.asarray(centred / np.linalg.norm(centred))
