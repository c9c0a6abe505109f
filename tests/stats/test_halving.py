"""Successive halving: sizes of rounds, and the bias of the prompts that it finds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.stats.halving import HalvingRound, halving_images, halving_rounds


def test_five_of_71_prompts_take_four_rounds() -> None:
    rounds = halving_rounds(71, 5, 128)
    assert rounds == (
        HalvingRound(71, 16, 36),
        HalvingRound(36, 32, 18),
        HalvingRound(18, 64, 9),
        HalvingRound(9, 128, 5),
    )
    assert halving_images(rounds) == 71 * 16 + 36 * 16 + 18 * 32 + 9 * 64


@given(prompts=st.integers(2, 500), wanted=st.integers(1, 20), images=st.integers(2, 400))
def test_rounds_halve_the_prompts_and_double_the_images(
    prompts: int, wanted: int, images: int
) -> None:
    wanted = min(wanted, prompts - 1)
    rounds = halving_rounds(prompts, wanted, images)
    assert rounds[0].prompts == prompts
    assert (rounds[-1].survivors, rounds[-1].images) == (wanted, images)
    for before, after in pairwise(rounds):
        assert after.prompts == before.survivors >= before.prompts / 2
        assert before.images <= after.images <= 2 * before.images
    assert halving_images(rounds) <= prompts * images


def test_halving_needs_fewer_images_than_equal_numbers_of_images() -> None:
    rng = np.random.default_rng(0)
    skews = np.linspace(0, 0.9, 64)
    rounds = halving_rounds(64, 4, 128)
    equal = halving_images(rounds) // 64
    halved = []
    fixed = []
    for _ in range(200):
        women = (1 + skews) / 2
        halved.append(skews[_remaining_prompts(women, rounds, rng)].min())
        by_equal = np.abs(2 * rng.binomial(equal, women) / equal - 1)
        fixed.append(skews[np.argsort(-by_equal)[:4]].min())
    assert np.mean(halved) > np.mean(fixed) + 0.02


def _remaining_prompts(
    women: NDArray[np.float64], rounds: tuple[HalvingRound, ...], rng: np.random.Generator
) -> NDArray[np.int_]:
    """Return the places of the prompts that drawn images find."""
    remaining = np.arange(len(women))
    counts = np.zeros(len(women))
    before = 0
    for entry in rounds:
        counts[remaining] += rng.binomial(entry.images - before, women[remaining])
        before = entry.images
        skews = np.abs(2 * counts[remaining] / before - 1)
        remaining = remaining[np.argsort(-skews)[: entry.survivors]]
    return remaining
