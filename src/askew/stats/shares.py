"""Shares of the values of one axis in one picture set, their distance from an ideal, and from uniform by entropy.

Counts are (K,) whole numbers of pictures that show each value, `missing` pictures without an answer, recorded only.
NotEnoughData is raised without any answer, ValueError for what is not a count and for shapes that do not fit.

Then shares of combinations of values of two or three axes at once, against a reference population or independence.
Sparse cells: a combination of which fewer than `LEAST_EXPECTED` pictures are expected says little by itself. Such
combinations are pooled into one "rest"; if fewer than that many are expected of the rest too, the combinations with the
next smallest expectations join it. What is pooled depends on the expectation alone, never on what was found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.distance import Distance, distance_max, distance_named, normalised, total_variation
from askew.stats.distance_intervals import METHOD, SampledShares, as_exact_together
from askew.stats.exact import distance_p
from askew.stats.intervals import POINT, TOLERANCE, Floats, first_accepted, p_value, positive_counts, tail
from askew.types import Estimate

BISECTIONS = 50


def share_intervals(counts: ArrayLike, *, level: float = 0.95, missing: int = 0) -> tuple[Estimate, ...]:
    """The share of every value, with the mid-P version of the Clopper-Pearson interval.

    At a count of 0 or of all pictures, where mid-P is a little short, the far end is that of Clopper and Pearson.
    Chosen by exact coverage: never below .925 for 10 to 200 pictures and any share, .95 to .97 on average.
    """
    c = axis_counts(counts)
    n = int(c.sum())
    low, high = 1 - _mid_p_upper(n - c, n, level), _mid_p_upper(c, n, level)
    return tuple(
        Estimate(float(k / n), float(a), float(b), level, "mid-P Clopper-Pearson", n, missing, max=1.0)
        for k, a, b in zip(c, low, high, strict=True)
    )


def distance_estimate(
    counts: ArrayLike,
    ideal: ArrayLike,
    *,
    distance: str | Distance = "total_variation",
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
    missing: int = 0,
    ideal_pictures: int | None = None,
) -> Estimate:
    """Distance of the shares from an ideal: plug-in value, interval of the population's distance, null, p, corrected.

    The interval is by test inversion (`distance_intervals`) and may lie below the value. The null is the distance of as
    many pictures drawn from the ideal itself; p is that of their exact law (`exact`), or by draws where that is large.

    Args:
        ideal: (K,) shares, or weights, that would be no bias.
        distance: a name of `distance.DISTANCES`, or a function of two distributions.
        ideal_pictures: in how many pictures of a reference the ideal was counted: then both err, and interval, null and
            p are those of as few pictures as err like their difference. None takes the ideal for exact.
    """
    c, target, measure = axis_counts(counts), normalised(ideal, "the ideal"), distance_named(distance)
    n, maximum = int(c.sum()), distance_max(target, measure)
    sample = SampledShares(c / n, as_exact_together(n, ideal_pictures), target, measure)
    p = distance_p(c, target, distance) if isinstance(distance, str) and ideal_pictures is None else None
    return sample.estimate(rng, draws, level, maximum=maximum, n=n, missing=missing, p=p)


def worst_case_bounds(counts: ArrayLike, missing: int) -> tuple[Floats, Floats]:
    """Shares if none, and if all, of the missing pictures showed the value: two arrays (K,).

    Bounds without any assumption, for answers that may be missing because of what they would have been.
    """
    if missing < 0:
        raise ValueError(f"missing is {missing}; it cannot be negative")
    c = axis_counts(np.append(np.asarray(counts, dtype=float), missing))
    return c[:-1] / c.sum(), (c[:-1] + missing) / c.sum()


def axis_counts(counts: ArrayLike) -> Floats:
    """`counts` as a checked (K,) array of whole numbers with a sum above 0."""
    c = positive_counts(counts)
    if c.ndim != 1 or np.any(c % 1):
        raise ValueError("counts of one picture set on one axis must be one list of whole numbers")
    return c


def _mid_p_upper(counts: Floats, n: int, level: float) -> Floats:
    """High ends of the intervals: the share at which P(X < k) + P(X = k) / 2 has fallen to the tail.

    For k = 0, P(X = 0), for k = n, 1.
    """
    low, high = counts / n, np.ones_like(counts)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = np.where(
            counts > 0, scipy.special.bdtr(np.maximum(counts - 1, 0), n, middle), scipy.special.bdtr(0, n, middle)
        )
        still_likely = (below + scipy.special.bdtr(counts, n, middle)) / 2 > tail(level)
        low, high = np.where(still_likely, middle, low), np.where(still_likely, high, middle)
    return np.where(counts == n, 1.0, high)


LEAST_EXPECTED = 5.0
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """A combination of values, by their indices on each axis, or the pooled rest (`values` of all its combinations).

    expected  its share under the reference
    share     its share in the pictures, with an interval
    ratio     share / expected, with the interval's ends divided alike
    """

    values: tuple[tuple[int, ...], ...]
    expected: float
    share: Estimate

    @property
    def pooled(self) -> bool:
        """Whether it stands for several combinations."""
        return len(self.values) > 1

    @property
    def ratio(self) -> tuple[float, float | None, float | None]:
        """How many times as frequent as expected: value, low, high."""
        low, high = (None if end is None else end / self.expected for end in (self.share.low, self.share.high))
        return self.share.value / self.expected, low, high


@dataclass(frozen=True, slots=True)
class JointShares:
    """Cells in descending order of expectation, the rest last; the distance of all cells from the reference.

    against   "reference" or "independence"
    distance  total variation over the cells, with an interval, and the null and p of the reference
    """

    cells: tuple[Cell, ...]
    distance: Estimate
    against: str


def joint_shares(
    codes: ArrayLike,
    sizes: Sequence[int],
    reference: ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = 1000,
) -> JointShares:
    """Joint shares of two or three axes in one picture set.

    With a reference its shares are the expectation. Without, the product of the axes' own shares is: is any combination
    rarer than its parts suggest? The null then comes from permuting each axis by itself. Intervals of the distance are
    by test inversion; without a reference along the line from the product through the observed shares, on which the
    axes' own shares stay as they are.

    Args:
        codes: (pictures, axes) indices of the values; a picture with a negative one, an absent answer, is left out.
        sizes: (axes,) number of values of each axis.
        reference: (m_1, m_2[, m_3]) shares, or weights, of the reference population; None for independence.

    Raises:
        NotEnoughData: no picture with all answers, or nothing to compare: all expected in one cell.
    """
    answers, shape = _checked(codes, sizes)
    counts = _table(answers, shape)
    wanted = _independent(counts, len(shape)) if reference is None else normalised(np.ravel(_shaped(reference, shape)))
    expected = wanted.ravel()
    cells = _cells(expected, len(answers))
    if len(cells) < 2:
        needed = math.ceil(LEAST_EXPECTED / float(expected.max()))
        raise NotEnoughData(
            f"{len(answers)} pictures are too few for {expected.size} combinations, all are pooled into one cell; "
            f"at least {needed} are needed"
        )
    found = _pooled(counts.ravel(), cells)
    shares = share_intervals(found, level=level, missing=len(np.asarray(codes)) - len(answers))
    target = _pooled(expected, cells)
    if reference is not None:
        distance = distance_estimate(found, target, rng=rng, draws=draws, level=level)
    else:
        distance = _from_independence(answers, shape, cells, rng, draws, level)
    names = [tuple(tuple(int(i) for i in np.unravel_index(j, shape)) for j in cell) for cell in cells]
    listed = tuple(Cell(n, float(e), s) for n, e, s in zip(names, target, shares, strict=True))
    return JointShares(listed, distance, "independence" if reference is None else "reference")


def _checked(codes: ArrayLike, sizes: Sequence[int]) -> tuple[Codes, tuple[int, ...]]:
    found, shape = np.asarray(codes, dtype=np.int64), tuple(int(m) for m in sizes)
    if found.ndim != 2 or not 2 <= found.shape[1] <= 3 or len(shape) != found.shape[1]:
        raise ValueError(f"codes of shape {found.shape} for {len(shape)} axes; two or three axes at once are needed")
    if np.any(found >= np.array(shape)):
        raise ValueError("a code lies outside its axis")
    answered = found[np.all(found >= 0, axis=1)]
    if not len(answered):
        raise NotEnoughData("no picture has an answer on all of the axes")
    return answered, shape


def _shaped(reference: ArrayLike, shape: tuple[int, ...]) -> Floats:
    shares = np.asarray(reference, dtype=float)
    if shares.shape != shape:
        raise ValueError(f"a reference of shape {shares.shape} for axes of {shape} values")
    return shares


def _table(codes: Codes, shape: tuple[int, ...]) -> Floats:
    cells = np.ravel_multi_index(tuple(codes.T), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def _independent(counts: Floats, axes: int) -> Floats:
    """The product of the marginal shares of a table, or of each in a stack of tables (..., *shape)."""
    own = tuple(range(-axes, 0))
    shares = counts / counts.sum(axis=own, keepdims=True)
    product = np.ones(())
    for axis in own:
        product = product * shares.sum(axis=tuple(i for i in own if i != axis), keepdims=True)
    return np.asarray(product)


def _cells(expected: Floats, pictures: int) -> list[list[int]]:
    """Combinations by cell: the well-filled ones by themselves in descending order, then the pooled rest."""
    order = [int(i) for i in np.argsort(-expected, kind="stable") if expected[i] > 0]
    never = [int(i) for i in np.flatnonzero(expected == 0)]
    alone = [i for i in order if expected[i] * pictures >= LEAST_EXPECTED]
    rest = order[len(alone) :] + never
    while rest and alone and expected[rest].sum() * pictures < LEAST_EXPECTED:
        rest.insert(0, alone.pop())
    return [[i] for i in alone] + ([rest] if rest else [])


def _pooled(numbers: Floats, cells: list[list[int]]) -> Floats:
    """Sums over the combinations of each cell: (..., combinations) to (..., cells)."""
    return np.stack([numbers[..., cell].sum(axis=-1) for cell in cells], axis=-1)


def _from_independence(
    codes: Codes, shape: tuple[int, ...], cells: list[list[int]], rng: np.random.Generator, draws: int, level: float
) -> Estimate:
    counts = _table(codes, shape)
    target = _pooled(_independent(counts, len(shape)).ravel(), cells)
    value = float(total_variation(_pooled(counts.ravel(), cells), target))
    seed = int(rng.integers(2**63))
    low, high = _interval_from_independence(counts, cells, value, seed, draws, level)
    debiased, _ = _interval_from_independence(counts, cells, value, seed, draws, POINT)
    null = np.empty(draws)
    for i in range(draws):
        shuffled = np.column_stack([rng.permutation(column) for column in codes.T])
        null[i] = total_variation(_pooled(_table(shuffled, shape).ravel(), cells), target)
    mean = float(null.mean())
    return Estimate(value, low, high, level, METHOD, len(codes), null=mean, corrected=value - mean,
                    corrected_form="value - null", debiased=debiased, p=p_value(value, null))  # fmt: skip


def _interval_from_independence(
    counts: Floats, cells: list[list[int]], value: float, seed: int, draws: int, level: float
) -> tuple[float, float]:
    """Distances of the populations product + t (observed - product), t >= 0, that the observed distance fits to."""
    n, alpha = int(counts.sum()), tail(level)
    product = _independent(counts, counts.ndim)
    gap = counts / n - product
    limit = float(np.min(product[gap < 0] / -gap[gap < 0], initial=np.inf))
    if value == 0 or not np.isfinite(limit):
        return 0.0, value

    def share_above(t: float) -> float:
        population = np.maximum(product + t * gap, 0).ravel()
        drawn = np.random.default_rng(seed).multinomial(n, population / population.sum(), size=draws)
        expected = _independent(drawn.reshape(draws, *counts.shape).astype(float), counts.ndim).reshape(draws, -1)
        distances = np.abs(_pooled(drawn / n - expected, cells)).sum(axis=-1) / 2
        return float((np.mean(distances > value - TOLERANCE) + np.mean(distances > value + TOLERANCE)) / 2)

    low = first_accepted(lambda t: share_above(t) > alpha, 0.0, 1.0)
    high = first_accepted(lambda t: share_above(t) < 1 - alpha, limit, 0.0)
    return low * value, high * value
