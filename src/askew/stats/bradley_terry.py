"""Estimate the strengths of items that people compare in pairs (Bradley and Terry 1952).

Item i is preferred to item j with probability p_i / (p_i + p_j). A tie counts as half a preference
for each of the two items. askew maximizes the likelihood with the algorithm of Hunter (2004). The
strengths are the logarithms of p, shifted so that their mean is 0.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats, percentile_interval
from askew.types import Estimate

ITERATIONS = 500
TOLERANCE = 1e-9

PSEUDO_COUNT = 0.1
"""Number of preferences that are added to each compared pair in each direction.

This addition keeps the strength finite for an item that always wins.
"""


def strengths(wins: ArrayLike) -> Floats:
    """Estimate the strengths of items from one or more tables of preferences.

    Parameters
    ----------
    wins : array, (..., items, items)
        Number of times that the item in the row was preferred to the item in the column.
    """
    counts = np.asarray(wins, dtype=float)
    compared = counts + np.swapaxes(counts, -1, -2)
    if not compared.any():
        raise NotEnoughData("no pair was compared")
    counts = counts + PSEUDO_COUNT * (compared > 0)
    compared = counts + np.swapaxes(counts, -1, -2)
    totals = counts.sum(axis=-1)
    p = np.ones(totals.shape)
    for _ in range(ITERATIONS):
        sums = p[..., :, None] + p[..., None, :]
        following = totals / np.maximum((compared / sums).sum(axis=-1), 1e-12)
        following = np.maximum(following, 1e-12)
        following = following / np.exp(np.log(following).mean(axis=-1, keepdims=True))
        change = np.abs(following - p).max()
        p = following
        if change < TOLERANCE:
            break
    return np.asarray(np.log(p))


def strength_estimates(
    wins: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95
) -> tuple[Estimate, ...]:
    """Estimate the strengths of items, with intervals from a bootstrap over raters.

    Parameters
    ----------
    wins : array, (raters, items, items)
        Preferences of each rater, as in `strengths`.
    rng
        Random generator for the resamples.
    draws
        Number of resamples.
    level
        Confidence level of the intervals, in (0, 1).
    """
    counts = np.asarray(wins, dtype=float)
    raters = len(counts)
    values = strengths(counts.sum(axis=0))
    weights = rng.multinomial(raters, np.full(raters, 1 / raters), size=draws)
    drawn = strengths(np.einsum("dr,rij->dij", weights, counts))
    estimates = []
    compared = counts.sum(axis=(0, 2)) + counts.sum(axis=(0, 1))
    for place, value in enumerate(values.tolist()):
        low, high = percentile_interval(drawn[:, place], level)
        estimates.append(
            Estimate(
                value=value,
                low=min(low, value),
                high=max(high, value),
                level=level,
                interval="bootstrap over raters",
                n=max(round(float(compared[place])), 1),
            )
        )
    return tuple(estimates)
