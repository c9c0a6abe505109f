"""Shares over prompts: images of a prompt are a cluster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike
from scipy.stats import binomtest

from askew.errors import NotEnoughData
from askew.stats.goodness_of_fit import FitTest
from askew.stats.over_prompts import (
    PromptCounts,
    distance_over_prompts,
    over_prompts_test,
    shares_over_prompts,
)
from slow_cases import quick_only

FAIR = np.array([0.5, 0.5])


def fit(counts: ArrayLike, references: ArrayLike) -> FitTest:
    return over_prompts_test(PromptCounts.of(counts, references))


def test_an_image_of_each_of_26_prompts_is_a_binomial_test() -> None:
    counts = np.tile([1, 0], (26, 1))
    result = fit(counts, np.tile(FAIR, (26, 1)))
    assert result.exact_p == pytest.approx(binomtest(26, 26).pvalue)
    assert result.p == pytest.approx(binomtest(26, 26).pvalue / 2)
    male, female = shares_over_prompts(PromptCounts.of(counts, np.tile(FAIR, (26, 1))))
    assert (male.value, female.value) == (1, 0)
    assert male.low > 0.7


@pytest.mark.parametrize(("prompts", "images"), [(4, 24), (12, 8), (40, 2)])
@pytest.mark.parametrize("values", [2, 3])
def test_prompts_that_differ_but_are_fair_on_average_are_rarely_called_biased(
    prompts: int, images: int, values: int
) -> None:
    """Independent images would be significant in far more than 5 % of such runs."""
    rng = np.random.default_rng([prompts, values])
    reference = np.full((prompts, values), 1 / values)
    runs = 400
    significant = 0
    for _ in range(runs):
        shares = rng.dirichlet(np.full(values, 2.0), size=prompts)
        counts = rng.multinomial(images, shares)
        significant += fit(counts, reference).p < 0.05
    assert significant / runs <= 0.09


@pytest.mark.parametrize("prompts", [2, 10, 50])
def test_fair_prompts_are_significant_as_often_as_the_level_says(prompts: int) -> None:
    rng = np.random.default_rng(prompts)
    reference = np.tile(FAIR, (prompts, 1))
    counts = rng.multinomial(6, FAIR, size=(600, prompts))
    significant = [fit(of_run, reference).p < 0.05 for of_run in counts]
    assert np.mean(significant) <= 0.07


def test_a_bias_of_all_prompts_is_found() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(2, [0.75, 0.25], size=(100, 40))
    reference = np.tile(FAIR, (40, 1))
    assert np.mean([fit(of_run, reference).p < 0.05 for of_run in counts]) > 0.9


def test_references_of_prompts_differ() -> None:
    """Each prompt is at its own reference, though none is at the mean of all."""
    references = np.array([[0.9, 0.1], [0.1, 0.9]] * 4)
    counts = np.rint(references * 20)
    assert fit(counts, references).p > 0.5


@given(arrays(int, (5, 3), elements=st.integers(0, 9)).filter(lambda c: c.sum(axis=1).all()))
def test_properties(counts: np.ndarray) -> None:
    shares = shares_over_prompts(PromptCounts.of(counts, np.full((5, 3), 1 / 3)))
    assert sum(share.value for share in shares) == pytest.approx(1)
    result = fit(counts, np.full((5, 3), 1 / 3))
    assert 0 < result.p <= result.exact_p <= 1
    shuffled = fit(counts[::-1], np.full((5, 3), 1 / 3))
    assert shuffled.p == pytest.approx(result.p)


def test_counts_are_checked() -> None:
    with pytest.raises(NotEnoughData):
        PromptCounts.of([[3, 1]], [FAIR])
    with pytest.raises(ValueError, match="no labeled image"):
        PromptCounts.of([[3, 1], [0, 0], [1, 1]], [FAIR] * 3)


@pytest.mark.parametrize(("prompts", "images"), quick_only([(12, 8)], [(26, 1), (12, 8), (40, 2)]))
@pytest.mark.parametrize("spread", quick_only([2.0], [np.inf, 2.0]))
def test_intervals_cover_the_share_of_all_prompts(prompts: int, images: int, spread: float) -> None:
    rng = np.random.default_rng([prompts, images])
    reference = np.tile(FAIR, (prompts, 1))
    covered = 0
    runs = 400
    for _ in range(runs):
        share = 0.7 if spread == np.inf else rng.beta(0.7 * spread, 0.3 * spread, size=prompts)
        male = rng.binomial(images, share, size=prompts)
        counts = PromptCounts.of(np.stack([male, images - male], axis=1), reference)
        estimate, _ = shares_over_prompts(counts)
        covered += estimate.low <= 0.7 <= estimate.high
    assert covered / runs >= 0.92


def test_intervals_agree_with_the_test() -> None:
    """A significant row has a share whose interval excludes its reference, and vice versa."""
    rng = np.random.default_rng(3)
    disagree = 0
    for _ in range(400):
        shares = rng.beta(2, 1.2, size=(10, 1))
        male = rng.binomial(6, shares)
        counts = PromptCounts.of(np.hstack([male, 6 - male]), np.tile(FAIR, (10, 1)))
        estimate, _ = shares_over_prompts(counts)
        excluded = not estimate.low <= 0.5 <= estimate.high
        disagree += (over_prompts_test(counts).p < 0.05) != excluded
    assert disagree / 400 <= 0.05


def test_prompts_that_differ_count_as_fewer_images() -> None:
    opposite = PromptCounts.of([[20, 0], [0, 20]] * 3, [FAIR] * 6)
    assert opposite.independent_images() < 10
    assert PromptCounts.of([[12, 8]] * 6, [FAIR] * 6).independent_images() == 120


def test_a_distance_has_the_interval_of_the_independent_images() -> None:
    equal = PromptCounts.of([[15, 5]] * 6, [FAIR] * 6)
    different = PromptCounts.of([*[[20, 0]] * 4, [10, 10], [0, 20]], [FAIR] * 6)
    estimates = []
    for counts in (equal, different):
        estimates.append(
            distance_over_prompts(
                counts, p=0.5, distance="total_variation", rng=np.random.default_rng(0)
            )
        )
    for estimate in estimates:
        assert estimate.value == pytest.approx(0.25)
        assert estimate.n == 120
    assert estimates[0].low is not None
    assert estimates[0].low > 0.1
    assert estimates[1].low == 0
