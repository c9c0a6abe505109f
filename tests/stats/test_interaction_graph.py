"""Edges of an interaction graph, and the numbers that summarize it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from askew.stats.interaction_graph import (
    amplification,
    busiest,
    correlation,
    mean_correlation,
    mean_sensitivity,
    negative_share,
    q_values,
)
from askew.stats.intervals import benjamini_hochberg
from askew.types import Estimate, Missing

NONE = Missing("not_asked", "nothing")


def effect(value: float, reach: float = 0.05, p: float = 0.5) -> Estimate:
    return Estimate(value, value - reach, value + reach, 0.95, n=96, p=p)


EFFECTS = {("a", "b"): effect(0.2), ("a", "c"): effect(-0.02), ("b", "c"): effect(-0.3)}


def test_tests_that_were_not_made_are_in_no_family() -> None:
    q = benjamini_hochberg([1e-6, 2e-5, 0.2]).tolist()
    assert q_values({"a": 1e-6, "b": None, "c": 2e-5, "d": 0.2}) == pytest.approx(
        dict(zip("acd", q, strict=True))
    )
    assert q_values({"a": None}) == {}


def test_the_busiest_axis_has_most_edges_then_the_largest() -> None:
    assert busiest([("a", 0.2), ("a", 0.0), ("b", 0.9)]) == "a"
    assert busiest([("b", 0.2), ("c", 0.02)]) == "b"
    assert busiest([("c", 0.2), ("b", 0.2)]) == "b"
    assert busiest([]) is None


def test_amplification_is_the_sum_of_effects_including_noise() -> None:
    estimate = amplification(EFFECTS, dict.fromkeys(EFFECTS, np.array([0.01, 0.05, 0.03])))
    assert estimate.value == pytest.approx(0.52)
    assert estimate.null == pytest.approx(0.09)
    assert estimate.corrected == pytest.approx(0.43)
    assert estimate.p == pytest.approx(1 / 4)
    assert estimate.low == pytest.approx(0.52 - np.quantile([0.03, 0.09, 0.15], 0.975))
    assert estimate.corrected < estimate.high < 0.52 + 0.2
    assert isinstance(amplification({}, {}), Missing)


def test_amplification_of_noise_is_its_null_and_may_be_nothing() -> None:
    rng = np.random.default_rng(0)
    names = [(f"a{i}", f"b{i}") for i in range(400)]
    noise = {n: effect(float(rng.normal(0, 0.05)), 0.098) for n in names}
    estimate = amplification(noise, {n: np.abs(rng.normal(0, 0.05, 200)) for n in names})
    assert abs(estimate.corrected) < 0.1 * estimate.null
    assert (estimate.low, estimate.p > 0.01) == (0.0, True)


def test_share_made_worse() -> None:
    estimate = negative_share([*EFFECTS.values()])
    assert (estimate.value, estimate.low, estimate.high) == (
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
    )
    assert (estimate.n, estimate.null) == (3, 0.5)
    # its interval excludes 0, but the simultaneous ones do not
    assert negative_share([effect(-0.051), effect(0.2)]).low == 0
    assert isinstance(negative_share([]), Missing)


def test_the_mean_over_prompts_joins_their_intervals() -> None:
    estimate = mean_sensitivity([effect(0.1, 0.3), effect(0.3, 0.4)])
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((0.2, -0.05, 0.45))
    assert isinstance(mean_sensitivity([]), Missing)


def test_correlation_is_scipys_over_the_existing_pairs() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 4, 4))
    y = 0.6 * x + rng.normal(size=x.shape)
    x[:, range(4), range(4)] = np.nan
    estimate = correlation(x, y, rng=rng, draws=400)
    there = np.isfinite(x)
    assert estimate.value == pytest.approx(pearsonr(x[there], y[there]).statistic, abs=1e-10)
    assert (estimate.n, estimate.null) == (24, 0.0)
    assert -1 <= estimate.low < estimate.value < estimate.high <= 1


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_a_correlation_accounts_for_noise_shared_by_a_target(effect: float) -> None:
    """Without a mitigation both sides have noise, which is shared by all pairs of a target."""
    rng = np.random.default_rng(2)
    missed = []
    held = []
    for _ in range(60):
        truth = effect * rng.normal(size=(8, 8))
        x, y = (truth + rng.normal(size=8) + 0.5 * rng.normal(size=(8, 8)) for _ in range(2))
        x[range(8), range(8)] = np.nan
        estimate = correlation(x, y, rng=rng, draws=99)
        missed.append(estimate.p < 0.05)
        held.append(estimate.low <= effect**2 / (effect**2 + 1.25) <= estimate.high)
    assert np.mean(held) >= 0.9
    assert np.mean(missed) < 0.12 if effect == 0 else np.mean(missed) > 0.5


def test_impossible_correlations_are_missing() -> None:
    rng = np.random.default_rng(0)
    assert isinstance(correlation([[1, 2]], [[1, 2]], rng=rng), Missing)
    assert isinstance(correlation([[1, 1, 1]], [[1, 2, 3]], rng=rng), Missing)
    assert correlation([[1, 2], [3, 4]], [[2, 3], [6, 8]], rng=rng).low is None  # two targets
    with pytest.raises(ValueError, match="same shape"):
        correlation([[1, 2, 3]], [[1, 2]], rng=rng)


def test_mean_over_prompts() -> None:
    estimate = mean_correlation([Estimate(0.4, n=9), Estimate(0.8, n=5), NONE])
    assert (estimate.value, estimate.n) == (pytest.approx(0.6), 2)
    assert -1 <= estimate.low < 0.4 < 0.8 < estimate.high <= 1
    assert mean_correlation([Estimate(0.4, n=9)]).low is None
    assert isinstance(mean_correlation([NONE]), Missing)
