"""The risk difference."""

from __future__ import annotations

import numpy as np
import pytest

from askew.errors import NotEnoughData
from askew.stats.differences import risk_difference
from askew.stats.shares import wilson


def test_of_two_groups_it_is_wilsons_interval() -> None:
    estimate = risk_difference(40, 8, 48)
    low, high = wilson(40 / 48, 48, 0.95)
    assert estimate.value == pytest.approx(32 / 48)
    assert (estimate.low, estimate.high) == pytest.approx((2 * low - 1, 2 * high - 1))


def test_the_order_of_the_groups_does_not_matter() -> None:
    assert risk_difference(5, 20, 48) == risk_difference(20, 5, 48)


def test_equal_groups_are_not_significant() -> None:
    estimate = risk_difference(24, 24, 48)
    assert (estimate.value, estimate.low, estimate.p) == (0, 0, 1)
    assert estimate.null == pytest.approx(0.1147, abs=1e-3)  # the mean of |2 B - 48| / 48
    assert estimate.corrected is not None
    assert estimate.corrected < 0


def test_two_counts_of_zero_do_not_differ() -> None:
    estimate = risk_difference(0, 0, 10)
    assert (estimate.value, estimate.null, estimate.p) == (0, 0, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.7, 0.3), (0.4, 0.1), (0.9, 0.05), (1.0, 0.0)])
def test_the_interval_covers(p: float, q: float) -> None:
    rng = np.random.default_rng(0)
    counts, times = np.unique(
        rng.multinomial(48, [p, q, 1 - p - q], size=400), axis=0, return_counts=True
    )
    covered = []
    for a, b, _ in counts:
        estimate = risk_difference(int(a), int(b), 48)
        covered.append(estimate.low <= abs(p - q) + 1e-9 <= estimate.high + 2e-9)
    assert np.average(covered, weights=times) >= 0.93


def test_invalid_counts_are_refused() -> None:
    with pytest.raises(NotEnoughData):
        risk_difference(0, 0, 0)
    with pytest.raises(ValueError, match="must not exceed"):
        risk_difference(3, 3, 5)
