"""Shares and their deviation from a reference: coverage, and correction for chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from askew.errors import NotEnoughData
from askew.stats.distance import DISTANCES, distance_max
from askew.stats.intervals import benjamini_hochberg
from askew.stats.shares import distance_estimate, share_intervals
from askew.types import Estimate

COUNTS = st.lists(st.integers(0, 40), min_size=2, max_size=6).filter(any)


@settings(max_examples=15)
@given(COUNTS)
def test_share_intervals_contain_the_share_and_lie_within_clopper_pearson(
    counts: list[int],
) -> None:
    n = sum(counts)
    for k, share_interval in zip(counts, share_intervals(counts), strict=True):
        exact = binomtest(k, n).proportion_ci(method="exact")
        assert (
            exact.low - 1e-9
            <= share_interval.low
            <= share_interval.value
            <= share_interval.high
            <= exact.high + 1e-9
        )
        assert (share_interval.value, share_interval.n, share_interval.max) == (k / n, n, 1)


def test_share_interval_is_mirror_symmetric_and_never_a_point() -> None:
    women, men = share_intervals([0, 12])
    assert (women.low, men.high) == (0, 1)
    assert women.high == pytest.approx(1 - men.low)
    assert women.high == pytest.approx(1 - 0.025 ** (1 / 12))


def test_mid_p_ends_solve_their_equation() -> None:
    share_interval = share_intervals([7, 13], level=0.9)[0]
    assert binom.cdf(6, 20, share_interval.high) + binom.pmf(
        7, 20, share_interval.high
    ) / 2 == pytest.approx(0.05)
    assert binom.sf(7, 20, share_interval.low) + binom.pmf(
        7, 20, share_interval.low
    ) / 2 == pytest.approx(0.05)


@pytest.mark.parametrize("n", [10, 24, 48, 96, 200])
def test_share_intervals_cover_every_share(n: int) -> None:
    truths = np.linspace(0.001, 0.999, 999)
    estimates = [share_intervals([k, n - k])[0] for k in range(n + 1)]
    held = np.array([(e.low <= truths) & (truths <= e.high) for e in estimates])
    coverage = (binom.pmf(np.arange(n + 1)[:, None], n, truths) * held).sum(axis=0)
    assert coverage.min() > 0.925
    assert 0.945 < coverage[(truths > 0.1) & (truths < 0.9)].mean() < 0.97


@settings(max_examples=12)
@given(COUNTS, st.sampled_from(sorted(DISTANCES)), st.integers(0, 9))
def test_distance_estimates_are_consistent(counts: list[int], distance: str, seed: int) -> None:
    reference = np.ones(len(counts))
    estimate = distance_estimate(
        counts, reference, distance=distance, rng=np.random.default_rng(seed), draws=60
    )
    assert estimate.value == pytest.approx(DISTANCES[distance](counts, reference))
    assert 0 <= estimate.low <= estimate.high <= estimate.max + 1e-12
    assert estimate.max == pytest.approx(distance_max(reference, distance))
    assert estimate.corrected == pytest.approx(
        (estimate.value - estimate.null) / (estimate.max - estimate.null)
    )
    assert estimate.low <= estimate.value + 1e-9
    again = distance_estimate(
        counts, reference, distance=distance, rng=np.random.default_rng(seed), draws=60
    )
    assert again == estimate


def test_the_null_is_the_mean_distance_of_fair_images() -> None:
    estimate = distance_estimate([13, 11], [1, 1], rng=np.random.default_rng(0), draws=20_000)
    k = np.arange(25)
    expected = (np.abs(k / 24 - 0.5) * binom.pmf(k, 24, 0.5)).sum()
    assert estimate.null == pytest.approx(expected, abs=0.002)
    # the mid-p of 13 of 24: half of 11 and 13, and all that is further from 12
    not_nearer = 1 - binom.pmf(12, 24, 0.5)
    assert estimate.p == pytest.approx(not_nearer - binom.pmf(13, 24, 0.5))
    assert estimate.corrected == pytest.approx(
        estimate.value * 0 + (1 / 24 - expected) / (0.5 - expected), abs=0.01
    )


def test_p_agrees_with_the_exact_binomial_test() -> None:
    estimate = distance_estimate([18, 6], [1, 1], rng=np.random.default_rng(0), draws=50)
    assert estimate.p == pytest.approx(binomtest(6, 24).pvalue - binom.pmf(6, 24, 0.5))


def test_one_value_only_reaches_the_maximum_and_corrected_one() -> None:
    estimate = distance_estimate([48, 0, 0], [1, 1, 1], rng=np.random.default_rng(0))
    assert estimate.corrected == pytest.approx(1)
    assert estimate.high == pytest.approx(estimate.max)
    assert estimate.p == pytest.approx(3.0**-47 / 2)


def test_perfect_balance_does_not_prove_that_there_is_no_bias() -> None:
    estimate = distance_estimate([4] * 6, [1] * 6, rng=np.random.default_rng(0))
    assert (estimate.value, estimate.low) == (pytest.approx(0), 0)
    assert estimate.high > 0.15
    assert estimate.corrected < 0


def test_a_reference_share_of_zero_is_allowed() -> None:
    estimate = distance_estimate([5, 5, 2], [1, 1, 0], rng=np.random.default_rng(0))
    assert estimate.value == pytest.approx(1 / 6)
    assert estimate.max == pytest.approx(1)
    assert estimate.low == 0 < estimate.value < estimate.high


def covered(shares: list[float], n: int, distance: str, repeats: int, draws: int) -> float:
    rng = np.random.default_rng(8)
    p = np.array(shares)
    reference = np.ones(len(shares))
    truth = float(DISTANCES[distance](p, reference))

    def audit() -> Estimate:
        return distance_estimate(
            rng.multinomial(n, p), reference, distance=distance, rng=rng, draws=draws
        )

    audits = [audit() for _ in range(repeats)]
    return float(np.mean([e.low - 1e-9 <= truth <= e.high + 1e-9 for e in audits]))


FAIR = [1 / 6] * 6
BIASED = [0.5] + [0.1] * 5


@pytest.mark.parametrize(
    ("shares", "n"),
    [
        (FAIR, 10),
        pytest.param(BIASED, 24, marks=pytest.mark.slow),
        pytest.param([0.8, 0.2], 48, marks=pytest.mark.slow),
    ],
)
def test_the_population_distance_is_covered(shares: list[float], n: int) -> None:
    # holds in 99 of 100 cases if coverage is .95
    assert covered(shares, n, "total_variation", 100, 100) >= 0.89


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 24, 48, 96])
@pytest.mark.parametrize(
    ("shares", "distance"),
    [
        (FAIR, "total_variation"),
        (BIASED, "total_variation"),
        ([0.25, 0.25, 0.15, 0.15, 0.1, 0.1], "total_variation"),
        ([0.35, 1 / 6, 1 / 6, 1 / 6, 0.075, 0.075], "total_variation"),
        ([0.4, 0.4, 0.1, 0.1], "total_variation"),
        ([0.95, 0.05], "total_variation"),
        ([0.6, 0.3, 0.1], "wasserstein"),
        ([0.45, 0.1, 0.45], "wasserstein"),
        (BIASED, "values"),
    ],
)
def test_the_population_distance_is_covered_closely(
    shares: list[float], distance: str, n: int
) -> None:
    assert covered(shares, n, distance, 500, 300) >= 0.91


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shares", "n", "m", "runs"),
    [
        ((0.2, 0.5, 0.3), 48, 24, 80),
        pytest.param((0.3, 0.7), 48, 48, 200, marks=pytest.mark.slow),
        pytest.param((0.2, 0.5, 0.3), 48, 24, 200, marks=pytest.mark.slow),
        pytest.param((0.25,) * 4, 24, 96, 200, marks=pytest.mark.slow),
    ],
)
def test_a_counted_reference_adds_the_error_of_its_images(
    shares: tuple[float, ...], n: int, m: int, runs: int
) -> None:
    """If the second of two sets of one population is taken as exact, the first seems biased too
    often.
    """
    rng = np.random.default_rng(5)
    lines: dict[str, list[tuple[bool, bool]]] = {"counted": [], "exact": []}
    for _ in range(runs):
        counts = rng.multinomial(n, shares)
        reference = rng.multinomial(m, shares)
        for name, pictures in (("counted", m), ("exact", None)):
            entry = distance_estimate(
                counts, reference, rng=rng, draws=100, reference_images=pictures
            )
            assert entry.p is not None
            assert entry.low is not None
            lines[name].append((entry.p < 0.05, entry.low > 0))
    alarms, wrong = np.mean(lines["counted"], axis=0)
    assert alarms <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / runs)
    assert wrong <= 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / runs)
    assert np.mean(lines["exact"], axis=0)[0] > alarms


@pytest.mark.slow
def test_a_reference_counted_on_many_images_is_exact() -> None:
    counted, exact = (
        distance_estimate(
            [30, 18], [0.4, 0.6], rng=np.random.default_rng(0), reference_images=pictures
        )
        for pictures in (10**9, None)
    )
    assert (counted.low, counted.high) == pytest.approx((exact.low, exact.high))
    assert counted.null == pytest.approx(exact.null)
    assert counted.p == pytest.approx(exact.p, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "runs"),
    [
        (24, 80),
        pytest.param(12, 200, marks=pytest.mark.slow),
        pytest.param(24, 200, marks=pytest.mark.slow),
        pytest.param(48, 200, marks=pytest.mark.slow),
    ],
)
def test_a_rare_value_of_a_counted_reference_is_not_taken_as_exact(m: int, runs: int) -> None:
    """Equal populations with a value of 3 %: p rejects at its level, the interval holds 0."""
    shares = [0.03, 0.57, 0.4]
    rng = np.random.default_rng(m)
    rejected = 0
    excluded = 0
    for _ in range(runs):
        entry = distance_estimate(
            rng.multinomial(48, shares),
            rng.multinomial(m, shares),
            rng=rng,
            draws=100,
            reference_images=m,
        )
        assert entry.p is not None
        assert entry.low is not None
        rejected += entry.p < 0.05
        excluded += entry.low > 0
    assert rejected <= 0.075 * runs + 3
    assert excluded <= 0.05 * runs + 9


def test_two_of_24_against_none_of_24_is_fishers_test() -> None:
    entry = distance_estimate(
        [2, 22], [0, 24], rng=np.random.default_rng(0), draws=100, reference_images=24
    )
    assert entry.p > 0.2
    assert entry.low == 0


def test_one_prompt_of_24_women_is_found_among_sixty() -> None:
    rng = np.random.default_rng(0)
    counts = [[24, 0], *rng.multinomial(24, [0.5, 0.5], size=59)]
    p_values = [distance_estimate(c, [1, 1], rng=rng, draws=50).p for c in counts]
    assert p_values[0] == pytest.approx(2**-24)
    assert benjamini_hochberg(p_values)[0] < 1e-5


def test_invalid_counts_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(NotEnoughData):
        share_intervals([0, 0])
    with pytest.raises(NotEnoughData):
        distance_estimate([0, 0], [1, 1], rng=rng)
    with pytest.raises(ValueError, match="whole numbers"):
        share_intervals([0.5, 0.5])
    with pytest.raises(ValueError, match="2 and 3 values"):
        distance_estimate([1, 1], [1, 1, 1], rng=rng)


@pytest.mark.parametrize("counts", [[0, 24], [24, 0]])
def test_a_value_that_neither_set_shows_may_still_be_in_its_population(counts: list[int]) -> None:
    entry = distance_estimate(
        counts, counts, rng=np.random.default_rng(0), draws=200, reference_images=24
    )
    assert entry.low == 0
    assert entry.high > 0.1, "of 24 images, none shows a share of a tenth once in twelve times"
