"""Conditions of the same prompts: all images of a prompt are exchanged together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import permutation_test

from askew.errors import NotEnoughData
from askew.stats import prompt_pairs
from askew.stats.exchange import exchange_test
from askew.stats.paired_sets import PairedSets
from askew.stats.prompt_pairs import PromptPairs

Counts = NDArray[np.int64]


def enumerated(first: Counts, second: Counts) -> tuple[float, float]:
    """Return the mid-p and the usual p by an enumeration of all exchanges of prompts."""
    sizes = first.sum(axis=1)
    others = second.sum(axis=1)
    statistics = []
    for exchange in product([False, True], repeat=len(first)):
        total = np.zeros(first.shape[1])
        shown = np.zeros(first.shape[1])
        for prompt, exchanged in enumerate(exchange):
            weight = 2 * sizes[prompt] * others[prompt] / (sizes[prompt] + others[prompt])
            shares = [first[prompt] / sizes[prompt], second[prompt] / others[prompt]]
            if exchanged:
                shares.reverse()
            total += weight * (shares[0] - shares[1])
            shown += weight * (shares[0] + shares[1])
        statistics.append(sum(t**2 / s for t, s in zip(total, shown, strict=True) if s > 0))
    above = np.mean(np.array(statistics) > statistics[0] + 1e-9)
    reached = np.mean(np.array(statistics) >= statistics[0] - 1e-9)
    return float(above + reached) / 2, float(reached)


counts_of_prompts = st.integers(2, 4).flatmap(
    lambda values: arrays(np.int64, (2, 7, values), elements=st.integers(0, 4))
)
"""Counts of two conditions of seven prompts."""


def pairs_of(counts: Counts) -> PromptPairs:
    """Return pairs in which each prompt has an image."""
    first, second = counts.copy()
    first[:, 0] += first.sum(axis=1) == 0
    second[:, 0] += second.sum(axis=1) == 0
    return PromptPairs.of(first, second)


@given(counts_of_prompts)
def test_the_law_is_that_of_all_exchanges(counts: Counts) -> None:
    pairs = pairs_of(counts)
    mid, usual = enumerated(pairs.first.astype(int), pairs.second.astype(int))
    test = pairs.test()
    assert test.exact_p == pytest.approx(usual, abs=1e-9)
    assert test.p == pytest.approx(1.0 if usual > 1 - 1e-9 else mid, abs=1e-9)
    assert test.smallest_p <= test.p


@given(counts_of_prompts)
def test_properties(counts: Counts) -> None:
    pairs = pairs_of(counts)
    swapped = PromptPairs.of(pairs.second, pairs.first)
    shuffled = PromptPairs.of(pairs.first[::-1], pairs.second[::-1])
    assert swapped.test().p == pytest.approx(pairs.test().p)
    assert shuffled.test() == pairs.test()
    values = range(counts.shape[2])
    differences = [pairs.share_difference(value) for value in values]
    assert sum(each.value for each in differences) == pytest.approx(0, abs=1e-9)
    for value, difference in zip(values, differences, strict=True):
        low = difference.low
        high = difference.high
        assert low is not None
        assert high is not None
        assert -1 <= low <= difference.value + 1e-9
        assert difference.value - 1e-9 <= high <= 1
        back = swapped.share_difference(value)
        assert (back.value, back.low) == pytest.approx((-difference.value, -high))
        before, after = swapped.share_estimates(value)
        assert difference.value == pytest.approx(after.value - before.value)
    same = PromptPairs.of(pairs.first, pairs.first)
    assert (same.test().p, same.share_difference(0).value) == (1.0, 0.0)


def test_sign_flips_of_unequal_numbers_of_images_agree_with_scipy() -> None:
    rng = np.random.default_rng(5)
    plain = rng.multinomial(3, [0.7, 0.3], size=9)
    asked = rng.multinomial(4, [0.4, 0.6], size=9)
    difference = PromptPairs.of(asked, plain).share_difference(0)
    exact = permutation_test(
        (asked[:, 0] / 4 - plain[:, 0] / 3,),
        np.mean,
        permutation_type="samples",
        n_resamples=np.inf,
    )
    test = PromptPairs.of(asked, plain).of_value(0).test()
    assert test.exact_p == pytest.approx(exact.pvalue)
    assert difference.p == test.p < test.exact_p
    assert difference.value == pytest.approx(asked[:, 0].sum() / 36 - plain[:, 0].sum() / 27)


@pytest.mark.parametrize("values", [2, 4])
def test_an_image_of_each_prompt_is_exchanged_as_a_pair_of_images(values: int) -> None:
    rng = np.random.default_rng(values)
    first, second = np.eye(values)[rng.integers(0, values, size=(2, 12))]
    of_images = exchange_test(PairedSets.of(first, second, range(12), range(12)))
    of_prompts = PromptPairs.of(first, second).test()
    assert of_prompts.p == pytest.approx(of_images.p, abs=0.015)  # simulated for four values


def test_too_many_sums_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    first = rng.multinomial(3, [0.5, 0.3, 0.2], size=14)
    second = rng.multinomial(3, [0.3, 0.3, 0.4], size=14)
    exact = PromptPairs.of(first, second).test()
    monkeypatch.setattr(prompt_pairs, "MOST_SUMS", 10)
    simulated = PromptPairs.of(first, second).test()
    assert simulated.p != exact.p
    assert simulated.p == pytest.approx(exact.p, abs=0.01)


def test_an_image_of_each_prompt_and_condition_shows_a_difference() -> None:
    men = np.tile([1, 0], (26, 1))
    difference = PromptPairs.of(men[:, ::-1], men).share_difference(0)
    assert difference.value == -1
    assert difference.p == pytest.approx(0.5**26)
    assert difference.high is not None
    assert difference.high < -0.7


def test_prompts_are_compared_with_themselves() -> None:
    """Both conditions have the same share in each prompt, but other numbers of images."""
    first = [[9, 1], [1, 9], [2, 2], [18, 2], [1, 9], [3, 3]]
    second = [[90, 10], [1, 9], [20, 20], [9, 1], [10, 90], [1, 1]]
    pairs = PromptPairs.of(first, second)
    assert pairs.test().p == 1.0
    assert pairs.share_difference(0).value == pytest.approx(0)
    assert pairs.distance(pairs.test(), rng=np.random.default_rng(0)).value == pytest.approx(0)


def rejections(
    shares: tuple[float, float], prompts: int, images: int, spread: float, runs: int = 400
) -> tuple[float, float]:
    """Return the share of significant tests, and of intervals that contain the true difference.

    Shares of prompts vary around the mean. `spread` is the concentration of their law.
    """
    rng = np.random.default_rng([prompts, images, int(10 * spread), runs])
    significant = 0
    covered = 0
    truth = shares[1] - shares[0]
    for _ in range(runs):
        of_prompts = rng.beta(shares[0] * spread, (1 - shares[0]) * spread, size=prompts)
        others = np.clip(of_prompts + truth, 0, 1)
        before = rng.binomial(images, of_prompts)
        after = rng.binomial(images, others)
        pairs = PromptPairs.of(
            np.stack([after, images - after], axis=1), np.stack([before, images - before], axis=1)
        )
        test = pairs.test()
        significant += test.p < 0.05
        difference = pairs.share_difference(0, test=test)
        assert difference.low is not None
        assert difference.high is not None
        covered += difference.low <= truth <= difference.high
    return significant / runs, covered / runs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompts", "images"),
    [
        (26, 1),
        pytest.param(12, 4, marks=pytest.mark.slow),
        pytest.param(50, 2, marks=pytest.mark.slow),
    ],
)
def test_equal_conditions_are_significant_as_often_as_the_level_says(
    prompts: int, images: int
) -> None:
    significant, covered = rejections((0.5, 0.5), prompts, images, spread=3.0)
    assert 0.02 <= significant <= 0.07
    assert 0.92 <= covered <= 0.99


def test_a_difference_in_all_prompts_is_found() -> None:
    """Two images of a prompt alone can never differ significantly."""
    significant, covered = rejections((0.5, 0.75), 50, 2, spread=30.0, runs=100)
    assert significant > 0.9
    assert covered > 0.9


@pytest.mark.slow
def test_prompts_that_differ_in_both_directions_are_no_difference_of_all_prompts() -> None:
    """An exchange of images would call the mean of opposite differences significant."""
    rng = np.random.default_rng(2)
    of_prompts = 0
    of_images = 0
    for _ in range(150):
        shares = rng.beta(1, 1, size=(2, 10))
        shown = rng.binomial(24, shares)
        first, second = (np.stack([x, 24 - x], axis=1) for x in shown)
        of_prompts += PromptPairs.of(first, second).test().p < 0.05
        sets = PairedSets.of_counts(first.sum(axis=0), second.sum(axis=0))
        of_images += exchange_test(sets).p < 0.05
    assert of_prompts / 150 <= 0.09
    assert of_images / 150 > 0.25


def test_the_distance_has_the_mean_of_exchanges_as_its_null() -> None:
    rng = np.random.default_rng(3)
    first = rng.multinomial(2, [0.6, 0.4], size=20)
    second = rng.multinomial(2, [0.4, 0.6], size=20)
    pairs = PromptPairs.of(first, second)
    estimate = pairs.distance(pairs.test(), rng=rng, draws=20_000)
    signs = rng.choice([-1, 1], size=(20_000, 20))
    null = np.abs(signs @ (first - second)[:, 0]).mean() / 40
    assert estimate.null == pytest.approx(null, abs=0.003)
    assert estimate.value == pytest.approx(abs((first - second)[:, 0].sum()) / 40)
    assert estimate.p == pairs.test().p


def test_counts_are_checked() -> None:
    with pytest.raises(NotEnoughData):
        PromptPairs.of([[3, 1]], [[1, 3]])
    with pytest.raises(ValueError, match="no labeled image"):
        PromptPairs.of([[3, 1], [0, 0]], [[1, 1], [1, 1]])
    with pytest.raises(ValueError, match="same prompts"):
        PromptPairs.of([[3, 1], [1, 1]], [[1, 1, 0], [1, 1, 0]])
