"""Distances against scipy, by their properties, and the sensitivity built from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import wasserstein_distance

from askew.errors import NotEnoughData, UnknownName
from askew.stats.distance import (
    DISTANCES,
    distance_max,
    normalised,
    probability_values,
    sensitivity,
    total_variation,
    wasserstein,
)

COUNTS = arrays(float, 5, elements=st.integers(0, 40).map(float)).filter(lambda c: c.sum() > 0)
UNIFORM = np.full(5, 0.2)


@given(COUNTS, COUNTS)
def test_distances_agree_with_scipy(a: np.ndarray, b: np.ndarray) -> None:
    ranks = np.arange(5)
    p, q = a / a.sum(), b / b.sum()
    assert wasserstein(a, b) == pytest.approx(wasserstein_distance(ranks, ranks, p, q) / 4, abs=1e-12)
    assert total_variation(a, b) == pytest.approx(max(p[list(s)].sum() - q[list(s)].sum() for s in subsets()), abs=1e-9)
    assert probability_values(a, UNIFORM) == pytest.approx(wasserstein_distance(p, UNIFORM), abs=1e-12)


def subsets() -> list[tuple[int, ...]]:
    return [tuple(i for i in range(5) if bits >> i & 1) for bits in range(32)]


@given(COUNTS, COUNTS, st.permutations(range(5)))
def test_distances_are_bounded_symmetric_and_zero_only_for_equal_shares(
    a: np.ndarray, b: np.ndarray, order: list[int]
) -> None:
    for distance in (wasserstein, total_variation):
        assert 0 <= distance(a, b) <= 1 + 1e-12
        assert distance(a, b) == pytest.approx(distance(b, a))
        assert distance(a, 7 * a) == pytest.approx(0)
    assert total_variation(a[order], b[order]) == pytest.approx(total_variation(a, b))
    assert wasserstein(a[::-1], b[::-1]) == pytest.approx(wasserstein(a, b))
    assert probability_values(a[order], UNIFORM) == pytest.approx(probability_values(a, UNIFORM))


def test_rank_distance_counts_steps() -> None:
    assert wasserstein([1, 0, 0], [0, 0, 1]) == pytest.approx(1)
    assert wasserstein([1, 0, 0], [0, 1, 0]) == pytest.approx(0.5)
    assert total_variation([1, 0, 0], [0, 1, 0]) == pytest.approx(1)


@pytest.mark.parametrize("name", sorted(DISTANCES))
@given(counts=COUNTS)
def test_no_distribution_is_further_than_the_maximum(name: str, counts: np.ndarray) -> None:
    assert DISTANCES[name](counts, UNIFORM) <= distance_max(UNIFORM, name) + 1e-12


def test_values_needs_a_uniform_ideal() -> None:
    with pytest.raises(ValueError, match="uniform ideal"):
        probability_values([1, 2], [1, 2])


def test_sensitivity_is_positive_where_the_intervention_helps() -> None:
    assert sensitivity([9, 1], [6, 4], [1, 1]) == pytest.approx(0.3)
    assert sensitivity([6, 4], [9, 1], [1, 1]) == pytest.approx(-0.3)
    ages = [[8, 1, 1], [1, 1, 8]]
    assert np.allclose(sensitivity(ages, [1, 1, 1], [1, 1, 1], "wasserstein"), wasserstein(ages, [1, 1, 1]))
    assert sensitivity([9, 1], [6, 4], [1, 1], total_variation) == sensitivity([9, 1], [6, 4], [1, 1])


def test_distances_broadcast() -> None:
    counts = np.random.default_rng(0).integers(1, 9, (4, 3, 5))
    assert wasserstein(counts, UNIFORM).shape == (4, 3)
    assert total_variation(counts, counts[:1]).shape == (4, 3)


def test_wrong_distributions_are_refused() -> None:
    with pytest.raises(NotEnoughData, match="sums to 0"):
        total_variation([0, 0], [1, 1])
    with pytest.raises(ValueError, match="2 and 3 values"):
        total_variation([1, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="not negative"):
        normalised([1, -1])
    with pytest.raises(UnknownName, match="Did you mean 'wasserstein'"):
        sensitivity([1, 1], [1, 1], [1, 1], "wassersteins")
