"""Association scores by plain loops, by their properties, and at known values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askew.errors import NotEnoughData, UnknownName
from askew.stats.association import (
    bipartite,
    cas,
    cas_clip,
    mad,
    mad_max,
    standard_deviation,
)

FREQUENCIES = arrays(float, 6, elements=st.floats(0, 3, allow_subnormal=False)).filter(
    lambda w: w.sum() > 0.1
)
SCORES = st.integers(2, 7).flatmap(
    lambda k: arrays(float, k, elements=st.floats(0, 1, allow_subnormal=False))
)


def cas_by_loop(w: np.ndarray, v: np.ndarray) -> float:
    shared = union = 0.0
    for a, b in zip(w, v, strict=True):
        shared = shared + min(a, b)
        union = union + max(a, b)
    return shared / union


@given(FREQUENCIES, FREQUENCIES)
def test_cas_is_the_intersection_over_the_union(w: np.ndarray, v: np.ndarray) -> None:
    assert cas(w, v) == pytest.approx(cas_by_loop(w, v), abs=1e-12)
    assert cas(w, v, "code") == pytest.approx(cas_by_loop(w / w.sum(), v / v.sum()), abs=1e-12)


@given(FREQUENCIES, FREQUENCIES, st.permutations(range(6)))
def test_cas_has_its_invariances(w: np.ndarray, v: np.ndarray, order: list[int]) -> None:
    assert 0 <= cas(w, v) <= 1
    assert cas(w, v) == pytest.approx(cas(v, w))
    assert cas(w, v) == pytest.approx(cas(w[order], v[order]))
    assert cas(w, v) == pytest.approx(cas(np.append(w, 0), np.append(v, 0)))
    assert cas(w, w) == 1
    assert cas(w, 3 * w) == pytest.approx(1 / 3)
    assert cas(w, 3 * w, "code") == pytest.approx(1)


def test_cas_broadcasts_over_draws_and_counterfactuals() -> None:
    rng = np.random.default_rng(0)
    draws = rng.random((5, 1, 8))
    sets = rng.random((3, 8))
    estimate = cas(draws, sets)
    assert estimate.shape == (5, 3)
    assert estimate[4, 2] == pytest.approx(cas(draws[4, 0], sets[2]))


@pytest.mark.parametrize("variant", ["paper", "code"])
def test_a_histogram_without_concepts_has_no_cas(variant: str) -> None:
    with pytest.raises(NotEnoughData, match="concepts are 0"):
        cas([0.0, 0.0], [0.5, 0.5], variant)  # type: ignore[arg-type]


def test_wrong_histograms_are_refused() -> None:
    with pytest.raises(ValueError, match="have the same concepts"):
        cas([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="non-negative"):
        cas([1.0, -2.0], [1.0, 1.0])
    with pytest.raises(UnknownName, match="variant"):
        cas([1.0], [1.0], "papers")  # type: ignore[arg-type]


def test_cas_clip_is_the_mean_of_all_pairwise_cosines() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(4, 5))
    b = rng.normal(size=(7, 5))
    pairs = [x @ y / (np.linalg.norm(x) * np.linalg.norm(y)) for x, y in itertools.product(a, b)]
    assert cas_clip(a, b) == pytest.approx(np.mean(pairs))
    assert cas_clip(a, b) == pytest.approx(cas_clip(3 * b, a))


def test_embeddings_without_direction_are_refused() -> None:
    with pytest.raises(NotEnoughData):
        cas_clip(np.empty((0, 4)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="length zero"):
        cas_clip(np.zeros((2, 4)), np.ones((2, 4)))


def mad_by_loop(scores: np.ndarray) -> float:
    one_hot = np.eye(len(scores))[0]
    return math.sqrt(mean_deviation(scores) / mean_deviation(one_hot))


def mean_deviation(scores: np.ndarray) -> float:
    total: float = sum(abs(score - scores.mean()) for score in scores)
    return total / len(scores)


@given(SCORES, st.randoms())
def test_mad_follows_its_formula_whatever_the_order(scores: np.ndarray, random: object) -> None:
    shuffled = list(scores)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mad(scores) == pytest.approx(mad_by_loop(scores), abs=1e-6)
    assert mad(shuffled) == pytest.approx(mad(scores), abs=1e-6)
    assert mad(scores) <= mad_max(len(scores)) + 1e-9
    assert standard_deviation(scores) <= np.sqrt(mad_max(len(scores))) + 1e-9
    assert mad(scores, "code") <= mad_max(len(scores), "code") + 1e-9
    assert standard_deviation(scores, "code") <= 1 + 1e-9


@pytest.mark.parametrize("k", range(2, 10))
def test_the_largest_values_are_reached(k: int) -> None:
    patterns = (
        [np.array(p) for p in itertools.product([0.0, 1.0], repeat=k)]
        if k < 9
        else [np.arange(9) % 2.0]
    )
    if k < 9:
        assert max(mad(p) for p in patterns) == pytest.approx(mad_max(k))
        assert max(standard_deviation(p) for p in patterns) == pytest.approx(np.sqrt(mad_max(k)))
    one_hot = np.eye(k)[0]
    assert mad(one_hot) == mad(one_hot, "code") == pytest.approx(1)
    assert standard_deviation(one_hot) == pytest.approx(1)
    assert mad_max(2) == mad_max(3) == pytest.approx(1)
    assert mad_max(4) == pytest.approx(math.sqrt(8 / 6))


@given(st.floats(0, 1), st.integers(2, 7))
def test_equal_scores_have_no_spread(score: float, k: int) -> None:
    scores = np.full(k, score)
    spreads = [mad(scores), mad(scores, "code"), standard_deviation(scores)]
    assert spreads == [0, 0, 0]


def test_mad_grows_as_one_score_leaves_the_others_and_ignores_a_common_shift() -> None:
    values = [float(mad([0.3 + step, 0.3, 0.3])) for step in np.linspace(0, 0.7, 8)]
    assert values == sorted(values)
    assert mad([0.7, 0.4, 0.4]) == pytest.approx(mad([0.5, 0.2, 0.2]))
    assert mad([0.7, 0.4, 0.4], "code") < mad([0.5, 0.2, 0.2], "code")


def test_one_counterfactual_has_no_spread() -> None:
    with pytest.raises(NotEnoughData, match="at least two"):
        mad([0.4])


def test_bipartite_tries_every_matching() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        w = rng.random(4)
        v = rng.random(4)
        cosine = rng.uniform(-0.2, 1, (4, 4))
        similarity = np.clip(cosine, 0, 1)
        smaller = np.minimum.outer(w, v)
        best = max(
            itertools.permutations(range(4)),
            key=lambda p: sum(smaller[i, p[i]] * similarity[i, p[i]] for i in range(4)),
        )
        matched = [(i, best[i]) for i in range(4) if similarity[i, best[i]] > 0]
        gained = sum(smaller[m] * similarity[m] for m in matched)
        expected = gained / (w.sum() + v.sum() - sum(smaller[m] for m in matched))
        assert bipartite(w, v, cosine) == pytest.approx(expected)


@given(FREQUENCIES, FREQUENCIES)
def test_bipartite_on_unrelated_words_is_cas(w: np.ndarray, v: np.ndarray) -> None:
    assert bipartite(w, v, np.eye(6)) == pytest.approx(float(cas(w, v)), abs=1e-9)
