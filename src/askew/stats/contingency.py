"""Pearson's chi-squared test for tables of counts, and the strength of the association."""

import math
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
RAKING_STEPS = 100
FIRST_EXCHANGES = 999
MOST_EXCHANGES = 99_990
FAR = 5  # times above or below the threshold, where a p needs no more exchanges
EXPECTED_BELOW = 100  # exchanges with a p below the threshold, which determine p well enough


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """Result of a test for independence between the rows and columns of a table.

    Attributes
    ----------
    statistic : float
        Pearson's chi-squared, without continuity correction.
    dof : int
        Degrees of freedom of the statistic.
    p : float
        p-value from the chi-squared distribution, or (1 + exceedances) / (1 + draws) from
        permutations.
    draws : int, optional
        Number of permutations; None if the chi-squared distribution was used.
    cramers_v : float
        Strength of the association, sqrt(chi2 / (n (min(K, m) - 1))), in [0, 1], not corrected for
        chance.
    """

    statistic: float
    dof: int
    p: float
    draws: int | None
    cramers_v: float


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Result of a permutation test.

    Attributes
    ----------
    exceedances : int
        Number of permuted tables with a statistic at least as large as the observed statistic.
    draws : int
        Number of permuted tables.
    """

    exceedances: int
    draws: int

    @property
    def p(self) -> float:
        """Permutation p-value, (1 + exceedances) / (1 + draws)."""
        return (1 + self.exceedances) / (1 + self.draws)

    def extended(self, statistics: Floats, reached: float) -> "PermutationTest":
        """Return the test after adding the statistics of more permuted tables."""
        return PermutationTest(
            exceedances=self.exceedances + int(np.count_nonzero(statistics >= reached)),
            draws=self.draws + len(statistics),
        )

    def is_decided(self, threshold: float) -> bool:
        """Check whether a threshold is outside the Clopper-Pearson interval for p."""
        reached = self.exceedances
        others = self.draws - reached
        outer = (1 - CERTAINTY) / 2
        is_above = reached > 0 and scipy.special.betainc(reached, others + 1, threshold) < outer
        is_below = others > 0 and scipy.special.betaincc(reached + 1, others, threshold) < outer
        return bool(is_above or is_below)


def chi_square(
    table: ArrayLike,
    *,
    rng: Generator,
    threshold: float = 1e-4,
    first_draws: int = 999,
    max_draws: int = 100_000,
) -> ChiSquare | Missing:
    """Test whether the rows and columns of a table are independent (BiasConnect, section 3.3).

    The test is asymptotic if all expected counts are at least 5. If not, it is a permutation test,
    which compares the table with random tables that have the same row and column sums.

    Parameters
    ----------
    table : array, (K, m)
        Counts. Rows are values of the changed axis, and columns are values of the observed axis. Rows
        and columns without counts are dropped.
    rng
        Random generator for the permutations.
    threshold
        Significance threshold that the caller applies to p.
    first_draws
        Number of permutations in the first round. Permutations are added until a 99.9 %
        Clopper-Pearson interval for p no longer includes `threshold`.
    max_draws
        Maximum number of permutations.

    Returns
    -------
    ChiSquare or Missing
        Result of the test; Missing if fewer than two rows, or fewer than two columns, have counts.

    Raises
    ------
    ValueError
        If `table` does not contain counts.
    """
    known = _known_table(table)
    if isinstance(known, Missing):
        return known
    if known.is_large:
        return known.asymptotic
    permutations = _permute(known, rng=rng, threshold=threshold, draws=(first_draws, max_draws))
    return known.permuted(permutations)


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table of counts whose rows and columns can be tested for independence.

    Attributes
    ----------
    counts : array, (K, m)
        Counts, without empty rows and columns.
    expected : array, (K, m)
        Expected counts if rows and columns are independent.
    statistic : float
        Pearson's chi-squared statistic of the counts.
    """

    counts: Floats
    expected: Floats
    statistic: float

    @property
    def dof(self) -> int:
        """Degrees of freedom."""
        return int(np.prod(np.array(self.counts.shape) - 1))

    @property
    def is_large(self) -> bool:
        """Check whether all expected counts are large enough for the asymptotic test."""
        return bool(self.expected.min() >= SMALL_EXPECTED)

    @property
    def reached(self) -> float:
        """Minimum statistic at which a permuted table counts as an exceedance."""
        return self.statistic - TOLERANCE * max(self.statistic, 1.0)

    @property
    def asymptotic(self) -> ChiSquare:
        """Result of the asymptotic test."""
        return self._test(float(scipy.special.chdtrc(self.dof, self.statistic)), None)

    def permuted(self, permutations: PermutationTest) -> ChiSquare:
        """Return the result of the permutation test."""
        return self._test(permutations.p, permutations.draws)

    def _test(self, p: float, draws: int | None) -> ChiSquare:
        largest = float(self.counts.sum()) * (min(self.counts.shape) - 1)
        v = math.sqrt(min(max(self.statistic, 0.0) / largest, 1.0))
        return ChiSquare(statistic=self.statistic, dof=self.dof, p=p, draws=draws, cramers_v=v)


