"""Samples of labels in two stages: intervals with a t-quantile, and the size of the second stage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.stats.shares import wilson
from askew.stats.stages import ASSURANCE, Pilot, StagedLabels, second_stage
from askew.stats.strata import StratifiedLabels
from benchmarks.study_labels import World, plain_sample
from benchmarks.study_labels_pilot import Design, simulate

Floats = NDArray[np.float64]


def half_width_of_two_values(sizes: Floats, labeled: Floats, second: Floats) -> Floats:
    """Return the half-width of the interval for the share of the second of two values.

    The arrays have the shape (strata, …). All images have a value.
    """
    weights = sizes / sizes.sum(axis=0)
    share = (weights * second / labeled).sum(axis=0)
    smooth = (second + 0.5) / (labeled + 1)
    parts = weights**2 * (1 - labeled / sizes) / (labeled - 1)
    # the variance of an indicator minus its share is the variance of the indicator
    parts = parts * smooth * (1 - smooth)
    variance = parts.sum(axis=0)
    rarer = np.minimum(second, labeled - second)
    freedom = variance**2 / (parts**2 / (2 * rarer + 1)).sum(axis=0)
    t = scipy.stats.t.ppf(0.975, np.maximum(freedom, 3))
    center = (weights * smooth).sum(axis=0)
    spread = center * (1 - center)
    inside = (share > 0) & (share < 1)
    spread = np.where(inside, np.minimum(spread, share * (1 - share)), spread)
    n = spread / variance
    low = (share + t**2 / (2 * n) - t * np.sqrt(share * (1 - share) / n + t**2 / (4 * n**2))) / (
        1 + t**2 / n
    )
    high = (share + t**2 / (2 * n) + t * np.sqrt(share * (1 - share) / n + t**2 / (4 * n**2))) / (
        1 + t**2 / n
    )
    return np.asarray((np.minimum(high, 1) - np.maximum(low, 0)) / 2)


def half_width(labels: StratifiedLabels, *, of_model: bool = False) -> float:
    low, high = labels.interval_ends(of_model=of_model)
    return float((high - low).max() / 2)


@given(
    first=st.integers(0, 60),
    second=st.integers(0, 40),
    sizes=st.tuples(*[st.integers(61, 900)] * 2),
)
def test_intervals_equal_an_independent_computation(
    first: int, second: int, sizes: tuple[int, int]
) -> None:
    labels = StagedLabels.of(sizes, [[60 - first, first, 0], [40 - second, second, 0]])
    expected = half_width_of_two_values(
        np.array(sizes, dtype=float), np.array([60.0, 40.0]), np.array([first, second], dtype=float)
    )
    assert half_width(labels) == pytest.approx(float(expected))


def test_intervals_of_one_stage_are_wilson_intervals_of_the_effective_size() -> None:
    labels = StratifiedLabels.of([500, 500], [[48, 2, 0], [10, 40, 0]])
    variance = labels.variances()[1]
    estimate = labels.estimates()[1]
    assert estimate.value == pytest.approx(0.42)
    # pseudo-counts move the share towards one half, so the size follows from the observed share
    expected = wilson(0.42, 0.42 * 0.58 / variance, 0.95)
    assert (estimate.low, estimate.high) == pytest.approx(expected)


def test_intervals_of_two_stages_are_wider() -> None:
    counts = [[58, 2, 3], [4, 33, 1]]
    plain = StratifiedLabels.of([400, 300], counts)
    staged = StagedLabels.of([400, 300], counts)
    assert half_width(staged) > half_width(plain)
    assert half_width(staged, of_model=True) > half_width(staged)
    assert "t-quantile" in staged.estimates()[0].interval


@given(counts=st.lists(st.tuples(*[st.integers(0, 30)] * 4), min_size=1, max_size=4))
def test_if_all_images_are_labeled_the_half_width_is_zero(
    counts: list[tuple[int, int, int, int]],
) -> None:
    table = np.array(counts)
    table[:, 0] += 1
    labels = StagedLabels.of(table.sum(axis=1), table)
    assert half_width(labels) == pytest.approx(0, abs=1e-12)
    nothing = second_stage(Pilot.of(table.sum(axis=1), table), 0.01, rng=np.random.default_rng(0))
    assert not nothing.any()


@st.composite
def pilots(draw: st.DrawFn) -> Pilot:
    counts = draw(st.lists(st.tuples(*[st.integers(0, 25)] * 3), min_size=1, max_size=4))
    table = np.array(counts)
    table[:, 0] += 1
    more = draw(st.lists(st.integers(0, 400), min_size=len(counts), max_size=len(counts)))
    return Pilot.of(table.sum(axis=1) + more, table)


@given(pilot=pilots(), width=st.floats(0.02, 0.2), factor=st.floats(0.3, 1))
def test_a_second_stage_takes_only_available_images_and_grows_with_the_precision(
    pilot: Pilot, width: float, factor: float
) -> None:
    additional = second_stage(pilot, width, rng=np.random.default_rng(1))
    assert np.all(additional >= 0)
    assert np.all(additional <= pilot.sizes - pilot.labeled)
    narrower = second_stage(pilot, width * factor, rng=np.random.default_rng(1))
    assert np.all(narrower >= additional)


def test_images_that_nobody_answered_are_replaced_by_others() -> None:
    counts = [[20, 1, 0], [0, 0, 0]]
    missing = Pilot.of([300, 30], counts, [279, 10])
    additional = second_stage(missing, 0.001, rng=np.random.default_rng(0))
    assert additional.tolist() == [279, 10]
    few = second_stage(missing, 0.4, rng=np.random.default_rng(0))
    assert few[1] >= 2
    with pytest.raises(ValueError, match="more labels than images"):
        Pilot.of([20], [[20, 1, 0]])
    with pytest.raises(NotEnoughData):
        second_stage(Pilot.of([20], [[0, 0, 9]]), 0.1, rng=np.random.default_rng(0))


def test_the_second_stage_reaches_the_half_width_with_the_assurance() -> None:
    """The probability follows from beta-binomial distributions of the labels in each stratum."""
    sizes = np.array([620, 380])
    seen = np.array([3, 46])
    pilot = Pilot.of(sizes, np.column_stack([50 - seen, seen, [0, 0]]))
    additional = second_stage(pilot, 0.04, rng=np.random.default_rng(0))

    def probability(more: NDArray[np.int64]) -> float:
        grids = np.meshgrid(*[np.arange(count + 1) for count in more], indexing="ij")
        mass = np.ones(grids[0].shape)
        for grid, count, of_second in zip(grids, more, seen, strict=True):
            mass *= scipy.stats.betabinom.pmf(grid, count, of_second + 0.5, 50 - of_second + 0.5)
        shape = (2, 1, 1)
        widths = half_width_of_two_values(
            sizes.reshape(shape).astype(float),
            (50.0 + more).reshape(shape),
            np.stack(grids) + seen.reshape(shape),
        )
        return float(mass[widths <= 0.04].sum())

    assert probability(additional) == pytest.approx(ASSURANCE, abs=0.04)
    assert probability(additional // 2) < ASSURANCE - 0.04


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "design", "ratio"),
    [
        (World(1000, 0.3, (0.9,)), Design(50), 0.6),
        (World(1000, 0.3, (0.9,)), Design(50, without_value=0.1), 0.7),
        (World(1000, 0.03, (0.97,)), Design(50), 1.6),
    ],
)
def test_planted_studies_reach_the_half_width(world: World, design: Design, ratio: float) -> None:
    rng = np.random.default_rng(3)
    outcomes = simulate(world, design, 200, rng)
    plain = plain_sample(world, design.precision, 200, rng) / (1 - design.without_value)
    assert np.mean([outcome.labeled for outcome in outcomes]) < ratio * plain
    assert np.mean([outcome.half_width <= 0.05 for outcome in outcomes]) > 0.9
    assert np.mean([outcome.holds for outcome in outcomes]) > 0.91
