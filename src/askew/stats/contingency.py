"""Does the distribution of one axis change with another? Pearson's chi-squared test of tables of
counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.stats.intervals import TOLERANCE, Floats
from askew.types import Missing

SMALL_EXPECTED = 5
CERTAINTY = 0.999
MOST_AT_ONCE = 2_000_000  # numbers in one block of permuted tables


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """Result of a test of independence.

    statistic  Pearson's chi-squared, without continuity correction
    dof        its degrees of freedom
    p          from the chi-squared distribution, or (1 + exceedances) / (1 + draws) by permutation
    draws      permutations made; None where the chi-squared distribution was used
    cramers_v  strength of the dependence: sqrt(chi2 / (n (min(K, m) - 1))), in [0, 1], not corrected for chance
    """

    statistic: float
    dof: int
    p: float
    draws: int | None
    cramers_v: float


def chi_square(
    table: ArrayLike,
    *,
    rng: Generator,
    threshold: float = 1e-4,
    first_draws: int = 999,
    max_draws: int = 100_000,
) -> ChiSquare | Missing:
    """Test whether rows and columns of a table of counts are independent (BiasConnect, section
    3.3).

    All expected counts at least 5: asymptotic. Otherwise by permutation, that is by random tables
    with the same margins: `first_draws` of them, then more until a 99.9 % Clopper-Pearson interval
    of p lies on one side of `threshold`, below which the caller calls them dependent, or
    `max_draws` are made. Of the table (K, m) rows are the values of the intervened axis, columns
    those observed on the target axis; Missing where fewer than two of either have counts, and those
    without are dropped.
    """
    counts = np.asarray(table, dtype=float)
    if (
        counts.ndim != 2
        or not np.all(np.isfinite(counts))
        or np.any(counts < 0)
        or np.any(counts % 1)
    ):
        raise ValueError(
            "a table of counts has two axes and holds whole numbers that are not negative"
        )
    counts = np.asarray(counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0])
    if counts.size == 0:
        return Missing("not_asked", "no picture has an answer")
    if counts.shape[0] < 2:
        return Missing(
            "not_asked", "fewer than two picture sets have answers, so there is nothing to compare"
        )
    if counts.shape[1] < 2:
        return Missing("error", "all pictures show the same value, so it cannot depend on anything")
    rows = counts.sum(axis=1)
    columns = counts.sum(axis=0)
    expected = np.outer(rows, columns) / counts.sum()
    statistic = float(_pearson(counts, expected))
    dof = (len(rows) - 1) * (len(columns) - 1)
    strength = float(cramers_v(counts))
    if expected.min() >= SMALL_EXPECTED:
        return ChiSquare(statistic, dof, float(scipy.stats.chi2.sf(statistic, dof)), None, strength)
    reached = statistic - TOLERANCE * max(statistic, 1.0)
    exceedances = draws = 0
    while draws < max_draws:
        more = min(max(draws, first_draws), max_draws - draws, max(1, MOST_AT_ONCE // counts.size))
        exceedances += int(
            np.count_nonzero(_pearson(_with_margins(rows, columns, more, rng), expected) >= reached)
        )
        draws += more
        certain = scipy.stats.binomtest(exceedances, draws).proportion_ci(
            CERTAINTY
        )  # Clopper-Pearson
        if certain.low > threshold or certain.high < threshold:
            break
    return ChiSquare(statistic, dof, (1 + exceedances) / (1 + draws), draws, strength)


def chi_squares(
    tables: Sequence[ArrayLike], *, rng: Generator, threshold: float = 1e-4
) -> tuple[ChiSquare | Missing, ...]:
    """`chi_square` of every table, in their order. The answer to one does not depend on which
    others are asked.
    """
    seed = int(rng.integers(2**63))
    found = []
    for table in tables:
        counts = np.asarray(table, dtype=np.int64)
        own = np.random.default_rng([seed, *counts.shape, *counts.ravel().tolist()])
        found.append(chi_square(table, rng=own, threshold=threshold))
    return tuple(found)


def cramers_v(tables: NDArray[np.int64] | Floats) -> Floats:
    """Cramer's V of tables (..., K, L) of counts; 0 where a table has a single row or column that
    is used.
    """
    counts = np.asarray(tables, dtype=float)
    n = counts.sum(axis=(-2, -1))
    rows = counts.sum(axis=-1)
    columns = counts.sum(axis=-2)
    expected = rows[..., :, None] * columns[..., None, :] / n[..., None, None]
    parts = np.divide(
        (counts - expected) ** 2, expected, out=np.zeros_like(counts), where=expected > 0
    )
    used = np.minimum((rows > 0).sum(axis=-1), (columns > 0).sum(axis=-1)) - 1
    return np.asarray(np.minimum(np.sqrt(parts.sum(axis=(-2, -1)) / n / np.maximum(used, 1)), 1.0))


def raked(table: ArrayLike, like: ArrayLike) -> Floats:
    """The table (K, L) with the row and column shares of another, in which two axes hang together
    as they do in it.

    Rows and columns are scaled by turns (Deming and Stephan 1940), which keeps all odds ratios.
    """
    found = np.asarray(table, dtype=float)
    margins = np.asarray(like, dtype=float) / np.sum(like)
    for _ in range(100):
        for axis in (0, 1):
            now = found.sum(axis=axis, keepdims=True)
            found = found * np.divide(
                margins.sum(axis=axis, keepdims=True), now, out=np.zeros_like(now), where=now > 0
            )
    return found


def _pearson(counts: Floats | NDArray[np.int64], expected: Floats) -> Floats:
    """(..., K, m) to (...)."""
    return np.asarray(
        np.einsum("...rc,rc->...", np.square(counts, dtype=float), 1 / expected) - expected.sum()
    )


def _with_margins(rows: Floats, columns: Floats, size: int, rng: Generator) -> NDArray[np.int64]:
    """Random tables (size, K, m) with these margins, as permutation makes them, cell by cell."""
    left = np.tile(columns.astype(np.int64), (size, 1))
    tables = np.empty((size, len(rows), len(columns)), dtype=np.int64)
    for i, row in enumerate(rows[:-1].astype(np.int64)):
        wanted = np.full(size, row)
        others = left.sum(axis=1)
        for j in range(len(columns) - 1):
            others -= left[:, j]
            tables[:, i, j] = rng.hypergeometric(left[:, j], others, wanted)
            wanted -= tables[:, i, j]
        tables[:, i, -1] = wanted
        left -= tables[:, i]
    tables[:, -1] = left
    return tables
