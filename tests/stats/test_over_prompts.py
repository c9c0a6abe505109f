"""Shares over prompts: images of a prompt are a cluster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest

from askew.errors import NotEnoughData
from askew.stats.over_prompts import members, over_prompts_test, shares_over_prompts

FAIR = np.array([0.5, 0.5])


def test_an_image_of_each_of_26_prompts_is_a_binomial_test() -> None:
    counts = np.tile([1, 0], (26, 1))
    result = over_prompts_test(counts, np.tile(FAIR, (26, 1)))
    assert result.exact_p == pytest.approx(binomtest(26, 26).pvalue)
    assert result.p == pytest.approx(binomtest(26, 26).pvalue / 2)
    male, female = shares_over_prompts(counts)
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
        significant += over_prompts_test(counts, reference).p < 0.05
    assert significant / runs <= 0.09


@pytest.mark.parametrize("prompts", [2, 10, 50])
def test_fair_prompts_are_significant_as_often_as_the_level_says(prompts: int) -> None:
    rng = np.random.default_rng(prompts)
    reference = np.tile(FAIR, (prompts, 1))
    counts = rng.multinomial(6, FAIR, size=(600, prompts))
    significant = [over_prompts_test(of_run, reference).p < 0.05 for of_run in counts]
    assert np.mean(significant) <= 0.07


def test_a_bias_of_all_prompts_is_found() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(2, [0.75, 0.25], size=(100, 40))
    reference = np.tile(FAIR, (40, 1))
    assert np.mean([over_prompts_test(of_run, reference).p < 0.05 for of_run in counts]) > 0.9


def test_references_of_prompts_differ() -> None:
    """Every prompt is at its own reference, though none is at the mean of all."""
    references = np.array([[0.9, 0.1], [0.1, 0.9]] * 4)
    counts = np.rint(references * 20)
    assert over_prompts_test(counts, references).p > 0.5


@given(arrays(int, (5, 3), elements=st.integers(0, 9)).filter(lambda c: c.sum(axis=1).all()))
def test_properties(counts: np.ndarray) -> None:
    shares = shares_over_prompts(counts)
    assert sum(share.value for share in shares) == pytest.approx(1)
    result = over_prompts_test(counts, np.full((5, 3), 1 / 3))
    assert 0 < result.p <= result.exact_p <= 1
    shuffled = over_prompts_test(counts[::-1], np.full((5, 3), 1 / 3))
    assert shuffled.p == pytest.approx(result.p)


def test_images_of_prompts_are_rows() -> None:
    shown = members(np.array([[1.0, 2.0], [1.0, 0.0]]), 0)
    np.testing.assert_array_equal(shown, [[1, 0, 0], [1, np.nan, np.nan]])
    with pytest.raises(NotEnoughData):
        shares_over_prompts([[3, 1]])
    with pytest.raises(ValueError, match="no labeled image"):
        shares_over_prompts([[3, 1], [0, 0], [1, 1]])
