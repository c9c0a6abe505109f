"""The exchange test of two sets, against SciPy's permutation tests and complete enumerations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, permutation_test

from askew.stats.differences import share_difference
from askew.stats.distance import total_variation
from askew.stats.exchange import (
    distance_of_sets,
    exchange_test,
    exchange_test_of_value,
)
from askew.stats.intervals import benjamini_hochberg
from askew.stats.paired_sets import PairedSets

Floats = NDArray[np.float64]
LABELS = st.lists(st.integers(0, 2), min_size=1, max_size=4)


def sets_of(
    pairs: Sequence[tuple[int, int]],
    rest: tuple[Sequence[int], Sequence[int]] = ((), ()),
    values: int = 3,
) -> PairedSets:
    """Return sets from the labels of pairs, and of images without a partner."""
    rows = np.eye(values)
    first = rows[[*(a for a, _ in pairs), *rest[0]]]
    second = rows[[*(b for _, b in pairs), *rest[1]]]
    keys = list(range(len(pairs)))
    return PairedSets.of(
        first, second, [*keys, *[None] * len(rest[0])], [*keys, *[None] * len(rest[1])]
    )


def pearson_of(first: Floats, second: Floats) -> float:
    """Return Pearson's statistic of the table of two sets' counts, by SciPy."""
    table = np.stack([first, second])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] == 1:
        return 0.0
    return float(chi2_contingency(table, correction=False).statistic)


def enumerated(
    pairs: Sequence[tuple[int, int]], rest: tuple[Sequence[int], Sequence[int]]
) -> tuple[float, float]:
    """Return mid-p and usual p over all exchanges of pairs and all assignments of the rest."""
    pooled = [*rest[0], *rest[1]]
    statistics = []
    for swaps in product((False, True), repeat=len(pairs)):
        for chosen in combinations(range(len(pooled)), len(rest[0])):
            first = [b if swap else a for (a, b), swap in zip(pairs, swaps, strict=True)]
            second = [a if swap else b for (a, b), swap in zip(pairs, swaps, strict=True)]
            first += [pooled[place] for place in chosen]
            second += [label for place, label in enumerate(pooled) if place not in chosen]
            counts = [np.bincount(labels, minlength=3).astype(float) for labels in (first, second)]
            statistics.append(pearson_of(*counts))
    of_first = np.bincount([*(a for a, _ in pairs), *rest[0]], minlength=3).astype(float)
    of_second = np.bincount([*(b for _, b in pairs), *rest[1]], minlength=3).astype(float)
    observed = pearson_of(of_first, of_second)
    reached = float(np.mean(np.array(statistics) >= observed - 1e-9))
    exceeded = float(np.mean(np.array(statistics) > observed + 1e-9))
    return (reached + exceeded) / 2, reached


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4), LABELS, LABELS)
def test_p_counts_all_exchanges_and_assignments(
    pairs: list[tuple[int, int]], first: list[int], second: list[int]
) -> None:
    test = exchange_test(sets_of(pairs, (first, second)))
    mid, usual = enumerated(pairs, (first, second))
    expected = 1.0 if usual > 1 - 1e-9 else mid
    assert test.exact_p == pytest.approx(usual, abs=0.02)
    assert test.p == pytest.approx(expected, abs=0.02)
    assert test.smallest_p <= test.p <= test.exact_p


def test_paired_p_is_that_of_scipys_permutation_test() -> None:
    rng = np.random.default_rng(4)
    pairs = [(int(a), int(b)) for a, b in zip(*rng.integers(0, 3, (2, 9)), strict=True)]

    def statistic(first: Floats, second: Floats) -> float:
        counts = [np.bincount(each.astype(int), minlength=3) for each in (first, second)]
        return pearson_of(*counts)

    labels = np.array(pairs, dtype=float).T
    expected = permutation_test(
        (labels[0], labels[1]),
        statistic,
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=False,
    )
    assert exchange_test(sets_of(pairs)).exact_p == pytest.approx(expected.pvalue, abs=0.01)


def test_images_that_both_models_label_alike_do_not_count() -> None:
    changed = [(0, 1)] * 5 + [(1, 2)] * 3
    with_equal_images = exchange_test(sets_of(changed + [(0, 0)] * 30 + [(2, 2)] * 10))
    # the statistic weighs values by their number, so only p of two values is equal
    assert with_equal_images.smallest_p < 0.05
    two = exchange_test(sets_of([(0, 1)] * 5, values=2))
    assert two == exchange_test(sets_of([(0, 1)] * 5 + [(0, 0)] * 30, values=2))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=12))
def test_of_two_values_the_axis_and_each_share_have_one_test(pairs: list[tuple[int, int]]) -> None:
    sets = sets_of(pairs, values=2)
    test = exchange_test(sets)
    assert exchange_test_of_value(sets, 0) == exchange_test_of_value(sets, 1) == test
    assert share_difference(sets, 0).p == test.p


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20))
@settings(max_examples=10, deadline=None)
def test_exchanged_sets_have_the_same_p(pairs: list[tuple[int, int]]) -> None:
    assert exchange_test(sets_of(pairs)) == exchange_test(sets_of([(b, a) for a, b in pairs]))


def test_the_distance_of_sets_is_shown_with_what_chance_gives() -> None:
    pairs = [(0, 1)] * 10 + [(0, 0)] * 10 + [(1, 2)] * 4
    sets = sets_of(pairs)
    test = exchange_test(sets)
    estimate = distance_of_sets(sets, test, rng=np.random.default_rng(0), draws=2000)
    assert estimate.value == pytest.approx(total_variation([20, 4, 0], [10, 10, 4]))
    assert estimate.p == test.p < 0.02
    assert estimate.null is not None
    assert 0 < estimate.null < estimate.value
    assert estimate.corrected is not None
    assert 0 < estimate.corrected < estimate.value


@pytest.mark.slow
def test_false_positives_of_the_exchange_are_near_its_level() -> None:
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(120):
        labels = rng.choice(3, size=(2, 36), p=[0.5, 0.3, 0.2])
        sets = sets_of(list(zip(*labels.tolist(), strict=True)))
        rejected += exchange_test(sets).p < 0.05
    assert 0.008 < rejected / 120 < 0.11  # in 99 of 100 cases


def test_the_mid_p_finds_more_than_holm_over_exact_tests_of_shares() -> None:
    """Eight axes, one of which differs: the axis is rejections where McNemar's exact p finds less."""
    rng = np.random.default_rng(6)
    rejections = np.zeros(2)
    for _ in range(60):
        p_values: list[tuple[float, float]] = []
        for axis in range(8):
            second = (0.9, 0.1) if axis == 0 else (0.5, 0.5)
            pairs = list(
                zip(
                    rng.choice(2, 24, p=(0.5, 0.5)).tolist(),
                    rng.choice(2, 24, p=second).tolist(),
                    strict=True,
                )
            )
            test = exchange_test(sets_of(pairs, values=2))
            p_values.append((test.p, test.exact_p))
        rejections += [
            benjamini_hochberg(column)[0] < 0.05 for column in zip(*p_values, strict=True)
        ]
    assert rejections[0] > rejections[1]


def test_the_smallest_p_is_that_of_a_possible_exchange() -> None:
    """Three of four images show a value: two sets of two images cannot show it three and zero times."""
    test = exchange_test(sets_of([], ((0, 0), (0, 1)), values=2))
    assert test.smallest_p == pytest.approx(0.5)
    assert test.p == 1.0
