"""Estimate the correlation between two lists of numbers, or between their ranks."""

import math
from dataclasses import replace

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats, array_of, fisher_interval, p_value
from askew.types import Estimate

LARGEST_CORRELATION = 1 - 1e-12
"""Correlations are limited to this absolute value before Fisher's z is computed."""


def spearman(
    x: ArrayLike, y: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Estimate Spearman's rank correlation, in [-1, 1]. Ties get their mean rank.

    With at least four pairs, the interval is normal on Fisher's z scale. Its variance is (1 + r**2
    / 2) / (n - 3), as proposed by Bonett and Wright (2000). If the correlation is 1 or -1, the
    interval is computed as if two neighboring ranks were swapped. p is two-sided and comes from
    permutations of one list.

    Parameters
    ----------
    x, y : array, (n,)
        Paired numbers.
    rng
        Random generator for the permutations.
    draws
        Number of permutations.
    level
        Confidence level of the interval, in (0, 1).

    Raises
    ------
    NotEnoughData
        If there are fewer than three pairs, or all numbers of one list are equal.
    ValueError
        If the lists have different lengths, or a number is not finite.
    """
    a = standard_ranks(x)
    b = standard_ranks(y)
    n = len(a)
    if n != len(b):
        raise ValueError(f"the lists have {n} and {len(b)} numbers, but pairs are needed")
    r = float(np.clip(a @ b, -1, 1))
    shuffled = rng.permuted(np.tile(b, (draws, 1)), axis=1) @ a
    p = p_value(abs(r), np.abs(shuffled))
    estimate = Estimate(value=r, n=n, null=0.0, max=1.0, p=p)
    if n < 4:
        return estimate
    largest_imperfect = 1 - 12 / (n * (n**2 - 1))
    inside = float(np.clip(r, -largest_imperfect, largest_imperfect))
    error = math.sqrt((1 + inside**2 / 2) / (n - 3))
    low, high = fisher_interval(inside, error, level)
    return replace(
        estimate,
        low=min(low, r),
        high=max(high, r),
        level=level,
        interval="Fisher z, Bonett-Wright",
    )


def pearson_estimate(x: ArrayLike, y: ArrayLike, level: float, *, interval: str) -> Estimate:
    """Estimate Pearson's correlation with Fisher's interval, in [-1, 1].

    Parameters
    ----------
    x, y : array, (n,)
        Paired numbers, with at least four pairs. Neither list may contain only equal numbers.
    level
        Confidence level of the interval, in (0, 1).
    interval
        Name of the interval method, which also says what the pairs are.
    """
    a = np.asarray(x, dtype=float)
    r = float(np.corrcoef(a, np.asarray(y, dtype=float))[0, 1])
    inside = float(np.clip(r, -LARGEST_CORRELATION, LARGEST_CORRELATION))
    low, high = fisher_interval(inside, 1 / math.sqrt(len(a) - 3), level)
    return Estimate(value=r, low=low, high=high, level=level, interval=interval, n=len(a), max=1.0)


def standard_ranks(x: ArrayLike) -> Floats:
    """Return the ranks of numbers, centered and scaled to unit length.

    The dot product of two such lists is the rank correlation between them.

    Parameters
    ----------
    x : array, (n,)
        Numbers.

    Raises
    ------
    NotEnoughData
        If there are fewer than three numbers, or all are equal.
    """
    values = array_of(x, "a list for a rank correlation", "(numbers)")
    if len(values) < 3 or np.ptp(values) == 0:
        raise NotEnoughData(
            "a rank correlation needs at least three pairs and numbers that are not all equal"
        )
    centered = scipy.stats.rankdata(values) - (len(values) + 1) / 2
    return np.asarray(centered / np.linalg.norm(centered))


def rank_correlations(x: ArrayLike, rows: ArrayLike) -> Floats:
    """Compute Spearman's rank correlation between a list and each of several other lists.

    Parameters
    ----------
    x : array, (n,)
        Numbers of the first list.
    rows : array, (..., n)
        Numbers of the other lists, in the same order.

    Returns
    -------
    array, (...)
        Correlations in [-1, 1]. NaN if there are fewer than three pairs, or if all numbers in a
        list are equal.
    """
    values = np.asarray(x, dtype=float)
    lists = np.asarray(rows, dtype=float)
    undefined = np.full(lists.shape[:-1], np.nan)
    if len(values) < 3:
        return undefined
    middle = (len(values) + 1) / 2
    a = scipy.stats.rankdata(values) - middle
    b = scipy.stats.rankdata(lists, axis=-1) - middle
    scale = np.linalg.norm(a) * np.linalg.norm(b, axis=-1)
    return np.asarray(np.divide(b @ a, scale, out=undefined, where=scale > 0))
