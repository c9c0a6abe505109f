"""Planted effects are recovered: as a slope, in their order, at the edges, and with coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from askew.errors import NotEnoughData
from benchmarks.recovery import recovered, spearman_crossed


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def decisions_of_pairs(share: np.ndarray, pictures: int, random: np.random.Generator) -> np.ndarray:
    """Return decisions that choose a pair's first class with these probabilities."""
    return (random.random((pictures, len(share))) < share).astype(float)


def test_planted_effects_are_recovered_as_the_slope_through_zero() -> None:
    planted = np.array([0.8, 0.4, 0.0, -0.2])
    random = rng()
    first, second = (decisions_of_pairs(0.5 + sign * planted / 4, 200, random) for sign in (1, -1))
    result = recovered(first, second, planted, rng=random, draws=200)
    measured = first.mean(axis=0) - second.mean(axis=0)
    assert result.value == pytest.approx((measured @ planted) / (planted @ planted))
    assert result.low < 0.5 < result.high  # half of the planted effect
    assert result.p < 0.01
    nothing = recovered(first, first[::-1], planted, rng=random, draws=200)
    assert nothing.value == pytest.approx(0)
    with pytest.raises(NotEnoughData, match="nothing was planted"):
        recovered(first, second, np.zeros(4), rng=random)
    with pytest.raises(NotEnoughData, match="two images"):
        recovered(first[:1], second, planted, rng=random)


def test_ties_are_missing_and_full_agreement_has_an_interval() -> None:
    ones = np.ones((10, 2))
    zeros = np.zeros((10, 2))
    ones[0, 1] = np.nan
    result = recovered(ones, zeros, [0.5, 0.5], rng=rng(), draws=99)
    assert (result.value, result.n, result.missing) == (pytest.approx(2.0), 19, 1)
    assert result.low < 2 < result.high


@pytest.mark.parametrize(("skew", "pictures"), [(0.0, 12), (0.9, 12), (0.5, 48)])
def test_the_interval_of_recovered_effects_covers_the_truth(skew: float, pictures: int) -> None:
    """At least .93 of 400 trials cover the truth, up to chance; images have individual biases."""
    random = np.random.default_rng(8)
    planted = np.linspace(0.1, 0.9, 9)
    covered = 0
    for _ in range(400):
        sides = []
        for sign in (1, -1):
            noise = random.normal(size=(pictures, 1)) * 0.1
            sides.append(
                (random.random((pictures, 9)) < 0.5 + sign * skew * planted / 2 + noise).astype(
                    float
                )
            )
        result = recovered(sides[0], sides[1], planted, rng=random, draws=1)
        covered += result.low <= skew <= result.high
    assert covered >= 0.915 * 400


def test_a_change_of_recovered_effects_is_tested_on_the_same_images() -> None:
    planted = np.array([0.8, 0.4])
    random = rng()
    before = tuple(decisions_of_pairs(np.full(2, 0.5), 60, random) for _ in range(2))
    after = (np.ones((60, 2)), np.zeros((60, 2)))
    values = [recovered(*sides, planted, rng=random, draws=1).value for sides in (before, after)]
    result = recovered(*after, planted, before=before, rng=random, draws=500)
    assert result.value == pytest.approx(values[1] - values[0])
    assert result.p < 0.01
    assert result.low > 0
    same = recovered(*after, planted, before=after, rng=random, draws=50)
    assert same.value == 0
    assert same.p == 1


def test_crossed_correlation_is_spearman_of_the_cells() -> None:
    random = np.random.default_rng(2)
    x, y = random.normal(size=(2, 4, 5))
    result = spearman_crossed(x, y, rng=np.random.default_rng(0), draws=50)
    assert result.value == pytest.approx(spearmanr(x.ravel(), y.ravel()).statistic)
    assert result.low < result.value < result.high
    assert result.n == 20


def test_crossed_p_counts_orders_of_rows_and_columns() -> None:
    """Only the identity and its reverse are as extreme among 3! · 3! orders of a table of sums."""
    table = np.add.outer([0.0, 10.0, 20.0], [0.0, 1.0, 3.0])
    result = spearman_crossed(table, table, rng=np.random.default_rng(0), draws=4000)
    assert result.value == pytest.approx(1)
    assert result.p == pytest.approx(2 / 36, abs=0.015)
    assert result.low < 0.99
    assert result.high == pytest.approx(1)


def test_crossed_correlation_of_two_rows_has_no_interval() -> None:
    result = spearman_crossed(
        [[1, 2], [3, 5]], [[1, 3], [2, 4]], rng=np.random.default_rng(0), draws=10
    )
    assert (result.low, result.interval, result.level) == (None, None, None)
    with pytest.raises(NotEnoughData):
        spearman_crossed(np.ones((3, 3)), np.eye(3), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="same rows and columns"):
        spearman_crossed(np.eye(3), np.eye(4), rng=np.random.default_rng(0))


def test_the_crossed_interval_covers_where_cells_share_rows_and_columns() -> None:
    """Rows and columns have normal scores whose measurements correlate by .6 (100 6x6 tables)."""
    random = np.random.default_rng(3)
    truth = 6 / np.pi * np.arcsin(0.3)
    covered = 0
    for _ in range(100):
        scores = random.normal(size=(2, 6))
        read = 0.6 * scores + 0.8 * random.normal(size=(2, 6))
        result = spearman_crossed(
            np.subtract.outer(*scores), np.subtract.outer(*read), rng=random, draws=1
        )
        covered += result.low <= truth <= result.high
    assert covered >= 90
