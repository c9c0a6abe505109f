"""The interval of a spread, against exact answers and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from askew.stats.association import mad
from askew.stats.spread import spread_interval


def half_difference(scores: np.ndarray) -> np.ndarray:
    return np.asarray(np.ptp(scores, axis=-1) / 2)


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.25, 0.6])
def test_two_scores_give_the_interval_of_a_folded_normal(gap: float) -> None:
    errors = np.random.default_rng(0).normal(size=(20_000, 2)) * 0.1
    errors -= errors.mean(axis=0)
    low, high = spread_interval(np.array([0.5 + gap / 2, 0.5 - gap / 2]), errors, half_difference, 0.95)
    sd = 0.1 * np.sqrt(2)

    def reach(true: float, share: float) -> float:
        return float(norm.cdf((gap - true) / sd) - norm.cdf((-gap - true) / sd)) - share

    expected_low = 0.0 if reach(0.0, 0.975) <= 0 else brentq(reach, 0.0, gap, args=(0.975,))
    assert low == pytest.approx(expected_low / 2, abs=0.01)
    gap = max(gap, sd * float(norm.isf(0.25)))  # the median under equality
    expected_high = brentq(reach, 0.0, gap + 1, args=(0.025,))
    assert high == pytest.approx(expected_high / 2, abs=0.01)


def test_without_errors_the_spread_is_known() -> None:
    scores = np.array([0.9, 0.4, 0.5])
    assert spread_interval(scores, np.zeros((10, 3)), mad, 0.95) == pytest.approx((mad(scores), mad(scores)), abs=1e-3)


@pytest.mark.parametrize("truth", [[0.5, 0.5, 0.5], [0.6, 0.5, 0.5], [0.9, 0.5, 0.4], [0.7, 0.7, 0.4, 0.4]])
def test_coverage(truth: list[float]) -> None:
    rng = np.random.default_rng(len(truth))
    scores, hits = np.array(truth), []
    for _ in range(80):
        errors = 0.05 * rng.normal(size=(300, len(truth)))
        low, high = spread_interval(scores + 0.05 * rng.normal(size=len(truth)), errors, mad, 0.95)
        hits.append(low - 1e-9 <= mad(scores) <= high + 1e-9)
    assert np.mean(hits) >= 0.9
