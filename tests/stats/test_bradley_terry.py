"""Strengths from preferences in pairs."""

from __future__ import annotations

import numpy as np
import pytest

from askew.errors import NotEnoughData
from askew.stats.bradley_terry import strength_estimates, strengths


def test_two_things_have_the_log_odds_of_their_preferences() -> None:
    first, second = strengths([[0, 3000], [1000, 0]])
    assert first - second == pytest.approx(np.log(3), abs=1e-3)


def test_strengths_of_planted_raters_are_recovered() -> None:
    planted = np.array([1.0, 0.2, -0.2, -1.0])
    rng = np.random.default_rng(0)
    wins = np.zeros((30, 4, 4))
    for rater in wins:
        for i in range(4):
            for j in range(i):
                prefers_i = rng.random(6) < 1 / (1 + np.exp(planted[j] - planted[i]))
                rater[i, j] = prefers_i.sum()
                rater[j, i] = 6 - prefers_i.sum()
    estimates = strength_estimates(wins, rng=rng, draws=200)
    for estimate, truth in zip(estimates, planted, strict=True):
        assert estimate.value == pytest.approx(truth, abs=0.25)
        assert estimate.low < estimate.value < estimate.high  # type: ignore[operator]


def test_a_thing_that_always_wins_has_a_finite_strength() -> None:
    assert np.isfinite(strengths([[0, 5], [0, 0]])).all()
    with pytest.raises(NotEnoughData):
        strengths(np.zeros((2, 2)))
