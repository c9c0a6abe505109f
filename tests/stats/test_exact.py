from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from askew.stats.distance import DISTANCES, distance_p
from askew.stats.intervals import benjamini_hochberg
from askew.stats.shares import distance_estimate


def outcomes(n: int, k: int) -> np.ndarray:
    """Return all counts of n images over k values."""
    bars = np.array(list(itertools.combinations(range(n + k - 1), k - 1)))
    return np.diff(bars, axis=1, prepend=-1, append=n + k - 1) - 1


@given(st.data())
def test_p_is_the_sum_over_all_outcomes(data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 5))
    n = data.draw(st.integers(1, 7))
    weights = data.draw(st.lists(st.integers(0, 6), min_size=k, max_size=k).filter(any))
    name = data.draw(
        st.sampled_from(
            list(DISTANCES) if len(set(weights)) == 1 else ["wasserstein", "total_variation"]
        )
    )
    reference = np.array(weights) / sum(weights)
    possible = outcomes(n, k)
    seen = possible[data.draw(st.integers(0, len(possible) - 1))]
    distances = DISTANCES[name](possible, reference)
    far = distances >= DISTANCES[name](seen, reference) - 1e-9
    assert distance_p(seen.astype(float), reference, name) == pytest.approx(
        stats.multinomial.pmf(possible, n, reference)[far].sum(), rel=1e-9, abs=1e-15
    )


@given(st.integers(0, 60), st.integers(0, 60))
def test_two_values_are_a_binomial_test(x: int, y: int) -> None:
    if x + y:
        estimate = distance_p(np.array([x, y], float), np.array([0.5, 0.5]), "total_variation")
        assert estimate == pytest.approx(stats.binomtest(x, x + y).pvalue)


def test_one_prompt_of_24_women_is_found_among_sixty() -> None:
    rng = np.random.default_rng(0)
    counts = [[24, 0], *rng.multinomial(24, [0.5, 0.5], size=59)]
    p = [distance_estimate(c, [1, 1], rng=rng, draws=50).p for c in counts]
    assert p[0] == pytest.approx(2**-23)
    assert benjamini_hochberg(p)[0] < 1e-5


def test_large_tables_are_drawn_until_p_is_decided() -> None:
    reference = np.random.default_rng(0).dirichlet(np.ones(4))
    assert distance_p(np.array([40.0, 2, 3, 3]), reference, "total_variation") is None
    even = distance_estimate([12, 12, 12, 12], reference, rng=np.random.default_rng(1), draws=200).p
    far = distance_estimate(
        [48, 0, 0, 0],
        [0.31, 0.29, 0.2 + 1 / 7777, 0.2 - 1 / 7777],
        rng=np.random.default_rng(1),
        draws=200,
    ).p
    assert even is not None
    assert far is not None
    assert far < 1.1e-5


def test_p_of_a_fair_model_is_valid() -> None:
    rng = np.random.default_rng(2)
    p = np.array(
        [
            distance_p(c.astype(float), np.ones(6) / 6, "wasserstein")
            for c in rng.multinomial(24, [1 / 6] * 6, 400)
        ]
    )
    for level in (0.05, 0.2, 0.5):
        assert np.mean(p <= level) <= level + 2.5 * np.sqrt(level * (1 - level) / 400)
    assert np.mean(p <= 0.5) > 0.4
