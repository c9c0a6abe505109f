"""Shares corrected for an instrument's errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from askew.errors import NotEnoughData
from askew.stats.confusion import confusion_rates, correct_shares, corrected_share_intervals


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    k = draw(st.integers(2, 6))
    cells = draw(st.lists(st.integers(0, 8), min_size=k * k, max_size=k * k))
    observed = draw(st.lists(st.integers(0, 30), min_size=k, max_size=k).filter(any))
    return np.array(observed), np.array(cells).reshape(k, k) + 9 * np.eye(k, dtype=int)


def rates(k: int, right: float) -> np.ndarray:
    table = np.full((k, k), (1 - right) / (k - 1))
    np.fill_diagonal(table, right)
    return table


def test_rows_are_distributions() -> None:
    np.testing.assert_allclose(confusion_rates([[3, 1], [0, 5]]), [[0.75, 0.25], [0, 1]])


@settings(max_examples=30)
@given(problems())
def test_it_is_the_least_squares_solution_on_the_simplex(problem: tuple[np.ndarray, np.ndarray]) -> None:
    observed, table = problem
    shares, matrix = observed / observed.sum(), (table / table.sum(axis=1, keepdims=True)).T
    found = correct_shares(observed, table)
    assert found.sum() == pytest.approx(1)
    assert np.all(found >= 0)

    def loss(s: np.ndarray) -> float:
        return float(((matrix @ s - shares) ** 2).sum())

    k = len(shares)
    other = minimize(
        loss,
        np.full(k, 1 / k),
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert loss(found) <= loss(other.x) + 1e-9


@given(st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(any))
def test_expected_answers_give_back_the_true_shares(weights: list[int]) -> None:
    true, table = np.array(weights) / sum(weights), rates(4, 0.7) * 60
    np.testing.assert_allclose(correct_shares(true @ rates(4, 0.7), table), true, atol=1e-9)


def test_a_perfect_instrument_changes_nothing() -> None:
    np.testing.assert_allclose(correct_shares([5, 3, 2], np.eye(3) * 10), [0.5, 0.3, 0.2])


def test_values_that_cannot_be_told_apart_still_give_shares() -> None:
    found = correct_shares([6, 4], [[5, 5], [5, 5]])
    assert found.sum() == pytest.approx(1)
    assert np.all(found >= 0)


def test_intervals_are_wider_with_fewer_labels() -> None:
    few, many = (
        corrected_share_intervals([30, 18], rates(2, 0.9) * labels, rng=np.random.default_rng(0))[0]
        for labels in (10, 1000)
    )
    assert few.value == pytest.approx(many.value)
    assert few.high - few.low > many.high - many.low > 0.2
    assert (few.n, few.max) == (48, 1)


def coverage(true: list[float], right: float, pictures: int, labels: int, repeats: int) -> np.ndarray:
    rng, p, table = np.random.default_rng(5), np.array(true), rates(len(true), right)
    hits = np.zeros(len(p))
    for _ in range(repeats):
        answers, confused = rng.multinomial(pictures, p @ table), rng.multinomial(labels, table)
        found = corrected_share_intervals(answers, confused, rng=rng, draws=200)
        hits += [e.low - 1e-9 <= t <= e.high + 1e-9 for e, t in zip(found, p, strict=True)]
    return hits / repeats


def test_intervals_cover_the_true_shares() -> None:
    found = coverage([0.8, 0.2], 0.9, 48, 20, 150)
    assert np.all(found >= 0.9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("true", "right", "pictures", "labels"),
    [([0.5, 0.5], 0.9, 48, 20), ([0.97, 0.03], 0.9, 48, 20), ([0.6, 0.3, 0.1], 0.8, 200, 50)],
)
def test_intervals_cover_the_true_shares_closely(true: list[float], right: float, pictures: int, labels: int) -> None:
    assert np.all(coverage(true, right, pictures, labels, 600) >= 0.92)


def test_what_is_refused() -> None:
    with pytest.raises(NotEnoughData):
        correct_shares([1, 1], [[1, 1], [0, 0]])
    with pytest.raises(NotEnoughData):
        correct_shares([0, 0], np.eye(2))
    with pytest.raises(ValueError, match="shape"):
        correct_shares([1, 1, 1], np.eye(2))
    with pytest.raises(ValueError, match="shape"):
        confusion_rates([[1, 2, 3], [1, 2, 3]])
