"""Differences of rates between runs against permutation tests of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from askew.stats.run_differences import (
    contrast_difference,
    mean_difference,
    rate_difference,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def drawn(n: int, share: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    rows = (random.random((n, 3)) < share).astype(float)
    return np.where(random.random((n, 3)) < 0.1, np.nan, rows)


def difference_of_means(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    return a.mean(axis=axis) - b.mean(axis=axis)


def test_independent_images_are_assigned_to_the_runs_as_by_scipy() -> None:
    later = drawn(8, 0.8, 1)
    earlier = drawn(7, 0.4, 2)
    estimate = rate_difference(later, earlier, paired=False, rng=rng(), draws=20_000)
    means = [np.nanmean(rows, axis=1) for rows in (later, earlier)]
    exact = scipy.stats.permutation_test(means, difference_of_means, vectorized=True)
    assert 0.005 < exact.pvalue < 0.5
    assert estimate.p == pytest.approx(exact.pvalue, abs=0.012)
    assert estimate.value == pytest.approx(np.nanmean(later) - np.nanmean(earlier))


def test_pairs_of_images_are_more_certain_than_independent_images() -> None:
    earlier = drawn(30, 0.5, 3)
    later = earlier.copy()
    later[:8] = 1.0
    paired, apart = (
        rate_difference(later, earlier, paired=flag, rng=rng()) for flag in (True, False)
    )
    assert paired.value == pytest.approx(apart.value, abs=0.03)
    assert paired.p < 0.05 < apart.p
    assert paired.high - paired.low < apart.high - apart.low


@pytest.mark.parametrize("kind", ["samples", "independent"])
def test_means_of_runs_are_tested_as_by_scipy(kind: str) -> None:
    random = np.random.default_rng(4)
    earlier = random.normal(0.0, 10.0, (9, 1))
    later = earlier + random.normal(6.0, 10.0, (9, 1))
    estimate = mean_difference(later, earlier, paired=kind == "samples", rng=rng(), draws=20_000)
    means = (later[:, 0], earlier[:, 0])
    exact = scipy.stats.permutation_test(
        means, difference_of_means, permutation_type=kind, vectorized=True, n_resamples=50_000
    )
    assert 0.01 < exact.pvalue < 0.6
    assert estimate.p == pytest.approx(exact.pvalue, abs=0.012)
    assert estimate.value == pytest.approx(later.mean() - earlier.mean())
    assert estimate.low < estimate.value < estimate.high


def test_an_image_without_a_number_in_one_run_is_no_pair() -> None:
    earlier = np.array([[1.0], [2.0], [np.nan], [4.0]])
    later = np.array([[2.0], [4.0], [9.0], [7.0]])
    assert mean_difference(later, earlier, paired=True, rng=rng()).value == pytest.approx(2.0)
    assert mean_difference(later, earlier, paired=False, rng=rng()).value == pytest.approx(
        5.5 - 7 / 3
    )


@pytest.mark.parametrize("paired", [True, False])
def test_swapping_runs_or_groups_changes_only_the_sign(paired: bool) -> None:
    x = (drawn(9, 0.7, 4), drawn(9, 0.4, 5))
    y = (drawn(7, 0.3, 6), drawn(7, 0.5, 7))
    forward = contrast_difference(x, y, paired=paired, rng=rng(), draws=4000)
    groups = contrast_difference(y, x, paired=paired, rng=rng(), draws=4000)
    runs = contrast_difference(x[::-1], y[::-1], paired=paired, rng=rng(), draws=4000)
    for back in (groups, runs):
        assert (back.value, back.low) == pytest.approx((-forward.value, -forward.high))
        assert back.p == pytest.approx(forward.p, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shares", "truth"), [((0.5, 0.5, 0.5, 0.5), 0), ((0.8, 0.5, 0.3, 0.6), 0.6)]
)
def test_contrasts_of_independent_runs_cover_and_seldom_claim(
    shares: tuple[float, ...], truth: float
) -> None:
    """Count 100 comparisons of 24 images."""
    random = np.random.default_rng(1)
    estimates = []
    for _ in range(100):
        rows = [(random.random((24, 4)) < share).astype(float) for share in shares]
        estimates.append(
            contrast_difference(
                (rows[0], rows[1]), (rows[2], rows[3]), paired=False, rng=random, draws=200
            )
        )
    assert sum(e.low <= truth <= e.high for e in estimates) >= 89
    significant = sum(e.p < 0.05 for e in estimates)
    assert significant <= 11 if truth == 0 else significant > 90
