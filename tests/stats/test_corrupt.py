"""Corrupted answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.stats.association import corrupt

SIZES = np.array([2, 3, 7])


def answers(seed: int, pictures: int = 48) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, SIZES, size=(pictures, len(SIZES)))


@given(st.floats(0, 1), st.integers(0, 100))
def test_answers_stay_within_their_vocabulary(rate: float, seed: int) -> None:
    estimate = corrupt(answers(seed), SIZES, rate, rng=np.random.default_rng(seed))
    assert estimate.shape == (48, 3)
    assert np.all((estimate >= 0) & (estimate < SIZES))


def test_the_rate_is_that_of_different_answers() -> None:
    clean = answers(0, 40_000)
    estimate = corrupt(clean, SIZES, 0.18, rng=np.random.default_rng(1))
    np.testing.assert_allclose((estimate != clean).mean(axis=0), 0.18, atol=0.01)
    assert np.array_equal(corrupt(clean, SIZES, 0.0, rng=np.random.default_rng(1)), clean)
    assert np.all(corrupt(clean, SIZES, 1.0, rng=np.random.default_rng(1)) != clean)


def test_wrong_answers_are_uniform_over_the_others() -> None:
    estimate = corrupt(np.full((60_000, 1), 2), [4], 1.0, rng=np.random.default_rng(2))
    np.testing.assert_allclose(
        np.bincount(estimate[:, 0], minlength=4) / 60_000, [1 / 3, 1 / 3, 0, 1 / 3], atol=0.01
    )


def test_a_question_with_one_answer_cannot_be_answered_wrongly() -> None:
    clean = np.zeros((10, 1), dtype=int)
    assert np.array_equal(corrupt(clean, [1], 1.0, rng=np.random.default_rng(0)), clean)


def test_questions_can_have_different_rates() -> None:
    clean = answers(0, 5_000)
    wrong = corrupt(clean, SIZES, [0.0, 1.0, 0.3], rng=np.random.default_rng(3)) != clean
    np.testing.assert_allclose(wrong.mean(axis=0), [0, 1, 0.3], atol=0.02)


def test_invalid_answers_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="not one of the possible answers"):
        corrupt([[2]], [2], 0.1, rng=rng)
    with pytest.raises(ValueError, match="rate"):
        corrupt([[1]], [2], 1.1, rng=rng)
    with pytest.raises(ValueError, match="questions"):
        corrupt([[1, 1]], [2], 0.1, rng=rng)
