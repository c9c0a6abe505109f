"""Corrupted answers and their effect on association scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import NotEnoughData
from askew.stats.association import cas, corrupt, mad, score_change, standard_deviation

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


def test_no_errors_no_change() -> None:
    change = score_change(
        answers(0), [answers(1), answers(2)], SIZES, 0.0, rng=np.random.default_rng(0)
    )
    assert change == {"cas": 0, "mad": 0, "wasserstein": 0, "standard_deviation": 0}


def shares_of_answers(answered: np.ndarray) -> np.ndarray:
    """Return the share of each answer to each question, in one row."""
    shares: list[float] = []
    for question, size in enumerate(SIZES):
        shares += [float(np.mean(answered[:, question] == answer)) for answer in range(size)]
    return np.array(shares)


def test_change_agrees_with_a_plain_loop() -> None:
    sets = [answers(0), np.minimum(answers(1), 1), answers(2) * 0]

    def scores(group: list[np.ndarray]) -> list[np.ndarray]:
        first, *others = map(shares_of_answers, group)
        estimate = np.array([cas(first, other) for other in others])
        return [estimate, mad(estimate), mad(estimate, "code"), standard_deviation(estimate)]

    change = score_change(sets[0], sets[1:], SIZES, 0.2, rng=np.random.default_rng(7), runs=1)
    rng = np.random.default_rng(7)
    noisy = scores([corrupt(s[None], SIZES, 0.2, rng=rng)[0] for s in sets])
    expected = [np.mean(n - c) for n, c in zip(noisy, scores(sets), strict=True)]
    np.testing.assert_allclose(list(change.values()), expected)


def test_errors_make_different_sets_more_equal() -> None:
    sets = [
        np.zeros((400, 1), dtype=int),
        np.zeros((400, 1), dtype=int),
        np.ones((400, 1), dtype=int),
    ]
    assert (
        score_change(sets[0], sets[1:], [2], 0.2, rng=np.random.default_rng(0), runs=50)["mad"]
        < -0.1
    )


def test_invalid_answers_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="vocabulary"):
        corrupt([[2]], [2], 0.1, rng=rng)
    with pytest.raises(ValueError, match="rate"):
        corrupt([[1]], [2], 1.1, rng=rng)
    with pytest.raises(ValueError, match="questions"):
        corrupt([[1, 1]], [2], 0.1, rng=rng)
    with pytest.raises(NotEnoughData):
        score_change(np.zeros((0, 3)), [answers(0), answers(1)], SIZES, 0.1, rng=rng)
    with pytest.raises(NotEnoughData):
        score_change(answers(0), [answers(1)], SIZES, 0.1, rng=rng)
