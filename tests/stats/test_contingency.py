"""The test of a table agrees with scipy and statsmodels; sequential permutations; degenerate
tables.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency, fisher_exact, hypergeom, random_table
from scipy.stats.contingency import association
from statsmodels.stats.contingency_tables import Table

from askew.stats.contingency import (
    ChiSquare,
    _with_margins,
    association_change_p,
    chi_square,
    chi_squares,
    chi_squares_together,
    cramers_v,
)
from askew.types import Missing

SHAPE = st.tuples(st.integers(2, 5), st.integers(2, 5))
BIG_TABLES = arrays(np.int64, SHAPE, elements=st.integers(40, 90))
TABLES = arrays(np.int64, SHAPE, elements=st.integers(0, 9))


def outcome(table: object, **options: object) -> ChiSquare:
    estimate = chi_square(table, rng=np.random.default_rng(0), **options)
    assert isinstance(estimate, ChiSquare)
    return estimate


@given(BIG_TABLES)
def test_agrees_with_scipy_and_statsmodels_where_counts_are_large(table: np.ndarray) -> None:
    estimate = outcome(table)
    expected = chi2_contingency(table, correction=False)
    assert estimate.statistic == pytest.approx(expected.statistic, abs=1e-10)
    assert estimate.p == pytest.approx(expected.pvalue, abs=1e-10)
    assert (estimate.dof, estimate.draws) == (expected.dof, None)
    other = Table(table, shift_zeros=False).test_nominal_association()
    assert (estimate.statistic, estimate.p) == (
        pytest.approx(other.statistic, abs=1e-10),
        pytest.approx(other.pvalue, abs=1e-10),
    )
    assert estimate.cramers_v == pytest.approx(association(table, method="cramer"), abs=1e-10)


@given(TABLES)
def test_statistic_and_strength_of_sparse_tables_agree_with_scipy(table: np.ndarray) -> None:
    remaining = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    estimate = chi_square(table, rng=np.random.default_rng(0), first_draws=19, max_draws=19)
    if min(remaining.shape) < 2:
        assert isinstance(estimate, Missing)
        return
    assert isinstance(estimate, ChiSquare)
    expected = chi2_contingency(remaining, correction=False)
    assert (estimate.statistic, estimate.dof) == (
        pytest.approx(expected.statistic, abs=1e-10),
        expected.dof,
    )
    assert estimate.cramers_v == pytest.approx(association(remaining, method="cramer"), abs=1e-10)
    assert estimate.draws == (None if expected.expected_freq.min() >= 5 else 19)


def test_small_counts_are_permuted_with_fixed_margins() -> None:
    table = [[8, 2], [1, 5]]
    estimate = outcome(table, first_draws=40_000, max_draws=40_000)
    assert estimate.draws == 40_000
    # both order these tables equally
    assert estimate.p == pytest.approx(fisher_exact(table).pvalue, abs=0.005)


def test_permuted_p_agrees_with_scipys_random_tables() -> None:
    table = np.array([[9, 3, 0, 2], [2, 6, 4, 2], [3, 3, 1, 6]])
    observed = chi2_contingency(table, correction=False).statistic
    tables = random_table(table.sum(axis=1), table.sum(axis=0), seed=1).rvs(4000)
    expected = chi2_contingency(table, correction=False).expected_freq
    null = ((tables - expected) ** 2 / expected).sum(axis=(1, 2))
    estimate = outcome(table, first_draws=20_000, max_draws=20_000)
    assert estimate.p == pytest.approx(np.mean(null >= observed - 1e-9), abs=0.008)


def test_draws_continue_only_while_p_is_undecided() -> None:
    unrelated = outcome([[5, 5, 3], [4, 6, 3]])
    assert unrelated.draws == 999
    assert unrelated.p > 0.1
    related = outcome([[24, 0, 0], [2, 14, 8]])
    assert related.draws > 40_000
    assert related.p < 1e-4
    undecided = outcome([[9, 1], [2, 8]], threshold=0.0055)
    assert undecided.draws == 100_000


def test_p_is_a_fraction_of_whole_draws() -> None:
    estimate = outcome([[3, 1], [1, 3]])
    assert estimate.p * (estimate.draws + 1) == pytest.approx(
        round(estimate.p * (estimate.draws + 1))
    )


def test_empty_rows_and_columns_do_not_matter() -> None:
    assert outcome([[30, 0, 20], [0, 0, 0], [20, 0, 40]]) == outcome([[30, 20], [20, 40]])


def test_complete_dependence_has_strength_one() -> None:
    assert outcome(np.eye(3) * 30).cramers_v == pytest.approx(1)


@pytest.mark.slow
def test_type_one_error_with_small_counts() -> None:
    rng = np.random.default_rng(4)
    p = [p_of(rng.multinomial(8, [0.7, 0.2, 0.1], size=3), rng) for _ in range(300)]
    assert np.mean(np.array(p) <= 0.05) <= 0.08


def p_of(table: np.ndarray, rng: np.random.Generator) -> float:
    estimate = chi_square(table, rng=rng, threshold=0.9)
    return 1.0 if isinstance(estimate, Missing) else estimate.p


def test_the_test_of_a_table_does_not_depend_on_other_tables() -> None:
    tables = [[[3, 1], [1, 3]], [[9, 1], [2, 8]], [[1, 2]]]
    crowd = chi_squares(tables, rng=np.random.default_rng(3))
    assert crowd[0] == chi_squares(tables[:1], rng=np.random.default_rng(3))[0]
    assert crowd[::-1] == chi_squares(tables[::-1], rng=np.random.default_rng(3))
    assert isinstance(crowd[2], Missing)


@pytest.mark.parametrize(
    "table", [[[1, 2]], [[1, 0], [3, 0]], [[0, 0], [0, 0]], np.empty((0, 3)), [[1, 2], [0, 0]]]
)
def test_too_small_tables_are_missing_with_a_reason(table: list[list[int]]) -> None:
    estimate = chi_square(table, rng=np.random.default_rng(0))
    assert isinstance(estimate, Missing)
    assert estimate.detail


@pytest.mark.parametrize("table", [[1, 2], [[0.5, 1], [1, 1]], [[-1, 2], [1, 1]]])
def test_what_is_not_a_table_of_counts_is_refused(table: list[object]) -> None:
    with pytest.raises(ValueError, match="table of counts"):
        chi_square(table, rng=np.random.default_rng(0))


@pytest.mark.slow
def test_a_change_of_association_is_rejected_at_its_level_and_found() -> None:
    """Tables of 24 and 60 images per row: V is larger with few images if nothing differs."""
    rng = np.random.default_rng(0)
    shares = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    independent = np.array([[0.35, 0.3, 0.35]] * 2)
    rejected = {"equal": 0, "independent": 0, "different": 0}
    runs = 150
    for _ in range(runs):
        pairs = {
            "equal": (shares, shares),
            "independent": (independent, independent),
            "different": (independent, np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])),
        }
        for name, (first, later) in pairs.items():
            tables = (rng.multinomial(24, first), rng.multinomial(60, later))
            rejected[name] += association_change_p(*tables, rng=rng) < 0.05
    assert 0.01 < rejected["equal"] / runs < 0.1
    assert 0.01 < rejected["independent"] / runs < 0.1
    assert rejected["different"] / runs > 0.8


def test_exchanges_agree_with_all_tables_that_they_can_reach() -> None:
    first = np.array([[4, 1], [1, 4]])
    later = np.array([[2, 3], [3, 2]])
    exact = 0.0
    observed = float(cramers_v(later) - cramers_v(first))
    total = first + later
    for a, b in itertools.product(range(6), repeat=2):
        table = np.array([[a, 5 - a], [b, 5 - b]])
        rest = total - table
        if (rest < 0).any():
            continue
        weight = 1.0
        for row, sum_of_row in zip(table, total, strict=True):
            weight *= hypergeom.pmf(row[0], sum_of_row.sum(), sum_of_row[0], 5)
        change = float(cramers_v(rest) - cramers_v(table))
        exact += weight * (0.5 if abs(change - observed) < 1e-9 else change < observed)
    p = association_change_p(first, later, rng=np.random.default_rng(0))
    assert p == pytest.approx(2 * min(exact, 1 - exact), abs=0.04)


def test_tables_of_other_shapes_have_no_change_of_association() -> None:
    with pytest.raises(ValueError, match="two tables of the same shape"):
        association_change_p(np.eye(2), np.eye(3), rng=np.random.default_rng(0))


def test_tables_permuted_together_have_the_law_of_tables_permuted_one_by_one() -> None:
    """Compare exceedances of both with those of SciPy's tables of fixed margins."""
    tables = [np.array([[7, 1, 0], [2, 5, 1]]), np.array([[3, 1], [1, 4], [0, 2]])]
    draws = 4000
    options = {"first_draws": draws, "max_draws": draws}
    together = chi_squares_together(tables, rng=np.random.default_rng(1), **options)
    separate = chi_squares(tables, rng=np.random.default_rng(2), **options)
    for table, first, second in zip(tables, together, separate, strict=True):
        law = random_table(table.sum(axis=1), table.sum(axis=0))
        drawn = law.rvs(draws, random_state=np.random.default_rng(3))
        expected = law.mean()
        statistics = (np.square(drawn - expected) / expected).sum(axis=(1, 2))
        observed = (np.square(table - expected) / expected).sum()
        reached = np.mean(statistics >= observed - 1e-9)
        error = 4 * np.sqrt(2 * reached * (1 - reached) / draws)
        for test in (first, second):
            assert isinstance(test, ChiSquare)
            assert test.draws == draws
            assert test.p == pytest.approx(reached, abs=error)


