"""Tests of p-values and intervals at several looks."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from askew.stats.confusion import ReadingErrors
from askew.stats.goodness_of_fit import reference_test
from askew.stats.intervals import Floats
from askew.stats.looks import (
    LEVEL_GROWTH,
    look_confidence,
    look_p,
    looks,
    paired_sequential_p,
    sequential_p,
)

EVEN = (0.5, 0.5)
SIZES = (8, 12, 16, 24, 32, 48, 64)


PATHS = 20_000


@cache
def fair_p_values() -> Floats:
    """Return the p of each look, for simulated models without bias; (PATHS, looks)."""
    rng = np.random.default_rng(3)
    females = np.cumsum(rng.binomial(np.diff([0, *SIZES]), 0.5, (PATHS, len(SIZES))), axis=1)
    columns = []
    for size, column in zip(SIZES, females.T, strict=True):
        by_count = np.array([look_p([count, size - count], EVEN) for count in range(size + 1)])
        columns.append(by_count[column])
    return np.stack(columns, axis=1)


def p_of_last_look(p: float, sizes: tuple[int, ...], reference: tuple[float, ...]) -> float:
    """Return the sequential p if only the last look has a small p."""
    return sequential_p([*(1.0 for _ in sizes[1:]), p], sizes, reference)


def test_looks_grow_to_the_largest_number() -> None:
    assert looks(400) == (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 400)
    assert looks(8) == (8,)
    assert looks(5) == (5,)
    assert looks(30) == (8, 12, 16, 24, 30)


def test_the_p_of_a_look_is_that_of_the_verdict() -> None:
    assert look_p([9, 3], EVEN) == reference_test([9, 3], EVEN).p
    assert look_p([0, 0], EVEN) == 1.0


@pytest.mark.parametrize("p", [0.05, 0.0118, 0.002])
def test_sequential_p_equals_the_rate_in_simulated_models(p: float) -> None:
    shares = (np.array(SIZES) / SIZES[-1]) ** LEVEL_GROWTH
    smallest = (fair_p_values() / shares).min(axis=1)
    exact = p_of_last_look(p, SIZES, EVEN)
    assert exact == pytest.approx((smallest <= p).mean(), abs=0.006)


def test_error_is_close_to_its_level() -> None:
    """Sum the probabilities of all sequences of labels that become significant."""
    going_on = {0: 1.0}
    before = 0
    levels: dict[int, float] = {}
    significant = 0.0
    for number, size in enumerate(SIZES):
        reached: dict[int, float] = {}
        for count, probability in going_on.items():
            for more in range(size - before + 1):
                weight = probability * comb(size - before, more) / 2 ** (size - before)
                reached[count + more] = reached.get(count + more, 0.0) + weight
        before = size
        going_on = {}
        for count, probability in reached.items():
            p_values = [1.0] * number + [look_p([count, size - count], EVEN)]
            if sequential_p(p_values, SIZES, EVEN) < 0.05:
                significant += probability
                levels[size] = max(levels.get(size, 0.0), p_values[-1])
            else:
                going_on[count] = probability
    assert 0.045 < significant <= 0.05
    # levels grow with the number of images
    assert levels[8] < levels[64]


def test_fewer_planned_looks_need_fewer_equal_labels() -> None:
    eight = [look_p([8, 0], EVEN)]
    assert sequential_p(eight, looks(16), EVEN) < 0.02
    assert 0.04 < sequential_p(eight, looks(200), EVEN) < 0.05
    assert 0.05 < sequential_p(eight, looks(400), EVEN) < 0.06
    assert sequential_p([*eight, look_p([12, 0], EVEN)], looks(400), EVEN) < 0.004


def test_a_p_counts_more_at_a_later_look() -> None:
    early = sequential_p([0.004], SIZES, EVEN)
    late = p_of_last_look(0.004, SIZES, EVEN)
    assert late < early


@pytest.mark.parametrize("reference", [EVEN, (0.3, 0.7), (0.25, 0.25, 0.5)])
def test_a_single_look_has_its_usual_p(reference: tuple[float, ...]) -> None:
    counts = [20, *(2 for _ in reference[1:])]
    images = sum(counts)
    test = reference_test(counts, reference)
    assert sequential_p([test.p], (images,), reference) == pytest.approx(test.exact_p, abs=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    p_values=st.lists(st.floats(1e-12, 1.0), min_size=1, max_size=len(SIZES)),
    place=st.integers(0, 6),
    factor=st.floats(0.01, 1.0),
)
def test_a_sequential_p_rises_with_each_p_and_never_with_more_looks(
    p_values: list[float], place: int, factor: float
) -> None:
    p = sequential_p(p_values, SIZES, EVEN)
    assert 0 <= p <= 1
    smaller = [*p_values]
    smaller[place % len(p_values)] *= factor
    assert sequential_p(smaller, SIZES, EVEN) <= p
    assert p <= sequential_p(p_values[:-1], SIZES, EVEN)


def test_a_look_without_labels_does_not_change_the_p() -> None:
    assert sequential_p([1.0], (0, 12, 16), EVEN) == 1.0
    assert sequential_p([1.0, 0.001], (0, 12, 16), EVEN) == sequential_p([0.001], (12, 16), EVEN)
    assert sequential_p([1.0], (0,), EVEN) == 1.0


def test_models_without_bias_are_rarely_significant_at_any_look() -> None:
    rng = np.random.default_rng(1)
    reference = (1 / 3, 1 / 3, 1 / 3)
    rejected = 0
    for _ in range(400):
        labels = rng.choice(3, size=SIZES[-1])
        parts = [np.bincount(labels[:size], minlength=3) for size in SIZES]
        p_values = [look_p(counts, reference) for counts in parts]
        rejected += sequential_p(p_values, SIZES, reference) < 0.05
    assert 0.02 <= rejected / 400 <= 0.08


def test_known_errors_enter_the_p() -> None:
    errors = ReadingErrors.of(np.array([[60, 40], [2, 98]]))
    labels = [9, 21]
    assert look_p(labels, EVEN) < 0.05
    assert look_p(labels, EVEN, errors) > 0.2
    assert sequential_p([0.02], SIZES[:3], EVEN, errors) > 0.02


def test_intervals_of_all_looks_contain_the_truth() -> None:
    confidence = np.array([look_confidence(SIZES, 0.95, size) for size in SIZES])
    assert look_confidence((48,), 0.95, 48) == 0.95
    assert (np.diff(confidence) < 0).all()
    assert 0.95 < confidence[-1] < confidence[0] < 1
    rng = np.random.default_rng(2)
    steps = np.diff([0, *SIZES])
    means = np.cumsum(rng.normal(size=(20_000, len(SIZES))) * np.sqrt(steps), axis=1)
    half_widths = norm.ppf((1 + confidence) / 2) * np.sqrt(SIZES)
    assert (np.abs(means) <= half_widths).all(axis=1).mean() == pytest.approx(0.95, abs=0.006)


@pytest.mark.slow
def test_more_looks_need_a_higher_confidence() -> None:
    levels = [look_confidence(looks(most), 0.95, most) for most in (8, 16, 64, 400)]
    assert all(low < high for low, high in pairwise(levels))


@pytest.mark.parametrize("values", [2, 4])
def test_the_p_of_pairs_is_that_of_a_single_look(values: int) -> None:
    assert paired_sequential_p([0.03], (48,), values) == pytest.approx(0.03, abs=0.002)


@pytest.mark.slow
def test_the_p_of_pairs_grows_with_the_looks_and_the_values() -> None:
    two_looks = paired_sequential_p([0.03], (24, 48), 2)
    assert 0.03 < two_looks < paired_sequential_p([0.03], SIZES, 2) < 8 * 0.03
    assert paired_sequential_p([0.03], SIZES, 2) < paired_sequential_p([0.03], SIZES, 6)
    assert paired_sequential_p([1.0], SIZES, 2) == 1.0
    late = paired_sequential_p([*(1.0 for _ in SIZES[1:]), 0.03], SIZES, 2)
    assert two_looks < late < paired_sequential_p([0.03], SIZES, 2)
