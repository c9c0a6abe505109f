"""The difference of two CAS: its value by hand, its sign, and its coverage of a known truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askew.stats.association import cas
from askew.stats.association_intervals import associations

COUNTS = arrays(np.int64, (6, 4), elements=st.integers(0, 2)).map(
    lambda a: a + np.eye(6, 4, dtype=np.int64)
)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@settings(max_examples=15)
@given(COUNTS, COUNTS, COUNTS)
def test_the_contrast_is_the_difference_and_changes_sign_when_swapped(
    a: np.ndarray, b: np.ndarray, c: np.ndarray
) -> None:
    estimate = associations(a, [b, c], rng=rng(), draws=100)
    forth, back = estimate.cas_contrast
    expected = cas(a.mean(axis=0), b.mean(axis=0)) - cas(a.mean(axis=0), c.mean(axis=0))
    assert forth.value == pytest.approx(float(expected))
    assert back.value == pytest.approx(-forth.value)
    assert forth.low is not None
    assert forth.high is not None
    assert -1 <= forth.low <= forth.mark <= forth.high <= 1
    assert (back.low, back.high) == pytest.approx((-forth.high, -forth.low))
    ends = sorted((abs(forth.low), abs(forth.high)))
    assert estimate.mad.high == pytest.approx(ends[1] ** 0.5)
    assert estimate.mad.low == pytest.approx(0 if forth.low <= 0 <= forth.high else ends[0] ** 0.5)


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "repeats", "least"),
    [(0.5, 50, 42), *(pytest.param(share, 120, 106, marks=SLOW) for share in (0.2, 0.5, 0.8))],
)
def test_intervals_cover_the_population_difference(share: float, repeats: int, least: int) -> None:
    """With a coverage of .95, the least number is reached in 999 of 1000 cases."""
    generator = np.random.default_rng(1)
    populations = [np.array([p, 1 - p, 0.5, 0.5]) for p in (share, 1.0, 0.0)]
    truth = float(cas(populations[0], populations[1]) - cas(populations[0], populations[2]))
    covered = 0
    for _ in range(repeats):
        sets = [_draw(p, generator) for p in populations]
        estimate = associations(sets[0], sets[1:], rng=generator, draws=100).cas_contrast[0]
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= truth <= estimate.high
    assert covered >= least


@pytest.mark.slow
def test_contrasts_of_few_images_are_marked_near_those_of_the_population() -> None:
    """Concepts that differ only by chance shrink the plug-in difference, but not its bias-corrected
    value.
    """
    generator = np.random.default_rng(2)
    rest = generator.uniform(0.1, 0.6, 20)
    populations = [
        np.concatenate([shares, rest]) for shares in ([0.9, 0.1], [1.0, 0.0], [0.0, 1.0])
    ]
    truth = float(cas(populations[0], populations[1]) - cas(populations[0], populations[2]))
    estimates = []
    for _ in range(60):
        sets = [(generator.random((24, 22)) < p).astype(float) for p in populations]
        estimates.append(associations(sets[0], sets[1:], rng=generator, draws=60).cas_contrast[0])
    assert np.mean([e.value for e in estimates]) < truth - 0.04
    assert abs(np.mean([e.mark for e in estimates]) - truth) < 0.03
    assert np.mean([e.low <= truth <= e.high for e in estimates]) > 0.9


def _draw(population: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw 48 images with two questions of two answers each."""
    first = generator.random(48) < population[0]
    second = generator.random(48) < population[2]
    return np.stack([first, ~first, second, ~second], axis=1).astype(int)
