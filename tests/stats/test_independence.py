"""The test of independence against scipy, and its sequential permutations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency, fisher_exact
from scipy.stats.contingency import association

from askew.errors import NotEnoughData
from askew.stats.independence import independence

BIG_TABLES = arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(2, 5)), elements=st.integers(40, 90))


@given(BIG_TABLES)
def test_agrees_with_scipy_where_counts_are_large(table: np.ndarray) -> None:
    found, expected = independence(table, rng=np.random.default_rng(0)), chi2_contingency(table, correction=False)
    assert found.chi2 == pytest.approx(expected.statistic, abs=1e-10)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-10)
    assert (found.dof, found.draws, found.method) == (expected.dof, 0, "chi-squared")
    assert found.cramers_v == pytest.approx(association(table, method="cramer"), abs=1e-10)


def test_small_counts_are_permuted_with_fixed_margins() -> None:
    table = [[8, 2], [1, 5]]
    found = independence(table, rng=np.random.default_rng(0), first_draws=40_000, max_draws=40_000)
    assert (found.method, found.draws) == ("permutation", 40_000)
    assert found.p == pytest.approx(fisher_exact(table).pvalue, abs=0.005)  # both order these tables alike


def test_draws_go_on_only_while_p_is_not_decided() -> None:
    rng = np.random.default_rng(0)
    unrelated = independence([[5, 5, 3], [4, 6, 3]], rng=rng)
    assert unrelated.draws == 999
    assert unrelated.p > 0.1
    related = independence([[24, 0, 0], [2, 14, 8]], rng=rng)
    assert related.draws > 40_000
    assert related.p < 1e-4
    undecided = independence([[9, 1], [2, 8]], rng=rng, threshold=0.0055)
    assert undecided.draws == 100_000


def test_p_is_a_fraction_of_whole_draws() -> None:
    found = independence([[3, 1], [1, 3]], rng=np.random.default_rng(0))
    assert found.p * (found.draws + 1) == pytest.approx(round(found.p * (found.draws + 1)))


def test_empty_rows_and_columns_do_not_matter() -> None:
    full = independence([[30, 20], [20, 40]], rng=np.random.default_rng(0))
    assert independence([[30, 0, 20], [0, 0, 0], [20, 0, 40]], rng=np.random.default_rng(0)) == full


def test_complete_dependence_has_strength_one() -> None:
    assert independence(np.eye(3) * 30, rng=np.random.default_rng(0)).cramers_v == pytest.approx(1)


def test_type_one_error_with_small_counts() -> None:
    rng = np.random.default_rng(4)
    p = [independence(rng.multinomial(8, [0.7, 0.2, 0.1], size=3), rng=rng, threshold=0.9).p for _ in range(300)]
    assert np.mean(np.array(p) <= 0.05) <= 0.08


@pytest.mark.parametrize("table", [[[1, 2]], [[1, 0], [3, 0]], [[0, 0], [0, 0]]])
def test_too_small_tables_are_not_tested(table: list[list[int]]) -> None:
    with pytest.raises(NotEnoughData):
        independence(table, rng=np.random.default_rng(0))


@pytest.mark.parametrize("table", [[1, 2], [[0.5, 1], [1, 1]], [[-1, 2], [1, 1]]])
def test_what_is_not_a_table_of_counts_is_refused(table: list[object]) -> None:
    with pytest.raises(ValueError, match="table of counts"):
        independence(table, rng=np.random.default_rng(0))
