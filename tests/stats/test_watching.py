"""Tests of a series of models: another implementation, exact levels, and properties."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.contingency_tables import mcnemar

from askew.stats.watching import exact_change_p, spent_level

tables = arrays(np.int64, (3, 3), elements=st.integers(0, 30))


@given(tables)
def test_each_value_has_mcnemars_exact_p(changes: np.ndarray) -> None:
    for value, p in enumerate(exact_change_p(changes)):
        others = [k for k in range(3) if k != value]
        lost = changes[value, others].sum()
        gained = changes[others, value].sum()
        square = [[changes[value, value], lost], [gained, 1]]
        assert p == pytest.approx(mcnemar(square, exact=True).pvalue)


@given(tables)
def test_the_order_of_models_and_values_does_not_matter(changes: np.ndarray) -> None:
    p = exact_change_p(changes)
    assert p == pytest.approx(exact_change_p(changes.T))
    order = [2, 0, 1]
    assert p[order] == pytest.approx(exact_change_p(changes[order][:, order]))
    assert (exact_change_p(np.diag(np.diag(changes))) == 1).all()


@pytest.mark.parametrize("level", [0.025, 0.004, 0.0001])
def test_a_level_is_never_exceeded(level: float) -> None:
    for pairs in (5, 17, 48):
        lost = np.arange(pairs + 1)
        p = np.array([exact_change_p([[0, k], [pairs - k, 0]])[0] for k in lost])
        assert scipy.stats.binom.pmf(lost[p <= level], pairs, 0.5).sum() <= level


def test_levels_of_a_series_add_up() -> None:
    levels = [spent_level(0.05, number) for number in range(1, 10_000)]
    assert sum(levels) == pytest.approx(0.05, rel=1e-3)
    assert sum(levels) < 0.05
    with pytest.raises(ValueError, match="at least 1"):
        spent_level(0.05, 0)


@pytest.mark.parametrize("wrong", [[[1, 2]], [[1, -1], [0, 0]], [[0.5, 0], [0, 0]]])
def test_other_tables_are_refused(wrong: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="square"):
        exact_change_p(wrong)
