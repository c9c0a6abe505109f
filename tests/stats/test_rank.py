"""Spearman's correlation agrees with scipy, and its interval covers the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from askew.errors import NotEnoughData
from askew.stats.rank import rank_correlations, spearman
from slow_cases import quick_only


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=4, max_size=30))
def test_agrees_with_scipy_ties_included(pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    rank_correlation = spearman(x, y, rng=np.random.default_rng(0), draws=20)
    assert rank_correlation.value == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert -1 <= rank_correlation.low <= rank_correlation.value <= rank_correlation.high <= 1


def test_p_is_near_the_exact_one_of_all_orders() -> None:
    x = np.arange(6)
    y = np.array([0, 2, 1, 3, 5, 4])
    rank_correlation = spearman(x, y, rng=np.random.default_rng(1), draws=20_000)
    assert rank_correlation.p == pytest.approx(0.0333, abs=0.006)  # 24 of 720 orders are as extreme


def test_perfect_agreement_still_has_an_interval() -> None:
    rank_correlation = spearman(range(10), range(10), rng=np.random.default_rng(0))
    assert rank_correlation.high == 1
    assert 0.8 < rank_correlation.low < 1


def test_three_pairs_have_no_interval_and_two_no_correlation() -> None:
    assert spearman([1, 2, 3], [1, 3, 2], rng=np.random.default_rng(0)).low is None
    with pytest.raises(NotEnoughData, match="three pairs"):
        spearman([1, 2], [1, 2], rng=np.random.default_rng(0))
    with pytest.raises(NotEnoughData, match="all equal"):
        spearman([1, 1, 1], [1, 2, 3], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="3 and 4"):
        spearman([1, 2, 3], [1, 2, 3, 4], rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("correlation", "n"), quick_only([(0.6, 15)], [(0.0, 15), (0.6, 15), (0.7, 26)])
)
def test_the_interval_covers_the_population_value(correlation: float, n: int) -> None:
    rng = np.random.default_rng(3)
    # Spearman's correlation of a binormal population
    truth = 6 / np.pi * np.arcsin(correlation / 2)
    covered = []
    for _ in range(400):
        x, y = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], size=n).T
        rank_correlation = spearman(x, y, rng=rng, draws=1)
        covered.append(rank_correlation.low <= truth <= rank_correlation.high)
    assert 0.925 <= np.mean(covered) <= 0.98


def test_rank_correlations_of_several_lists_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 8)
    rows = rng.integers(0, 5, (6, 8))
    assert rank_correlations(x, rows) == pytest.approx(
        [spearmanr(x, row).statistic for row in rows]
    )
    assert np.isnan(rank_correlations([1, 2, 3], [1, 1, 1]))
    assert np.isnan(rank_correlations([1, 2], [[1, 2], [2, 1]])).all()