def test_tables_permuted_together_keep_their_margins_and_frequencies() -> None:
    """Compare a cell of the drawn tables with the hypergeometric law."""
    rows = np.array([[[3.0, 2.0, 0.0]], [[2.0, 2.0, 2.0]]])
    columns = np.array([[[4.0, 1.0]], [[3.0, 3.0]]])
    drawn = _with_margins(rows, columns, 6000, np.random.default_rng(0))
    assert np.array_equal(drawn.sum(axis=-1), np.broadcast_to(rows, (2, 6000, 3)))
    assert np.array_equal(drawn.sum(axis=-2), np.broadcast_to(columns, (2, 6000, 2)))
    in_first_cell = np.bincount(drawn[1, :, 0, 0], minlength=3) / 6000
    assert in_first_cell == pytest.approx(hypergeom.pmf(range(3), 6, 3, 2), abs=0.025)
    assert np.mean(drawn[0, :, 0, 1]) == pytest.approx(3 / 5, abs=0.025)


def test_degenerate_and_large_tables_are_tested_together_as_one_by_one() -> None:
    tables = [
        np.array([[40, 50], [60, 30]]),
        np.array([[0, 0], [0, 0]]),
        np.array([[3, 0], [4, 0]]),
    ]
    rng = np.random.default_rng(0)
    assert chi_squares_together(tables, rng=rng) == chi_squares(tables, rng=rng)
