"""OpenBias's entropy score: its ends, chance at few answers, and its interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from askew.errors import NotEnoughData
from askew.stats.entropy import entropy_bias, entropy_estimate


def test_ends_and_scipy() -> None:
    assert entropy_bias([5, 5, 5]) == pytest.approx(0.0)
    assert entropy_bias([0, 9]) == 1.0
    assert entropy_bias([7, 2, 1]) == pytest.approx(1 - entropy([7, 2, 1]) / np.log(3))
    assert entropy_bias([[5, 5], [10, 0]]) == pytest.approx([0.0, 1.0])


def test_ten_answers_of_a_fair_model_score_far_from_zero_and_are_corrected() -> None:
    rng = np.random.default_rng(0)
    found = [entropy_estimate(rng.multinomial(10, np.full(7, 1 / 7)), rng=rng, draws=200) for _ in range(60)]
    assert np.mean([e.value for e in found]) == pytest.approx(0.19, abs=0.02)
    assert np.mean([e.corrected for e in found if e.corrected is not None]) == pytest.approx(0.0, abs=0.03)
    assert np.mean([e.p < 0.05 for e in found if e.p is not None]) <= 0.1


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.5, 0.1, 0.1, 0.1, 0.1, 0.1), (0.9, 0.05, 0.05)])
def test_the_interval_holds_the_score_of_endless_pictures(shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng(2)
    truth = float(entropy_bias(np.array(shares)))
    found = [entropy_estimate(rng.multinomial(15, shares), rng=rng, draws=120) for _ in range(60)]
    assert np.mean([e.low - 1e-9 <= truth <= e.high + 1e-9 for e in found if e.low is not None and e.high]) >= 0.88


def test_faults() -> None:
    with pytest.raises(NotEnoughData):
        entropy_bias([0, 0])
    with pytest.raises(ValueError, match="one possible answer"):
        entropy_bias([3])
