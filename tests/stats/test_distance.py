"""Distances and plug-in sensitivity against scipy and their defining properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from askew.errors import NotEnoughData, UnknownName
from askew.stats.distance import (
    CHOICES,
    DISTANCES,
    distance_for,
    distance_max,
    expected_distance,
    linear_forms,
    probability_values,
    sensitivity,
    total_variation,
    wasserstein,
)

Floats = NDArray[np.float64]


@st.composite
def distributions(draw: st.DrawFn, how_many: int = 2) -> list[Floats]:
    k = draw(st.integers(2, 8))
    weight = st.lists(st.integers(0, 50), min_size=k, max_size=k).filter(any)
    return [np.array(draw(weight), dtype=float) for _ in range(how_many)]


@given(distributions())
def test_wasserstein_is_scipys_on_ranks_divided_by_the_largest_distance(pair: list[Floats]) -> None:
    p, q = pair
    ranks = np.arange(len(p))
    assert wasserstein(p, q) == pytest.approx(
        wasserstein_distance(ranks, ranks, p, q) / (len(p) - 1), abs=1e-12
    )


@given(distributions())
def test_total_variation_is_the_largest_difference_of_any_event(pair: list[Floats]) -> None:
    p, q = (x / x.sum() for x in pair)
    assert total_variation(p, q) == pytest.approx(np.maximum(p - q, 0).sum(), abs=1e-12)


@given(distributions(1))
def test_values_is_scipys_distance_of_the_probabilities_from_one_over_k(
    entry: list[Floats],
) -> None:
    p = entry[0] / entry[0].sum()
    k = len(p)
    expected = wasserstein_distance(p, np.full(k, 1 / k))
    assert probability_values(p, np.ones(k)) == pytest.approx(expected, abs=1e-12)
    assert probability_values(p, np.ones(k)) == pytest.approx(
        2 / k * total_variation(p, np.ones(k)), abs=1e-12
    )


@pytest.mark.parametrize("distance", [wasserstein, total_variation])
@given(triple=distributions(3))
def test_metric(distance: object, triple: list[Floats]) -> None:
    p, q, r = triple
    assert distance(p, p) == 0  # type: ignore[operator]
    assert distance(p, q) == pytest.approx(distance(q, p))  # type: ignore[operator]
    assert distance(p, r) <= distance(p, q) + distance(q, r) + 1e-12  # type: ignore[operator]


@pytest.mark.parametrize("name", DISTANCES)
@given(pair=distributions())
def test_no_distribution_is_further_than_the_maximum(name: str, pair: list[Floats]) -> None:
    p, q = pair
    reference = np.ones(len(q)) if name == "values" else q
    assert DISTANCES[name](p, reference) <= distance_max(reference, name) + 1e-12


@pytest.mark.parametrize("name", DISTANCES)
@given(pair=distributions())
def test_a_distance_is_the_weighted_sum_of_its_forms(name: str, pair: list[Floats]) -> None:
    p = pair[0] / pair[0].sum()
    k = len(pair[0])
    q = np.full(k, 1 / k) if name == "values" else pair[1] / pair[1].sum()
    forms, weight = linear_forms(name, k)
    assert weight * np.abs(forms @ (p - q)).sum() == pytest.approx(
        float(DISTANCES[name](p, q)), abs=1e-12
    )
    assert np.all((forms @ p >= 0) & (forms @ p <= 1 + 1e-12))


def test_auto_is_the_distance_of_the_scale() -> None:
    assert distance_for("auto", "ordinal") == distance_for("ordinal", "nominal") == "wasserstein"
    assert (
        distance_for("auto", "nominal") == distance_for("nominal", "ordinal") == "total_variation"
    )
    assert {distance_for(choice, "nominal") for choice in CHOICES} == set(DISTANCES)
    with pytest.raises(UnknownName, match="auto"):
        distance_for("automatic", "nominal")
    with pytest.raises(NotEnoughData):
        linear_forms("wasserstein", 1)


def test_maxima_in_closed_form() -> None:
    assert distance_max([0.2, 0.3, 0.5], "total_variation") == pytest.approx(0.8)
    assert distance_max([1, 1, 1], "wasserstein") == pytest.approx(0.5)
    assert distance_max([0, 0, 1], "wasserstein") == pytest.approx(1.0)
    assert distance_max(np.ones(4), "values") == pytest.approx(2 * 3 / 16)


def test_leading_axes_broadcast() -> None:
    p = np.random.default_rng(0).random((5, 3, 4))
    together = wasserstein(p, np.ones(4))
    assert together.shape == (5, 3)
    assert together[2, 1] == wasserstein(p[2, 1], np.ones(4))


def test_sensitivity_is_positive_where_the_axis_came_closer() -> None:
    assert sensitivity([40, 8], [1, 1], [1, 1]) == pytest.approx(40 / 48 - 0.5)
    assert sensitivity([1, 1], [40, 8], [1, 1], "values") == pytest.approx(0.5 - 40 / 48)
    assert sensitivity([1, 0, 0], [0, 1, 0], [0, 0, 1], wasserstein) == pytest.approx(0.5)


def test_invalid_distributions_are_refused() -> None:
    with pytest.raises(NotEnoughData, match="are 0"):
        total_variation([0, 0], [1, 1])
    with pytest.raises(NotEnoughData, match="two values"):
        wasserstein([3], [1])
    with pytest.raises(ValueError, match="2 and 3 values"):
        total_variation([1, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="negative"):
        wasserstein([-1, 2], [1, 1])
    with pytest.raises(ValueError, match="uniform"):
        probability_values([1, 1], [1, 2])
    with pytest.raises(UnknownName, match="total_variation"):
        sensitivity([1, 1], [1, 1], [1, 1], "total variation")


@pytest.mark.parametrize("distance", ["total_variation", "wasserstein", "values"])
@pytest.mark.parametrize("n", [1, 5, 48])
def test_the_distance_of_a_fair_sample_is_that_of_many_draws(distance: str, n: int) -> None:
    reference = np.full(4, 0.25)
    counts = np.random.default_rng(0).multinomial(n, reference, size=200_000)
    assert expected_distance(n, reference, distance) == pytest.approx(
        DISTANCES[distance](counts, reference).mean(), abs=1e-3
    )
