"""Differences between image sets: none for equal populations of unequal size, and coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import boschloo_exact, chi2_contingency, fisher_exact, hypergeom
from statsmodels.stats.proportion import confint_proportions_2indep

from askew.errors import NotEnoughData
from askew.stats.differences import distance_difference, share_difference
from askew.stats.distance import total_variation
from askew.stats.paired_sets import PairedSets

PART = st.integers(0, 30)
FAIR = np.full(6, 1 / 6)


@given(PART, PART, PART, PART)
def test_share_difference_is_newcombes_as_in_statsmodels(
    x: int, rest_x: int, y: int, rest_y: int
) -> None:
    n = x + rest_x + 1
    m = y + rest_y + 1
    estimate = share_difference(PairedSets.of_counts([x, n - x], [y, m - y]), 0)
    low, high = confint_proportions_2indep(x, n, y, m, method="newcomb")
    assert estimate.value == pytest.approx(x / n - y / m)
    assert (estimate.low, estimate.high) == (pytest.approx(low), pytest.approx(high))
    assert 0 < estimate.p <= 1
    turned = share_difference(PairedSets.of_counts([y, m - y], [x, n - x]), 0)
    assert (turned.low, turned.high, turned.p) == (
        pytest.approx(-estimate.high),
        pytest.approx(-estimate.low),
        pytest.approx(estimate.p),
    )


def test_p_of_a_share_difference_is_near_other_exact_and_asymptotic_tests() -> None:
    small = share_difference(PairedSets.of_counts([10, 5], [3, 12]), 0)
    assert small.p == pytest.approx(boschloo_exact([[10, 5], [3, 12]]).pvalue, abs=0.005)
    law = hypergeom(30, 13, 15)
    exact = fisher_exact([[10, 5], [3, 12]]).pvalue
    assert small.p == pytest.approx(exact - (law.pmf(10) + law.pmf(3)) / 2)
    large = share_difference(PairedSets.of_counts([800, 700], [700, 800]), 0)
    assert large.p == pytest.approx(
        chi2_contingency([[800, 700], [700, 800]], correction=False).pvalue, rel=0.02
    )
    assert share_difference(PairedSets.of_counts([0, 5], [0, 9]), 0).p == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "reference"),
    [
        ([0.3, 0.7], [0.7, 0.3], [0.5, 0.5]),
        pytest.param([0.9, 0.1], [0.6, 0.4], [0.5, 0.5], marks=pytest.mark.slow),
        pytest.param([0.25] * 4, [0.7, 0.1, 0.1, 0.1], [0.25] * 4, marks=pytest.mark.slow),
    ],
)
def test_the_error_of_a_counted_reference_widens_the_difference_of_distances(
    first: list[float], second: list[float], reference: list[float]
) -> None:
    """A reference of 12 images that is taken as exact covers only .5 to .8."""
    rng = np.random.default_rng(3)
    truth = total_variation(first, reference) - total_variation(second, reference)
    covered = 0
    for _ in range(100):
        sets = PairedSets.of_counts(rng.multinomial(48, first), rng.multinomial(48, second))
        counted = rng.multinomial(12, reference) / 12
        entry = distance_difference(sets, counted, rng=rng, draws=100, reference_images=12)
        covered += entry.low - 1e-9 <= truth <= entry.high + 1e-9
    assert covered >= 87


@pytest.mark.slow
def test_type_one_error_of_the_share_difference() -> None:
    rng = np.random.default_rng(0)
    p = [
        share_difference(PairedSets.of_counts(*rng.multinomial(12, [0.3, 0.7], size=2)), 0).p
        for _ in range(250)
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.08


@settings(max_examples=10)
@given(st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any), st.integers(0, 5))
def test_a_set_does_not_differ_from_itself(counts: list[int], seed: int) -> None:
    estimate = distance_difference(
        PairedSets.of_counts(counts, counts), [1, 1, 1], rng=np.random.default_rng(seed), draws=100
    )
    assert estimate.value == 0
    assert estimate.low <= 0 <= estimate.high
    assert estimate.p > 0.5


@pytest.mark.slow
def test_different_numbers_of_images_are_not_a_difference() -> None:
    rng = np.random.default_rng(1)
    pairs = [(rng.multinomial(24, FAIR), rng.multinomial(192, FAIR)) for _ in range(80)]
    plug_in = np.median([total_variation(a, FAIR) - total_variation(b, FAIR) for a, b in pairs])
    sets = [PairedSets.of_counts(a, b) for a, b in pairs]
    distance_differences = [distance_difference(entry, FAIR, rng=rng, draws=200) for entry in sets]
    assert plug_in > 0.1
    assert abs(np.median([estimate.value for estimate in distance_differences])) < 0.03
    assert np.mean([estimate.low <= 0 <= estimate.high for estimate in distance_differences]) > 0.93


def test_many_biased_images_differ_from_few_fair_ones() -> None:
    """Few images deviate more by chance, which must not hide that the larger set is biased."""
    few = [4, 4, 4, 4, 4, 4]
    many = [56, 8, 8, 8, 8, 8]
    assert (
        distance_difference(PairedSets.of_counts(few, many), FAIR, rng=np.random.default_rng(0)).p
        < 0.02
    )


def test_permutation_p_of_a_distance_difference_counts_all_permutations() -> None:
    estimate = distance_difference(
        PairedSets.of_counts([6, 0], [3, 3]), [1, 1], rng=np.random.default_rng(0), draws=20_000
    )
    # 12 images, 9 of the first value, split 6 and 6: the first set gets k of the 9
    ways = {k: math.comb(9, k) * math.comb(3, 6 - k) for k in range(3, 7)}
    gap = {k: abs(k / 6 - 0.5) - abs((9 - k) / 6 - 0.5) for k in ways}
    expected = sum(w for k, w in ways.items() if abs(gap[k]) >= 0.5 - 1e-9) / math.comb(12, 6)
    assert estimate.p == pytest.approx(expected, abs=0.01)


def test_invalid_sets_are_refused() -> None:
    with pytest.raises(NotEnoughData):
        share_difference(PairedSets.of_counts([0, 0], [1, 1]), 0)
    with pytest.raises(ValueError, match="2 and 3 columns"):
        PairedSets.of_counts([1, 1], [1, 1, 1])
