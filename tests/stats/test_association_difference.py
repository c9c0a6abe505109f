"""The difference of two CAS: value by hand, sign, and coverage where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askew.errors import NotEnoughData
from askew.stats.association import cas
from askew.stats.association_intervals import cas_difference

COUNTS = arrays(np.int64, (6, 4), elements=st.integers(0, 2)).map(lambda a: a + np.eye(6, 4, dtype=np.int64))


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@given(COUNTS, COUNTS, COUNTS)
def test_it_is_the_difference_and_changes_sign_when_swapped(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    forth, back = cas_difference(a, b, c, rng=rng(), draws=100), cas_difference(a, c, b, rng=rng(), draws=100)
    expected = cas(a.mean(axis=0), b.mean(axis=0)) - cas(a.mean(axis=0), c.mean(axis=0))
    assert forth.value == pytest.approx(float(expected))
    assert back.value == pytest.approx(-forth.value)
    assert forth.low is not None
    assert forth.high is not None
    assert -1 <= forth.low <= forth.value <= forth.high <= 1


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_intervals_cover_the_population_difference(share: float) -> None:
    generator = np.random.default_rng(1)
    populations = [np.array([p, 1 - p, 0.5, 0.5]) for p in (share, 1.0, 0.0)]
    truth = float(cas(populations[0], populations[1]) - cas(populations[0], populations[2]))
    covered = 0
    for _ in range(200):
        sets = [_draw(p, generator) for p in populations]
        estimate = cas_difference(*sets, rng=generator, draws=200)
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= truth <= estimate.high
    assert covered >= 180


def test_an_empty_set_is_no_estimate() -> None:
    with pytest.raises(NotEnoughData, match="first"):
        cas_difference(np.eye(3), np.zeros((0, 3)), np.eye(3), rng=rng())


def _draw(population: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """48 pictures with two questions of two answers each."""
    first = generator.random(48) < population[0]
    second = generator.random(48) < population[2]
    return np.stack([first, ~first, second, ~second], axis=1).astype(int)
