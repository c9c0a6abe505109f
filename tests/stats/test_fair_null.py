"""The null of MAD on fair models: the right mean, few false alarms, and power to find bias."""

from __future__ import annotations

import numpy as np
import pytest

from askew.stats.association import cas, mad
from askew.stats.fair_null import fair_histograms, mixture_means
from askew.stats.intervals import p_value

WORDS = 0.9 / np.arange(1, 21) ** 0.9


def pictures(labels: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return an answer per image that names its counterfactual, a coin toss, and words of a
    caption.
    """
    n = len(labels)
    coin = np.eye(2)[rng.integers(2, size=n)]
    return np.concatenate([np.eye(k)[labels], coin, rng.random((n, len(WORDS))) < WORDS], axis=1)


def p_of_axis(k: int, n: int, skew: float, rng: np.random.Generator, draws: int = 200) -> float:
    sets = [pictures(np.full(n, value), k, rng) for value in range(k)]
    initial = pictures(np.where(rng.random(n) < skew, 0, rng.integers(k, size=n)), k, rng)
    score = float(mad(np.array([cas(initial.mean(axis=0), s.mean(axis=0)) for s in sets])))
    return p_value(score, mad(np.moveaxis(cas(*fair_histograms(initial, sets, draws, rng)), 0, -1)))


def alarms(k: int, n: int, axes: int) -> float:
    rng = np.random.default_rng(k)
    return float(np.mean([p_of_axis(k, n, 0.0, rng) < 0.05 for _ in range(axes)]))


@pytest.mark.slow
def test_a_fair_model_rarely_gives_false_alarms() -> None:
    assert alarms(2, 48, 100) <= 0.11


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_false_alarms_stay_between_2_and_7_percent(k: int) -> None:
    assert 0.02 <= alarms(k, 48, 2000) <= 0.07


def test_a_model_that_shows_one_value_only_is_found() -> None:
    rng = np.random.default_rng(0)
    assert max(p_of_axis(3, 48, 1.0, rng) for _ in range(5)) < 0.02


def test_the_redrawn_initial_set_is_an_equal_mixture_even_of_unequal_sets() -> None:
    sets = [np.zeros((10, 1)), np.ones((40, 1))]
    means = mixture_means(sets, 48, 4000, np.random.default_rng(1))
    assert means.mean() == pytest.approx(0.5, abs=0.01)
    assert means.std() == pytest.approx(np.sqrt(0.25 / 48), rel=0.05)


def test_concepts_that_differ_are_kept_and_the_others_permuted() -> None:
    rng = np.random.default_rng(2)
    sets = [np.column_stack([np.full(30, value), rng.random(30) < 0.5]) for value in (0.0, 1.0)]
    initial = np.column_stack([rng.random(30) < 0.5, rng.random(30) < 0.5])
    null_initial, null_sets = fair_histograms(initial, sets, 300, rng)
    assert np.all(null_sets[:, :, 0] == [[0.0], [1.0]])
    total = (null_initial + null_sets.sum(axis=0))[:, 1]
    assert np.allclose(total, np.concatenate([initial, *sets])[:, 1].sum() / 30)
    assert null_sets[0, :, 1].std() > 0
