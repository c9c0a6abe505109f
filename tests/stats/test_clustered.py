"""Rates and means over clusters: coverage, the design effect, and paired differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from askew.errors import NotEnoughData
from askew.stats.clustered import (
    clustered_mean,
    clustered_mean_difference,
    clustered_rate,
    clustered_rate_difference,
    rate_above_floor,
)
from askew.stats.shares import wilson

NAN = np.nan


def edits(
    rng: np.random.Generator, sources: int, share: float, together: float, members: int = 2
) -> np.ndarray:
    """Return 0 or 1 per edit; with probability `together` all edits of a source are equal."""
    same = rng.random((sources, 1)) < share
    alone = rng.random((sources, members)) < share
    return np.where(rng.random((sources, 1)) < together, same, alone).astype(float)


@pytest.mark.parametrize(("share", "together"), [(0.05, 0.0), (0.3, 0.5), (0.5, 1.0), (0.9, 0.5)])
def test_the_interval_of_a_rate_covers_it(share: float, together: float) -> None:
    rng = np.random.default_rng(1)
    clustered_rates = [clustered_rate(edits(rng, 25, share, together)) for _ in range(400)]
    covered = np.mean(
        [
            e.low <= share <= e.high
            for e in clustered_rates
            if e.low is not None and e.high is not None
        ]
    )
    assert covered >= 0.93


def test_members_that_always_agree_count_once() -> None:
    once = np.array([[0.0]] * 12 + [[1.0]] * 8)
    entry = clustered_rate(once)
    twice = clustered_rate(np.repeat(once, 2, axis=1))
    assert (twice.low, twice.high) == (
        pytest.approx(entry.low, abs=0.01),
        pytest.approx(entry.high, abs=0.01),
    )
    assert twice.n == 40


def test_a_rate_of_nothing_still_has_an_interval() -> None:
    none = clustered_rate(np.zeros((25, 2)))
    assert none.value == none.low == 0
    assert none.high is not None
    assert 0.1 < none.high < 0.2


def test_clusters_of_one_member_have_nearly_the_wilson_interval() -> None:
    estimate = clustered_rate(np.array([[1.0]] * 60 + [[0.0]] * 140))
    assert (estimate.low, estimate.high) == (
        pytest.approx(0.3 - 0.063, abs=0.01),
        pytest.approx(0.3 + 0.067, abs=0.01),
    )
    assert wilson(0.3, 200, 0.95) == pytest.approx(
        tuple(binomtest(60, 200).proportion_ci(0.95, method="wilson"))
    )


def test_missing_members_are_counted_as_missing() -> None:
    estimate = clustered_rate([[1, NAN], [0, 0], [NAN, NAN]])
    assert (estimate.value, estimate.n, estimate.missing) == (pytest.approx(1 / 3), 3, 3)
    with pytest.raises(NotEnoughData):
        clustered_rate([[NAN, NAN]])
    with pytest.raises(ValueError, match="0, 1 or NaN"):
        clustered_rate([[0.5]])


@given(st.integers(0, 2**32), st.permutations(range(12)))
def test_the_order_of_images_does_not_matter(seed: int, order: list[int]) -> None:
    rng = np.random.default_rng(seed)
    x = edits(rng, 12, 0.4, 0.5)
    y = edits(rng, 12, 0.2, 0.5)
    first = clustered_rate_difference(x, y, rng=np.random.default_rng(0), draws=200)
    second = clustered_rate_difference(x[order], y[order], rng=np.random.default_rng(0), draws=200)
    assert (first.value, first.low, first.high) == pytest.approx(
        (second.value, second.low, second.high)
    )


@pytest.mark.slow
def test_only_a_true_difference_is_significant() -> None:
    rng = np.random.default_rng(2)
    estimate = clustered_rate_difference(
        edits(rng, 25, 0.8, 0.5), edits(rng, 25, 0.1, 0.5), rng=rng
    )
    assert estimate.p is not None
    assert estimate.p < 0.01
    assert estimate.low is not None
    assert estimate.low > 0.3
    ps = [
        clustered_rate_difference(
            edits(rng, 25, 0.3, 0.5), edits(rng, 25, 0.3, 0.5), rng=rng, draws=199
        ).p
        for _ in range(200)
    ]
    assert np.mean([p is not None and p <= 0.05 for p in ps]) <= 0.09


def test_the_rate_of_labeling_errors_is_subtracted() -> None:
    changed = np.ones((20, 2))
    floor = np.array([[1.0]] * 5 + [[0.0]] * 15)
    changed[10:] = 0
    rate, base = rate_above_floor(changed, floor, rng=np.random.default_rng(0))
    assert (rate.value, rate.null, base.value) == (0.5, 0.25, 0.25)
    assert rate.corrected == pytest.approx((0.5 - 0.25) / 0.75)
    same, _ = rate_above_floor(floor, floor, rng=np.random.default_rng(0))
    assert same.corrected == 0
    assert same.p == 1


def test_the_interval_of_a_mean_covers_it() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(300):
        values = rng.normal(2, 1, (25, 1)) + rng.normal(0, 1, (25, 2))
        estimate = clustered_mean(values, rng=rng, draws=300, null=0.0)
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= 2 <= estimate.high
    assert hits / 300 >= 0.91


def test_means_are_compared_in_pairs() -> None:
    rng = np.random.default_rng(4)
    common = rng.normal(0, 10, (25, 1))
    estimate = clustered_mean_difference(common + 1 + rng.normal(0, 0.1, (25, 2)), common, rng=rng)
    assert estimate.value == pytest.approx(1, abs=0.1)
    assert estimate.low is not None
    assert estimate.low > 0.8
    with pytest.raises(NotEnoughData):
        clustered_mean_difference([[1.0], [NAN]], [[NAN], [1.0]], rng=rng)
