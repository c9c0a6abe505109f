"""How much of what was planted between two groups their decisions show again, and whether in the
same order.
"""

from __future__ import annotations

import math
from dataclasses import replace

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
    """How much of the planted differences between two groups their decisions show: 0 nothing, 1 as
    much as planted.

    The slope, through zero, of the measured on the planted differences of the pairs: Σ planted ·
    measured / Σ planted². It is a difference of means over pictures. Interval: Welch's t, with one
    further picture of each group that is decided by a coin, or does not change, so that pictures
    that all agree have one. p: pictures are dealt to the groups at random, or a picture's decisions
    before and after change places.

    Args:
        first, second: decisions (pictures, pairs) about the pictures of both groups; those with a
        tie are missing. planted: (pairs,) planted differences, first less second. before: other
        decisions about the same pictures: the estimate is how much more is shown than by them.

    Raises NotEnoughData for fewer than two pictures of a group, and where nothing was planted.
    """
    x = np.asarray(planted, dtype=float)
    if float(x @ x) <= TOLERANCE:
        raise NotEnoughData(
            "nothing was planted between these groups, so that there is nothing to find again"
        )
    weights = x / float(x @ x)
    shown = [np.asarray(side, dtype=float) @ weights for side in (first, second)]
    if before is not None:
        shown = [
            now - np.asarray(then, dtype=float) @ weights
            for now, then in zip(shown, before, strict=True)
        ]
    a, b = (side[~np.isnan(side)] for side in shown)
    if min(len(a), len(b)) < 2:
        raise NotEnoughData(
            "two pictures of each group are needed, each decided between all pairs of classes"
        )
    n = len(a) + len(b)
    asked = len(shown[0]) + len(shown[1])
    coin = UNDECIDED * float(weights.sum()) if before is None else 0.0
    parts = [float(np.append(side, coin).var(ddof=1)) / len(side) for side in (a, b)]
    total = sum(parts)
    freedom = (
        total**2 / sum(part**2 / (len(x) - 1) for part, x in zip(parts, (a, b), strict=True))
        if total
        else 1.0
    )
    value = float(a.mean() - b.mean())
    reach = float(t.isf(tail(level), freedom)) * math.sqrt(total)
    estimate = Estimate(value, value - reach, value + reach, level, "Welch", n, asked - n)
    p = (
        dealt_p(a, b, rng, draws)
        if before is None
        else sign_flip_p(np.append(a / len(a), -b / len(b)), rng, draws)
    )
    return less_null(estimate, 0.0, p)


def spearman_crossed(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> Estimate:
    """Spearman's rank correlation of the cells of two tables whose rows and columns are units of
    their own, in [-1, 1].

    Cells that share a row or a column are no independent pairs: every class of one set held against
    every one of another makes a hundred cells of twenty classes. Interval: Fisher's z with the
    jackknife's error over rows and columns and Student's t, from three rows and columns on, never
    narrower than for as many independent pairs. p: two-sided, rows and columns of one table
    permuted. Tables are (rows, columns); errors as in `spearman`.
    """
    a = np.asarray(x, dtype=float)
    b = np.asarray(y, dtype=float)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(
            f"tables of the shapes {a.shape} and {b.shape}; two of the same rows and columns are needed"
        )
    ranks = [standard_ranks(table.ravel()) for table in (a, b)]
    r, (first, second) = correlation(*ranks), (rank.reshape(a.shape) for rank in ranks)
    orders = ([rng.permutation(length) for length in a.shape] for _ in range(draws))
    shuffled = [float((first * second[np.ix_(*order)]).sum()) for order in orders]
    estimate = Estimate(r, n=a.size, null=0.0, max=1.0, p=p_value(abs(r), np.abs(shuffled)))
    if min(a.shape) < 3:
        return estimate
    most = 1 - 12 / (
        a.size * (a.size**2 - 1)
    )  # the largest but for a perfect one: a pair of neighbours is swapped
    variance = 0.0
    for axis, n in enumerate(a.shape):
        try:
            left = [
                correlation(*(standard_ranks(np.delete(x, k, axis).ravel()) for x in (a, b)))
                for k in range(n)
            ]
        except NotEnoughData:
            return estimate
        variance += (n - 1) * float(np.arctanh(np.clip(left, -most, most)).var())
    independent = (1 + r**2 / 2) / (a.size - 3)
    reach = float(t.isf(tail(level), sum(a.shape) - 2)) * math.sqrt(max(variance, independent))
    z = math.atanh(float(np.clip(r, -most, most)))
    name = "Fisher z, jackknife over rows and columns"
    low = min(math.tanh(z - reach), r)
    high = max(math.tanh(z + reach), r)
    return replace(estimate, low=low, high=high, level=level, interval=name)


def correlation(a: Floats, b: Floats) -> float:
    """Of two lists of standard ranks."""
    return float(np.clip(a @ b, -1, 1))
