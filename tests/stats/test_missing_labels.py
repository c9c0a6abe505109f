"""Bounds of shares and tests if the reasons for missing labels may depend on the labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from askew.errors import NotEnoughData
from askew.stats.goodness_of_fit import pearson, reference_test
from askew.stats.missing_labels import closest_counts, imbens_manski_tail, worst_case_intervals
from askew.stats.shares import share_intervals

COUNTS = st.lists(st.integers(0, 20), min_size=2, max_size=4).filter(sum)


@given(counts=COUNTS)
@settings(max_examples=20, deadline=None)
def test_without_missing_labels_the_interval_is_that_of_a_share(counts: list[int]) -> None:
    lows, highs = worst_case_intervals(counts, 0)
    estimates = share_intervals(counts)
    np.testing.assert_allclose(lows, [estimate.low for estimate in estimates], atol=1e-9)
    np.testing.assert_allclose(highs, [estimate.high for estimate in estimates], atol=1e-9)


@given(counts=COUNTS, missing=st.integers(1, 20), level=st.sampled_from([0.9, 0.95]))
@settings(max_examples=20, deadline=None)
def test_the_interval_contains_all_possible_shares_of_the_images(
    counts: list[int], missing: int, level: float
) -> None:
    lows, highs = worst_case_intervals(counts, missing, level=level)
    n = sum(counts) + missing
    assert np.all(lows <= np.array(counts) / n)
    assert np.all(highs >= (np.array(counts) + missing) / n)
    assert np.all((lows >= 0) & (highs <= 1))


@given(
    low=st.floats(0.01, 0.9), width=st.floats(0, 0.5), n=st.integers(5, 500), level=st.just(0.95)
)
def test_the_tail_solves_the_equation_of_imbens_and_manski(
    low: float, width: float, n: int, level: float
) -> None:
    """Eq. 7: F(c + sqrt(n) width / largest error) - F(-c) = level."""
    high = min(low + width, 0.99)
    tail = imbens_manski_tail(low, high, n, level)
    assert 0.025 - 1e-9 <= tail <= 0.05 + 1e-9
    c = stats.norm.isf(tail)
    largest = max(np.sqrt(low * (1 - low)), np.sqrt(high * (1 - high)))
    reached = stats.norm.cdf(c + np.sqrt(n) * (high - low) / largest) - stats.norm.cdf(-c)
    assert reached == pytest.approx(level, abs=1e-6)


def test_with_many_images_the_ends_are_those_of_the_paper() -> None:
    """Ends by the normal law, computed here from the paper's formula."""
    counts = [12_000, 18_000]
    missing = 10_000
    n = sum(counts) + missing
    lows, highs = worst_case_intervals(counts, missing)
    for place, count in enumerate(counts):
        low = count / n
        high = (count + missing) / n
        z = stats.norm.isf(0.05)  # the bounds are far apart
        assert lows[place] == pytest.approx(low - z * np.sqrt(low * (1 - low) / n), abs=1e-4)
        assert highs[place] == pytest.approx(high + z * np.sqrt(high * (1 - high) / n), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unlabeled", [(0.4, 0.0), pytest.param((0.0, 0.4), marks=pytest.mark.slow)]
)
def test_the_interval_covers_the_planted_share(unlabeled: tuple[float, float]) -> None:
    """Labels of one gender are missing, so that the true share is at a bound."""
    rng = np.random.default_rng(2)
    covered = 0
    between_bounds = 0
    for _ in range(300):
        n = 48
        men = rng.binomial(n, 0.6)
        labeled = [rng.binomial(men, 1 - unlabeled[0]), rng.binomial(n - men, 1 - unlabeled[1])]
        missing = n - sum(labeled)
        lows, highs = worst_case_intervals(labeled, missing)
        covered += lows[0] <= 0.6 <= highs[0]
        between_bounds += labeled[0] / n <= 0.6 <= (labeled[0] + missing) / n
    assert 0.92 <= covered / 300 <= 0.985
    assert between_bounds / 300 < 0.7


@given(
    counts=st.lists(st.integers(0, 6), min_size=2, max_size=3).filter(sum),
    missing=st.integers(0, 6),
    weights=st.lists(st.integers(1, 5), min_size=3, max_size=3),
)
@settings(max_examples=30, deadline=None)
def test_no_labels_are_closer_to_the_reference(
    counts: list[int], missing: int, weights: list[int]
) -> None:
    """Compare with a list of all labels that are possible."""
    reference = np.array(weights[: len(counts)]) / sum(weights[: len(counts)])
    n = sum(counts) + missing
    closest = closest_counts(counts, missing, reference)
    assert closest.sum() == n
    assert np.all(closest >= counts)
    distances = []
    for added in product(range(missing + 1), repeat=len(counts)):
        if sum(added) == missing:
            distances.append(float(pearson(np.add(counts, added), n * reference)))
    assert float(pearson(closest, n * reference)) == pytest.approx(min(distances))


@pytest.mark.parametrize("images", [48, 200])
def test_a_fair_model_with_unlabeled_women_is_not_biased_in_the_worst_case(images: int) -> None:
    rng = np.random.default_rng(images)
    labeled = 0
    worst_case = 0
    for _ in range(200):
        men = rng.binomial(images, 0.5)
        women = rng.binomial(images - men, 0.6)
        closest = closest_counts([men, women], images - men - women, [0.5, 0.5])
        labeled += reference_test([men, women], [0.5, 0.5]).p < 0.05
        worst_case += reference_test(closest, [0.5, 0.5]).p < 0.05
    assert labeled / 200 > 0.3
    assert worst_case / 200 <= 0.06


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(NotEnoughData):
        worst_case_intervals([0, 0], 3)
    with pytest.raises(ValueError, match="negative"):
        worst_case_intervals([1, 1], -1)
