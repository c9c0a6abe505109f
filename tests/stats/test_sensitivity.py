"""Intersectional Sensitivity: zero without an effect, coverage, and independence of other pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.errors import UnknownName
from askew.stats.distance import DISTANCES, distance_for, sensitivity
from askew.stats.interaction_graph import amplification
from askew.stats.sensitivity import (
    AxisPairSample,
    change_of,
    debiased_value,
    interactions,
    least_possible,
    null_sizes,
)
from askew.types import Estimate, Missing

FAIR = np.full(6, 1 / 6)
BIASED = np.array([0.5] + [0.1] * 5)
COUNTS = st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any)


def interaction(initial: object, sets: object, seed: int = 0, draws: int = 100) -> Estimate:
    (estimate,) = interactions(
        [AxisPairSample(initial, sets, [1, 1])], rng=np.random.default_rng(seed), draws=draws
    )
    return estimate


def drawn(
    rng: np.random.Generator, before: np.ndarray, after: np.ndarray, n: int = 48, repeats: int = 200
) -> list[AxisPairSample]:
    reference = np.full(len(before), 1 / len(before))
    size = (repeats, len(after))
    return [
        AxisPairSample(i, c, reference)
        for i, c in zip(
            rng.multinomial(n, before, repeats), rng.multinomial(n, after, size), strict=True
        )
    ]


@pytest.mark.parametrize(
    ("shares", "sets"),
    [
        pytest.param(FAIR, 6, marks=pytest.mark.slow),
        (BIASED, 6),
        pytest.param(np.array([0.8, 0.2]), 2, marks=pytest.mark.slow),
    ],
)
def test_an_intervention_that_does_nothing_has_no_sensitivity(
    shares: np.ndarray, sets: int
) -> None:
    pairs = drawn(np.random.default_rng(2), shares, np.tile(shares, (sets, 1)), repeats=400)
    values = [debiased_value(pair) for pair in pairs]
    assert abs(np.mean(values)) < 3 * np.std(values) / math.sqrt(len(values)) + 0.002
    estimates = interactions(pairs[:100], rng=np.random.default_rng(0), draws=60)
    assert np.mean([e.p < 0.05 for e in estimates]) <= 0.12
    assert abs(np.mean([e.null for e in estimates])) < 0.02


def test_the_plug_in_value_is_biased_without_an_effect() -> None:
    pairs = drawn(np.random.default_rng(2), FAIR, np.tile(FAIR, (6, 1)))
    plug_in = [
        sensitivity(p.initial, np.asarray(p.counterfactual).mean(axis=0), p.reference)
        for p in pairs
    ]
    assert np.mean(plug_in) > 0.05


def test_much_data_gives_the_plain_difference_of_distances() -> None:
    initial = np.array([70_000, 20_000, 10_000])
    sets = np.array([[50_000, 30_000, 20_000], [10_000, 30_000, 60_000]])
    mean = np.array([0.3, 0.3, 0.4])
    for choice in ("ordinal", "nominal", "values"):
        name = distance_for(choice, "nominal")
        value = debiased_value(AxisPairSample(initial, sets, [1, 1, 1], name))
        assert value == pytest.approx(float(sensitivity(initial, mean, [1, 1, 1], name)), abs=2e-3)


def test_sets_have_equal_weight_whatever_their_size() -> None:
    apart = interaction([40, 40], [[100, 0], [0, 10]], draws=60)
    alike = interaction([40, 40], [[110, 0], [110, 0]], draws=60)
    assert abs(apart.value) < 0.15
    assert alike.value == pytest.approx(-0.5, abs=0.1)


def test_extreme_shares_give_narrow_intervals_and_small_p() -> None:
    estimate = interaction([96, 0], [[96, 0], [0, 96]], draws=300)
    assert estimate.value == pytest.approx(0.5, abs=0.08)
    assert estimate.low > 0.3
    assert estimate.p < 1e-4
    assert (estimate.n, estimate.max) == (288, 0.5)


def test_p_and_interval_agree_and_the_value_lies_within() -> None:
    pairs = drawn(
        np.random.default_rng(5),
        np.array([0.75, 0.25]),
        np.array([[0.55, 0.45], [0.6, 0.4]]),
        repeats=60,
    )
    for estimate in interactions(pairs, rng=np.random.default_rng(0), draws=80):
        assert (estimate.p < 0.05) == (estimate.low > 0 or estimate.high < 0)
        assert estimate.low <= estimate.value <= estimate.high


@settings(max_examples=4)
@given(
    st.lists(st.tuples(COUNTS, st.lists(COUNTS, min_size=1, max_size=4)), min_size=2, max_size=4)
)
def test_a_pair_does_not_depend_on_other_pairs_or_their_order(
    tables: list[tuple[list[int], list[list[int]]]],
) -> None:
    names = sorted(DISTANCES)
    pairs = [AxisPairSample(i, c, [1, 1, 1], names[k % 3]) for k, (i, c) in enumerate(tables)]
    crowd = interactions(pairs, rng=np.random.default_rng(1), draws=40)
    turned = interactions(pairs[::-1], rng=np.random.default_rng(1), draws=40)
    assert crowd == turned[::-1]
    assert crowd[0] == interactions(pairs[:1], rng=np.random.default_rng(1), draws=40)[0]
    for estimate in crowd:
        assert isinstance(estimate, Estimate)
        assert -1 <= estimate.low <= estimate.high <= 1


def test_several_prompts_are_sets_of_equal_weight() -> None:
    rng = np.random.default_rng(0)
    entry = interaction([30, 10], [[20, 20]], seed=3)
    many = AxisPairSample(np.tile([30, 10], (8, 1)), np.tile([20, 20], (8, 1)), [1, 1])
    (estimate,) = interactions([many], rng=rng, draws=100)
    assert estimate.value == pytest.approx(0.25, abs=0.04)
    assert estimate.high - estimate.low < (entry.high - entry.low) / 2


def test_pure_noise_has_a_size() -> None:
    pairs = drawn(
        np.random.default_rng(9), np.array([0.7, 0.3]), np.tile([0.7, 0.3], (2, 1)), repeats=300
    )
    seen = np.mean([abs(debiased_value(pair)) for pair in pairs])
    graph = {(f"source {k}", "target"): pair for k, pair in enumerate(pairs[:40])}
    sizes = null_sizes(graph, rng=np.random.default_rng(0), draws=200)
    assert np.mean([*sizes.values()]) == pytest.approx(seen, rel=0.15)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any), st.integers(1, 40))
def test_an_axis_whose_counterfactuals_are_followed_has_no_negative_effect_on_itself(
    initial: list[int], images: int
) -> None:
    """Noise in baseline images near the reference gave a negative effect."""
    pair = AxisPairSample(initial, images * np.eye(3), [1, 1, 1])
    (estimate,) = interactions([pair], rng=np.random.default_rng(0), draws=50)
    assert least_possible(pair) == pytest.approx(0)
    assert 0 <= estimate.low <= estimate.value <= estimate.high


def test_the_bound_of_a_followed_axis_is_the_distance_of_its_reference_from_uniform() -> None:
    skewed = AxisPairSample([9, 1], 10 * np.eye(2), [9, 1])
    assert least_possible(skewed) == pytest.approx(-0.4)
    (estimate,) = interactions([skewed], rng=np.random.default_rng(0), draws=100)
    assert estimate.value < 0
    assert least_possible(replace(skewed, counterfactual=[[9, 1], [0, 10]])) == -1


def test_simulated_pairs_share_only_the_initial_set() -> None:
    """Equal sets shared all draws, so all pairs of a graph were large in the same simulations."""
    rng = np.random.default_rng(0)
    sample = AxisPairSample([48, 48], [[48, 48], [48, 48]], [1, 1])
    pairs = [(source, target) for source in "abc" for target in "abc" if source != target]
    sizes = null_sizes(dict.fromkeys(pairs, sample), rng=rng, draws=4000)
    assert abs(np.corrcoef(sizes["a", "b"], sizes["b", "c"])[0, 1]) < 0.06
    assert 0.2 < np.corrcoef(sizes["a", "c"], sizes["b", "c"])[0, 1] < 0.8


@pytest.mark.slow
def test_amplification_is_rejected_at_its_level_in_fair_graphs_and_found_in_others() -> None:
    """No fair graph was rejected, and graphs with an effect were not found."""
    rejected = {}
    for name, after in {"fair": [[0.5, 0.5]] * 2, "effect": [[0.4, 0.6], [0.2, 0.8]]}.items():
        rng = np.random.default_rng(1)
        rejections = [_amplification_p(np.array(after), rng) < 0.05 for _ in range(200)]
        rejected[name] = np.mean(rejections)
    assert 0.005 < rejected["fair"] < 0.09
    assert rejected["effect"] > 0.8


def _amplification_p(after: Any, rng: np.random.Generator) -> float:
    """Return p of the amplification of a graph of three axes with uniform initial sets."""
    graph = {}
    for target in "abc":
        initial = rng.multinomial(96, [0.5, 0.5])
        for source in "abc":
            if source != target:
                counts = rng.multinomial(96, after)
                graph[source, target] = AxisPairSample(initial, counts, [1, 1])
    nulls = null_sizes(graph, rng=rng, draws=200)
    effects = {names: Estimate(debiased_value(pair)) for names, pair in graph.items()}
    estimate = amplification(effects, nulls)
    assert estimate.low <= max(estimate.corrected, 0) <= estimate.high
    return estimate.p


@pytest.mark.parametrize(
    ("initial", "sets"),
    [([0, 0], [[1, 1]]), ([1, 1], [[1, 1], [0, 0]]), ([1, 1], np.empty((0, 2))), ([1], [[1]])],
)
def test_without_answers_there_is_a_reason(initial: list[int], sets: list[list[int]]) -> None:
    pair = AxisPairSample(initial, sets, np.ones(len(initial)))
    (estimate,) = interactions([pair], rng=np.random.default_rng(0))
    assert isinstance(estimate, Missing)
    assert estimate.detail
    assert isinstance(debiased_value(pair), Missing)


def test_invalid_counts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(K, m\)"):
        interaction([1, 1], [1, 1])
    with pytest.raises(ValueError, match="whole numbers"):
        interaction([1, 0.5], [[1, 1]])
    with pytest.raises(UnknownName, match="nominal"):
        distance_for("nominl", "nominal")


CASES = {
    "nothing": (FAIR, np.tile(FAIR, (6, 1))),
    "mirrored": (np.array([0.8, 0.2]), np.array([[0.2, 0.8]] * 2)),
    "cured": (np.array([0.8, 0.2]), np.array([[0.5, 0.5]] * 2)),
    "the axis itself": (np.array([0.8, 0.2]), np.eye(2)),
    "spoilt": (FAIR, np.tile(BIASED, (3, 1))),
}


def coverage(case: str, repeats: int, draws: int) -> float:
    before, after = CASES[case]
    truth = sensitivity(before, after.mean(axis=0), np.full(len(before), 1 / len(before)))
    pairs = drawn(np.random.default_rng(6), before, after, repeats=repeats)
    estimates = interactions(pairs, rng=np.random.default_rng(7), draws=draws)
    return float(np.mean([e.low - 1e-9 <= truth <= e.high + 1e-9 for e in estimates]))


@pytest.mark.parametrize("name", sorted(DISTANCES))
def test_a_reference_that_was_counted_widens_the_interval(name: str) -> None:
    def width(pictures: int | None) -> float:
        reference = np.ones(3) if name == "values" else [0.5, 0.3, 0.2]
        pair = AxisPairSample(
            [30, 12, 6], [[20, 18, 10], [14, 20, 14]], reference, name, reference_images=pictures
        )
        (estimate,) = interactions([pair], rng=np.random.default_rng(3), draws=200)
        assert isinstance(estimate, Estimate)
        assert estimate.low is not None
        assert estimate.high is not None
        return estimate.high - estimate.low

    assert width(10**9) == pytest.approx(width(None))
    assert width(None) < width(96) < width(24)


@pytest.mark.parametrize("sets", [[[0, 24], [0, 24]], [[2, 22], [2, 22]]])
def test_a_value_that_the_counted_reference_lacks_is_not_known_to_be_absent(
    sets: list[list[int]],
) -> None:
    """The interval is not narrower than for a reference that showed the value in one image."""

    def width(reference: list[int]) -> float:
        pair = AxisPairSample([2, 22], sets, reference, reference_images=24)
        (estimate,) = interactions([pair], rng=np.random.default_rng(3), draws=400)
        assert isinstance(estimate, Estimate)
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low <= 0 <= estimate.high
        return estimate.high - estimate.low

    assert width([0, 24]) > 0.8 * width([1, 23])
    counted = AxisPairSample([2, 22], sets, [0, 24], reference_images=24)
    exact = AxisPairSample([2, 22], sets, [0, 24])
    variances = [change_of(pair).before.variances for pair in (counted, exact)]
    assert np.all(variances[0] > variances[1])


def test_sensitivity_to_a_rare_value_of_a_counted_reference_rejects_at_its_level() -> None:
    rng = np.random.default_rng(4)
    shares = [0.03, 0.97]
    pairs = [
        AxisPairSample(
            rng.multinomial(24, shares),
            rng.multinomial(24, shares, 2),
            rng.multinomial(24, shares),
            reference_images=24,
        )
        for _ in range(150)
    ]
    estimates = interactions(pairs, rng=np.random.default_rng(0), draws=100)
    assert np.mean([each.p < 0.05 for each in estimates]) <= 0.08


@pytest.mark.parametrize("case", ["mirrored", "cured"])
def test_sensitivity_is_covered(case: str) -> None:
    assert coverage(case, 150, 100) >= 0.89


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_sensitivity_is_covered_closely(case: str) -> None:
    assert coverage(case, 1000, 400) >= 0.925
