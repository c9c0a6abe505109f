"""Shares of combinations of values of two or three axes at once, against a reference population or independence.

Sparse cells: a combination of which fewer than `LEAST_EXPECTED` pictures are expected says little by itself. Such
combinations are pooled into one "rest"; if fewer than that many are expected of the rest too, the combinations with the
next smallest expectations join it. What is pooled depends on the expectation alone, never on what was found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.distance import normalised, total_variation
from askew.stats.distance_intervals import METHOD
from askew.stats.intervals import TOLERANCE, Floats, first_accepted, p_value, tail
from askew.stats.shares import distance_estimate, share_intervals
from askew.types import Estimate

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
        ValueError: shapes that do not fit, or a code outside its axis.
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
    low, high = _interval_from_independence(counts, cells, value, rng, draws, level)
    null = np.empty(draws)
    for i in range(draws):
        shuffled = np.column_stack([rng.permutation(column) for column in codes.T])
        null[i] = total_variation(_pooled(_table(shuffled, shape).ravel(), cells), target)
    mean = float(null.mean())
    return Estimate(value, low, high, level, METHOD, len(codes), null=mean, corrected=value - mean,
                    corrected_form="value - null", p=p_value(value, null))  # fmt: skip


def _interval_from_independence(
    counts: Floats, cells: list[list[int]], value: float, rng: np.random.Generator, draws: int, level: float
) -> tuple[float, float]:
    """Distances of the populations product + t (observed - product), t >= 0, that the observed distance fits to."""
    n, alpha = int(counts.sum()), tail(level)
    product = _independent(counts, counts.ndim)
    gap = counts / n - product
    limit = float(np.min(product[gap < 0] / -gap[gap < 0], initial=np.inf))
    if value == 0 or not np.isfinite(limit):
        return 0.0, value
    seed = int(rng.integers(2**63))

    def share_above(t: float) -> float:
        population = np.maximum(product + t * gap, 0).ravel()
        drawn = np.random.default_rng(seed).multinomial(n, population / population.sum(), size=draws)
        expected = _independent(drawn.reshape(draws, *counts.shape).astype(float), counts.ndim).reshape(draws, -1)
        distances = np.abs(_pooled(drawn / n - expected, cells)).sum(axis=-1) / 2
        return float((np.mean(distances > value - TOLERANCE) + np.mean(distances > value + TOLERANCE)) / 2)

    low = first_accepted(lambda t: share_above(t) > alpha, 0.0, 1.0)
    high = first_accepted(lambda t: share_above(t) < 1 - alpha, limit, 0.0)
    return low * value, high * value
