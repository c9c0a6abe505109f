"""Tests of p-values and intervals at several looks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from askew.stats.confusion import ReadingErrors
from askew.stats.goodness_of_fit import reference_test
from askew.stats.looks import look_confidence, look_p, looks, paired_sequential_p, sequential_p

EVEN = (0.5, 0.5)
SIZES = (8, 12, 16, 24, 32, 48, 64)


def exact_sequential_p(smallest_p: float, sizes: tuple[int, ...]) -> float:
    """Sum over all binomial paths that never have so small a p; fair coins."""
    probabilities = {0: 1.0}
    before = 0
    for size in sizes:
        step = size - before
        before = size
        reached: dict[int, float] = {}
        for count, probability in probabilities.items():
            for more in range(step + 1):
                weight = probability * float(binom.pmf(more, step, 0.5))
                reached[count + more] = reached.get(count + more, 0.0) + weight
        probabilities = {
            count: weight
            for count, weight in reached.items()
            if look_p([count, size - count], EVEN) > smallest_p + 1e-12
        }
    return 1 - sum(probabilities.values())


def test_looks_grow_to_the_largest_number() -> None:
    assert looks(400) == (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 400)
    assert looks(8) == (8,)
    assert looks(5) == (5,)
    assert looks(30) == (8, 12, 16, 24, 30)


def test_the_p_of_a_look_is_that_of_the_verdict() -> None:
    assert look_p([9, 3], EVEN) == reference_test([9, 3], EVEN).p
    assert look_p([0, 0], EVEN) == 1.0


@pytest.mark.parametrize("smallest_p", [0.05, 0.012, 0.002])
def test_sequential_p_equals_a_sum_over_all_paths(smallest_p: float) -> None:
    sizes = SIZES[:5]
    exact = exact_sequential_p(smallest_p, sizes)
    assert sequential_p(smallest_p, sizes, EVEN) == pytest.approx(exact, abs=0.006)


@settings(max_examples=15, deadline=None)
@given(p=st.floats(1e-4, 0.5), more=st.floats(1e-4, 0.5))
def test_a_sequential_p_is_larger_and_rises_with_the_smallest_p(p: float, more: float) -> None:
    low, high = sorted((p, more))
    first = sequential_p(low, SIZES, EVEN)
    assert first <= sequential_p(high, SIZES, EVEN) <= 1
    # every look alone rejects about as often as its p says
    assert first >= 0.5 * low


def test_models_without_bias_are_rarely_significant_at_any_look() -> None:
    rng = np.random.default_rng(1)
    reference = (1 / 3, 1 / 3, 1 / 3)
    rejected = 0
    for _ in range(400):
        labels = rng.choice(3, size=SIZES[-1])
        smallest = 1.0
        for size in SIZES:
            smallest = min(smallest, look_p(np.bincount(labels[:size], minlength=3), reference))
        rejected += sequential_p(smallest, SIZES, reference) < 0.05
    assert 0.02 <= rejected / 400 <= 0.08


def test_known_errors_enter_the_p() -> None:
    errors = ReadingErrors.of(np.array([[60, 40], [2, 98]]))
    labels = [9, 21]
    assert look_p(labels, EVEN) < 0.05
    assert look_p(labels, EVEN, errors) > 0.2
    assert sequential_p(0.02, SIZES[:3], EVEN, errors) > 0.02


def test_intervals_of_all_looks_contain_the_truth() -> None:
    confidence = look_confidence(SIZES, 0.95)
    assert look_confidence((48,), 0.95) == 0.95
    assert 0.95 < confidence < 0.95 + 0.05 * (1 - 1 / (2 * len(SIZES)))
    rng = np.random.default_rng(2)
    steps = np.diff([0, *SIZES])
    means = np.cumsum(rng.normal(size=(20_000, len(SIZES))) * np.sqrt(steps), axis=1)
    half_widths = norm.ppf((1 + confidence) / 2) * np.sqrt(SIZES)
    assert (np.abs(means) <= half_widths).all(axis=1).mean() == pytest.approx(0.95, abs=0.006)


@pytest.mark.slow
def test_more_looks_need_a_higher_confidence() -> None:
    levels = [look_confidence(looks(most), 0.95) for most in (8, 16, 64, 400)]
    assert all(low < high for low, high in pairwise(levels))


@pytest.mark.parametrize("values", [2, 4])
def test_the_p_of_pairs_is_that_of_a_single_look(values: int) -> None:
    assert paired_sequential_p(0.03, (48,), values) == pytest.approx(0.03, abs=0.002)


@pytest.mark.slow
def test_the_p_of_pairs_grows_with_the_looks_and_the_values() -> None:
    two_looks = paired_sequential_p(0.03, (24, 48), 2)
    assert 0.03 < two_looks < paired_sequential_p(0.03, SIZES, 2) < 7 * 0.03
    assert paired_sequential_p(0.03, SIZES, 2) < paired_sequential_p(0.03, SIZES, 6)
    assert paired_sequential_p(1.0, SIZES, 2) == 1.0
