"""Changes of a mean deviation: coverage, false positives and power in simulated image sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from askew.stats.mean_deviation import AxisRows, mean_deviation_change
from askew.types import Estimate

HALF = np.array([0.5, 0.5])
AXES = 4
IMAGES = 48
REPEATS = 200


def drawn_rows(share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.eye(2)[(rng.uniform(size=IMAGES) >= share).astype(int)]


def change(shares: tuple[float, float], seed: int) -> Estimate:
    """Return the change of four independent axes, from one share of their first value to another."""
    rng = np.random.default_rng(seed)
    axes = []
    for _ in range(AXES):
        before, after = (drawn_rows(share, rng) for share in shares)
        axes.append(AxisRows(before, after, HALF, "total_variation", 1.0))
    return mean_deviation_change(axes, plain_change(axes), rng=rng, draws=200)


def plain_change(axes: Sequence[AxisRows]) -> float:
    """Return the change of the mean distance of the shares."""
    return float(
        np.mean([deviation(axis.after) - deviation(axis.before) for axis in axes], dtype=float)
    )


def deviation(rows: NDArray[np.float64]) -> float:
    return float(np.abs(rows.mean(axis=0) - HALF).sum() / 2)


@pytest.mark.slow
def test_equal_models_differ_in_few_runs() -> None:
    p_values = [change((0.9, 0.9), seed).p for seed in range(REPEATS)]
    rejected = sum(p is not None and p < 0.05 for p in p_values)
    assert stats.binomtest(rejected, REPEATS, 0.05, alternative="greater").pvalue > 0.001


def test_intervals_hold_a_planted_change_and_find_it() -> None:
    truth = -0.2
    covered = 0
    significant = 0
    for seed in range(REPEATS):
        estimate = change((0.9, 0.7), seed)
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= truth <= estimate.high
        significant += estimate.p is not None and estimate.p < 0.05
    assert stats.binomtest(covered, REPEATS, 0.95, alternative="less").pvalue > 0.001
    assert significant > 0.95 * REPEATS


def test_the_error_is_that_of_independent_axes() -> None:
    """The distance of two values is |share − .5|: its error is that of the share."""
    estimate = change((0.9, 0.7), 1)
    assert estimate.low is not None
    assert estimate.high is not None
    reach = (estimate.high - estimate.low) / 2
    error = np.sqrt((0.9 * 0.1 + 0.7 * 0.3) / IMAGES / AXES)
    assert reach == pytest.approx(stats.norm.isf(0.025) * error, rel=0.25)


def test_images_without_a_change_have_no_p_below_one() -> None:
    rows = drawn_rows(0.9, np.random.default_rng(0))
    axes = [AxisRows(rows, rows, HALF, "total_variation", 1.0)]
    estimate = mean_deviation_change(axes, 0.0, rng=np.random.default_rng(1), draws=50)
    assert estimate.p == 1.0
    assert estimate.low == estimate.high == 0
