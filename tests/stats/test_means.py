"""Means with Student's interval, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from askew.errors import NotEnoughData
from askew.stats.means import student_mean


def test_the_mean_and_its_interval_are_students() -> None:
    x = np.random.default_rng(0).normal(1.0, 0.2, size=9)
    found, oracle = student_mean(x, 0.9, "t", missing=2, null=0.8), stats.ttest_1samp(x, 0.8)
    assert (found.low, found.high) == pytest.approx(tuple(oracle.confidence_interval(0.9)))
    assert found.p == pytest.approx(oracle.pvalue)
    assert (found.n, found.missing, found.null) == (9, 2, 0.8)


def test_one_number_has_no_interval_and_none_no_mean() -> None:
    assert student_mean([1.5], 0.95, "t").low is None
    with pytest.raises(NotEnoughData):
        student_mean([], 0.95, "t")
    with pytest.raises(ValueError, match="finite"):
        student_mean([1.0, float("nan")], 0.95, "t")


def test_numbers_without_spread_are_the_null_or_not() -> None:
    assert student_mean([1.0, 1.0], 0.95, "t", null=1.0).p == 1.0
    assert student_mean([1.0, 1.0], 0.95, "t", null=0.0).p == 0.0
    assert student_mean([1.0, 1.2], 0.95, "t").p is None
