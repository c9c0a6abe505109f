"""Means with Student's interval, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from askew.errors import NotEnoughData
from askew.stats.association import cas
from askew.stats.association_intervals import associations
from askew.stats.intervals import ends
from askew.stats.means import (
    mean_cas,
    mean_cas_contrast,
    prompt_mean,
    search_difference,
    student_mean,
)
from benchmarks.calibration_associations import axis, mixture


def test_the_mean_and_its_interval_are_students() -> None:
    x = np.random.default_rng(0).normal(1.0, 0.2, size=9)
    estimate = student_mean(x, 0.9, "t", missing=2, null=0.8)
    oracle = stats.ttest_1samp(x, 0.8)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(oracle.confidence_interval(0.9)))
    assert estimate.p == pytest.approx(oracle.pvalue)
    assert (estimate.n, estimate.missing, estimate.null) == (9, 2, 0.8)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=9), st.floats(0, 0.5))
def test_the_mean_over_prompts_allows_for_errors_within_prompts(
    numbers: list[float], error: float
) -> None:
    errors = np.full(len(numbers), error)
    rng = np.random.default_rng(0)
    mean = prompt_mean(numbers, errors, bounds=(-1, 1), rng=rng)
    low, high = ends(mean)
    assert -1 <= low <= mean.value + 1e-12
    assert mean.value - 1e-12 <= high <= 1
    spread = float(np.std(numbers, ddof=1)) / math.sqrt(len(numbers))
    reach = stats.t.ppf(0.975, len(numbers) - 1) * max(spread, error / math.sqrt(len(numbers)))
    assert low == pytest.approx(max(mean.value - reach, -1), abs=1e-9)
    assert mean.p is not None
    assert mean.p >= 1 / 2 ** len(numbers) - 1e-12
    assert prompt_mean(numbers[::-1], errors, bounds=(-1, 1), rng=rng).p == mean.p


@pytest.mark.parametrize("count", [3, 8, 20])
def test_p_of_a_mean_over_prompts_is_that_of_sign_flips(count: int) -> None:
    x = np.random.default_rng(count).normal(0.3, 0.5, size=count)
    mean = prompt_mean(x, np.zeros(count), rng=np.random.default_rng(0))
    oracle = stats.permutation_test(
        (x,), np.mean, permutation_type="samples", n_resamples=9999, rng=np.random.default_rng(1)
    )
    if count < 9:  # the observed signs and their opposites count half
        assert mean.p == pytest.approx(oracle.pvalue - 1 / 2**count)
    else:
        assert mean.p == pytest.approx(oracle.pvalue, abs=0.02)


def test_one_prompt_has_a_mean_without_interval_and_test() -> None:
    mean = prompt_mean([0.4], [0.1], rng=np.random.default_rng(0))
    assert (mean.value, mean.low, mean.p, mean.null) == (0.4, None, None, 0.0)
    assert prompt_mean([0.4], [0.1]).null is None
    with pytest.raises(NotEnoughData):
        prompt_mean([], [])


def test_one_number_has_no_interval_and_no_number_no_mean() -> None:
    assert student_mean([1.5], 0.95, "t").low is None
    with pytest.raises(NotEnoughData):
        student_mean([], 0.95, "t")
    with pytest.raises(ValueError, match="finite"):
        student_mean([1.0, float("nan")], 0.95, "t")


def test_numbers_without_spread_are_the_null_or_not() -> None:
    assert student_mean([1.0] * 3, 0.95, "t", null=1.0).p == 1.0
    assert student_mean([1.0] * 3, 0.95, "t", null=0.0).p == 0.0
    assert student_mean([0.1] * 3, null=0.0).p == 0.0
    assert student_mean([0.1, 0.1], null=0.0).p is None
    assert student_mean([0.3], null=0.0).p is None
    assert student_mean([1.0, 1.2], 0.95, "t").p is None
    cut = student_mean([-0.9, 0.9], bounds=(-1, 1))
    assert (cut.low, cut.high) == (-1, 1)


def test_the_interval_of_a_mean_contrast_includes_its_bias_correction() -> None:
    contrasts = np.array([0.1, 0.2, 0.3])
    plug_ins = np.array([0.08, 0.15, 0.25])
    alone = student_mean(contrasts, null=0.0)
    estimate = mean_cas_contrast(contrasts, plug_ins)
    mirrored = mean_cas_contrast(-contrasts, -plug_ins)
    assert (estimate.value, estimate.p, estimate.low) == (alone.value, alone.p, alone.low)
    assert estimate.high == pytest.approx(alone.high + 0.04)
    assert (mirrored.low, mirrored.high) == (-estimate.high, -estimate.low)
    assert ends(mean_cas_contrast([-0.9, 0.9], [0.0, 0.0])) == (-1, 1)


def test_runs_are_compared_in_pairs() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(1.05, 0.02, size=(10, 5))
    mined = base - 0.01 + rng.normal(0, 0.003, size=base.shape)
    estimate = search_difference(base.tolist(), mined.tolist(), 0.95)
    oracle = stats.ttest_rel(mined.mean(axis=1), base.mean(axis=1))
    assert estimate.interval == "t over runs"
    assert estimate.value == pytest.approx(float((mined - base).mean()))
    assert estimate.p == pytest.approx(oracle.pvalue)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(oracle.confidence_interval(0.95)))


def test_a_single_run_has_only_its_prompts() -> None:
    a = [1.05, 1.06, 1.04, 1.07]
    b = [1.02, 1.05, 1.01]
    estimate = search_difference([a], [b], 0.9)
    oracle = stats.ttest_ind(b, a, equal_var=False)
    assert estimate.interval == "Welch t over the best prompts of one run"
    assert estimate.p == pytest.approx(oracle.pvalue)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(oracle.confidence_interval(0.9)))


def test_runs_of_one_prompt_have_no_interval() -> None:
    estimate = search_difference([[1.0]], [[0.9]], 0.95)
    assert estimate.value == pytest.approx(-0.1)
    assert estimate.low is None


def test_the_same_searches_do_not_differ() -> None:
    losses = [[1.0, 1.1], [1.2, 1.3], [1.0, 1.4]]
    estimate = search_difference(losses, losses, 0.95)
    assert (estimate.value, estimate.low, estimate.high, estimate.p) == (0.0, 0.0, 0.0, 1.0)


def test_searches_without_a_score_are_refused() -> None:
    with pytest.raises(NotEnoughData):
        search_difference([[1.0], []], [[1.0], [1.0]], 0.95)
    with pytest.raises(ValueError, match="pairs"):
        search_difference([[1.0]], [[1.0], [1.0]], 0.95)


def test_a_mean_cas_includes_the_shared_uncertainty_of_its_scores() -> None:
    scores = np.array([0.7, 0.8, 0.75, 0.6])
    alone = student_mean(scores)
    estimate = mean_cas(scores, [0.02, 0.04, 0.02, 0.04])
    assert estimate.value == alone.value
    assert alone.low is not None
    assert alone.high is not None
    assert (estimate.low, estimate.high) == (
        pytest.approx(alone.low - 0.03),
        pytest.approx(alone.high + 0.06),
    )
    assert mean_cas(scores, np.ones(4)).high == 1


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [pytest.param(0.0, marks=pytest.mark.slow), 0.3])
def test_a_mean_cas_covers_the_mean_of_its_population(elsewhere: float) -> None:
    """Twenty prompts of 24 images, sixty times; Student's interval covers half where sets differ in
    one question.
    """
    rng = np.random.default_rng(3)
    estimates = []
    truth = []
    for skew in rng.uniform(-0.4, 1.0, 60):
        worlds = axis(2, 12, elsewhere, rng)
        shares = np.array([1 + skew, 1 - skew]) / 2
        truth.append(float(cas(shares @ [p.histogram for p in worlds], worlds[0].histogram)))
        sets = [p.sample(24, rng) for p in worlds]
        entry = associations(mixture(worlds, shares, 24, rng), sets, rng=rng, draws=100)
        estimates.append((entry.cas[0].mark, entry.apart[0]))
    domains = np.array(estimates)[rng.integers(0, 60, (60, 20))]
    covered = 0
    for domain in domains:
        low, high = ends(mean_cas(*domain.T))
        covered += low <= np.mean(truth) <= high
    assert covered / len(domains) >= 0.93