def _known_table(table: ArrayLike) -> KnownTable | Missing:
    """Return a table with its statistic, or the reason why the table cannot be tested."""
    counts = _used_counts(table)
    if counts.size == 0:
        return Missing("not_asked", "no image has an answer")
    if counts.shape[0] < 2:
        return Missing(
            "not_asked", "fewer than two image sets have answers, so there is nothing to compare"
        )
    if counts.shape[1] < 2:
        return Missing("error", "all images show the same value, so no dependence can be tested")
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    return KnownTable(
        counts=counts,
        expected=expected,
        statistic=float(_pearson(counts, 1 / expected, counts.sum())),
    )


def _used_counts(table: ArrayLike) -> Floats:
    """Check a table of counts, and return it without empty rows and columns."""
    counts = np.asarray(table, dtype=float)
    is_table = counts.ndim == 2 and np.all(np.isfinite(counts))
    if not is_table or np.any(counts < 0) or np.any(counts % 1):
        raise ValueError(
            "a table of counts must have two axes, and contain non-negative whole numbers"
        )
    return np.asarray(counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0])


def _permute(
    known: KnownTable, *, rng: Generator, threshold: float, draws: tuple[int, int]
) -> PermutationTest:
    """Draw more permuted tables until p is clearly above or below the threshold."""
    first_draws, max_draws = draws
    rows = known.counts.sum(axis=1)
    columns = known.counts.sum(axis=0)
    at_once = max(1, MOST_AT_ONCE // known.expected.size)
    test = PermutationTest(exceedances=0, draws=0)
    while test.draws < max_draws:
        size = min(max(test.draws, first_draws), max_draws - test.draws, at_once)
        tables = _with_margins(rows, columns, size, rng)
        statistics = _pearson(tables, 1 / known.expected, rows.sum())
        test = test.extended(statistics, known.reached)
        if test.is_decided(threshold):
            break
    return test


def chi_squares(
    tables: Sequence[ArrayLike],
    *,
    rng: Generator,
    threshold: float = 1e-4,
    first_draws: int = 999,
    max_draws: int = 100_000,
) -> tuple[ChiSquare | Missing, ...]:
    """Test each table in order, as in `chi_square`.

    The result for a table does not depend on which other tables are tested.

    Parameters
    ----------
    tables : sequence of array, (K, m)
        Tables of counts.
    rng
        Random generator that draws the seed for all permutations.
    threshold, first_draws, max_draws
        As in `chi_square`.
    """
    seed = int(rng.integers(2**63))
    tests = []
    for table in tables:
        counts = np.asarray(table, dtype=np.int64)
        generator = np.random.default_rng([seed, *counts.shape, *counts.ravel().tolist()])
        test = chi_square(
            table,
            rng=generator,
            threshold=threshold,
            first_draws=first_draws,
            max_draws=max_draws,
        )
        tests.append(test)
    return tuple(tests)


def chi_squares_together(
    tables: Sequence[ArrayLike],
    *,
    rng: Generator,
    threshold: float = 1e-4,
    first_draws: int = 999,
    max_draws: int = 100_000,
) -> tuple[ChiSquare | Missing, ...]:
    """Test each table as in `chi_squares`, but draw the permutations for all tables together.

    Joint draws take less time if there are many tables and few draws. The results have the
    same distribution as in `chi_squares`, but the draws for one table depend on all the other
    tables.

    Parameters
    ----------
    tables : sequence of array, (K, m)
        Tables of counts.
    rng
        Random generator for the permutations.
    threshold, first_draws, max_draws
        As in `chi_square`.
    """
    known = [_known_table(table) for table in tables]
    small = {
        place: table
        for place, table in enumerate(known)
        if isinstance(table, KnownTable) and not table.is_large
    }
    permutations = {place: PermutationTest(exceedances=0, draws=0) for place in small}
    undecided = list(small)
    draws = 0
    while undecided and draws < max_draws:
        of_tables = [small[place] for place in undecided]
        cells = sum(table.expected.size for table in of_tables)
        size = min(max(draws, first_draws), max_draws - draws, max(1, MOST_AT_ONCE // cells))
        for place, statistics in zip(undecided, _permuted(of_tables, size, rng), strict=True):
            permutations[place] = permutations[place].extended(statistics, small[place].reached)
        draws += size
        undecided = [p for p in undecided if not permutations[p].is_decided(threshold)]
    tests: list[ChiSquare | Missing] = []
    for place, table in enumerate(known):
        if isinstance(table, Missing):
            tests.append(table)
        elif place in permutations:
            tests.append(table.permuted(permutations[place]))
        else:
            tests.append(table.asymptotic)
    return tuple(tests)


def _permuted(tables: Sequence[KnownTable], size: int, rng: Generator) -> Floats:
    """Return Pearson's statistic for `size` random permutations of each table.

    The result has the shape (tables, size). All tables are padded to the same shape with empty rows
    and columns.
    """
    shape = np.max([table.counts.shape for table in tables], axis=0)
    rows = np.zeros((len(tables), 1, shape[0]))
    columns = np.zeros((len(tables), 1, shape[1]))
    weights = np.zeros((len(tables), 1, *shape))
    for place, table in enumerate(tables):
        of_rows, of_columns = table.counts.shape
        rows[place, 0, :of_rows] = table.counts.sum(axis=1)
        columns[place, 0, :of_columns] = table.counts.sum(axis=0)
        weights[place, 0, :of_rows, :of_columns] = 1 / table.expected
    permuted = _with_margins(rows, columns, size, rng)
    return _pearson(permuted, weights, rows.sum(axis=-1))


def association_change_p(
    first: ArrayLike, later: ArrayLike, *, rng: Generator, threshold: float = 0.05
) -> float:
    """Test whether the association between two axes differs between two models.

    The statistic is the difference between the two models' Cramér's V. The statistic's null
    distribution comes from random swaps of images between the models. Images are swapped only
    within a row, which contains the images of one counterfactual prompt. Small samples inflate V,
    but the test accounts for different numbers of images.

    Parameters
    ----------
    first, later : array, (K, m)
        Counts for the two models, with the same rows and columns.
    rng
        Random generator for the swaps.
    threshold
        Significance threshold that the caller applies to p. askew draws more swaps until p is far
        from the threshold, or until the error of p is below about a tenth of the threshold.

    Returns
    -------
    float
        Two-sided mid-p value, in (0, 1]. The test is valid for the null hypothesis that both models
        have the same shares in each row. If the models have the same association but different
        shares, the test is significant about as often as if the shares were the same.

    Raises
    ------
    ValueError
        If the two tables have different shapes.
    """
    tables = (np.asarray(first, dtype=np.int64), np.asarray(later, dtype=np.int64))
    if tables[0].shape != tables[1].shape or tables[0].ndim != 2:
        shapes = f"{tables[0].shape} and {tables[1].shape}"
        raise ValueError(f"tables of shapes {shapes}; two tables of the same shape are needed")
    total = tables[0] + tables[1]
    observed = float(cramers_v(tables[1]) - cramers_v(tables[0]))
    above = 0
    equal = 0
    draws = 0
    p = 1.0
    while draws < min(MOST_EXCHANGES, EXPECTED_BELOW / threshold):
        size = max(FIRST_EXCHANGES, draws * 9)
        exchanged = _exchanged(total, tables[0].sum(axis=1), size, rng)
        changes = cramers_v(total - exchanged) - cramers_v(exchanged)
        above += int(np.count_nonzero(changes > observed + TOLERANCE))
        equal += int(np.count_nonzero(np.abs(changes - observed) <= TOLERANCE))
        draws += size
        upper = (above + (equal + 1) / 2) / (draws + 1)
        p = min(1.0, 2 * min(upper, 1 - upper))
        if p > FAR * threshold or p < threshold / FAR:
            break
    return p


def _exchanged(
    total: NDArray[np.int64], sizes: NDArray[np.int64], draws: int, rng: Generator
) -> NDArray[np.int64]:
    """Draw tables from the pooled images of both models.

    Row i of a table contains sizes[i] images.
    """
    rows = [
        rng.multivariate_hypergeometric(row, size, size=draws, method="marginals")
        for row, size in zip(total, sizes.tolist(), strict=True)
    ]
    return np.stack(rows, axis=1)


def cramers_v(tables: NDArray[np.int64] | Floats) -> Floats:
    """Return Cramér's V of tables of counts, in [0, 1].

    Parameters
    ----------
    tables : array, (..., K, L)
        Tables of counts.

    Returns
    -------
    array, (...)
        V of each table; 0 if only one row or only one column has counts.
    """
    counts = np.asarray(tables, dtype=float)
    n = counts.sum(axis=(-2, -1))
    rows = counts.sum(axis=-1)
    columns = counts.sum(axis=-2)
    expected = rows[..., :, None] * columns[..., None, :] / n[..., None, None]
    squares = (counts - expected) ** 2
    parts = np.divide(squares, expected, out=np.zeros_like(counts), where=expected > 0)
    used = np.minimum((rows > 0).sum(axis=-1), (columns > 0).sum(axis=-1)) - 1
    v = np.sqrt(parts.sum(axis=(-2, -1)) / n / np.maximum(used, 1))
    return np.asarray(np.minimum(v, 1.0))


def raked(table: ArrayLike, like: ArrayLike) -> Floats:
    """Scale a table so that it has the row and column shares of another table.

    Rows and columns are scaled alternately (Deming and Stephan 1940). This preserves all odds
    ratios, and thus the association between the two axes in `table`.

    Parameters
    ----------
    table : array, (K, L)
        Table to scale.
    like : array, (K, L)
        Table that has the desired row and column shares.
    """
    scaled = np.asarray(table, dtype=float)
    margins = np.asarray(like, dtype=float) / np.sum(like)
    for _ in range(RAKING_STEPS):
        for axis in (0, 1):
            present = scaled.sum(axis=axis, keepdims=True)
            wanted = margins.sum(axis=axis, keepdims=True)
            scaled = scaled * np.divide(
                wanted, present, out=np.zeros_like(present), where=present > 0
            )
    return scaled


def _pearson(counts: Floats | NDArray[np.int64], weights: Floats, n: ArrayLike) -> Floats:
    """Return Pearson's chi-squared statistic for each table of n images.

    The weight of each cell is 1 / its expected count.
    """
    squares = np.square(counts, dtype=float)
    return np.asarray((squares * weights).sum(axis=(-2, -1)) - n)


def _with_margins(rows: Floats, columns: Floats, size: int, rng: Generator) -> NDArray[np.int64]:
    """Draw tables with the given row and column sums, as by randomly permuting the images.

    The result has the shape (..., size, K, m). For a single table, `rows` has the shape (K,) and
    `columns` has the shape (m,). For several tables, the shapes are (tables, 1, K) and (tables, 1,
    m).
    """
    sums = np.broadcast_to(rows, (*rows.shape[:-2], size, rows.shape[-1])).astype(np.int64)
    left = np.broadcast_to(columns, (*columns.shape[:-2], size, columns.shape[-1])).astype(np.int64)
    tables = np.empty((*sums.shape, left.shape[-1]), dtype=np.int64)
    for i in range(sums.shape[-1] - 1):
        wanted = sums[..., i].copy()
        others = left.sum(axis=-1)
        for j in range(left.shape[-1] - 1):
            others -= left[..., j]
            tables[..., i, j] = rng.hypergeometric(left[..., j], others, wanted)
            wanted -= tables[..., i, j]
        tables[..., i, -1] = wanted
        left -= tables[..., i, :]
    tables[..., -1, :] = left
    return tables
