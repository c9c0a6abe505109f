"""Pair decisions and associations by plain loops, at their edges, and with their coverage."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askew.errors import NotEnoughData
from askew.stats.classification import (
    association,
    differential,
    differential_change,
    hits,
    pair_decisions,
    pair_share,
    rate_change,
)
from slow_cases import quick_only

A = (0, 1)
B = (2, 3)
PAIRS = list(product(A, B))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@given(arrays(float, (5, 4, 3), elements=st.integers(0, 6).map(float)))
def test_decisions_and_association_agree_with_a_plain_loop(errors: np.ndarray) -> None:
    estimates = pair_decisions(errors, PAIRS)
    chosen: list[float] = []
    for picture, decided in zip(errors, estimates, strict=True):
        for (a, b), entry in zip(PAIRS, decided, strict=True):
            first = picture[a].sum()
            second = picture[b].sum()
            if first == second:
                assert np.isnan(entry)
            else:
                assert entry == (first < second)
                chosen.append(entry)
    if chosen:
        assert association(estimates, rng=rng(), draws=10).value == pytest.approx(np.mean(chosen))
    else:
        with pytest.raises(NotEnoughData):
            association(estimates, rng=rng(), draws=10)


def test_a_dropped_class_is_compared_over_the_common_samples() -> None:
    errors = np.array([[[1.0, 9.0], [2.0, np.nan]]])
    assert pair_decisions(errors, [(0, 1), (1, 0)]).tolist() == [[1.0, 0.0]]


def test_a_hit_needs_the_only_smallest_error_of_complete_classes() -> None:
    errors = np.array(
        [[[1.0, 1], [2, 2], [0, np.nan]], [[2.0, 2], [1, 1], [3, 3]], [[1.0, 1], [1, 1], [3, 3]]]
    )
    assert hits(errors, 0)[:2, 0].tolist() == [1.0, 0.0]
    assert np.isnan(hits(errors, 0)[2, 0])
    assert hits(errors, 2)[:, 0].tolist() == [0.0, 0.0, 0.0]


def test_swapping_the_target_sets_mirrors_everything() -> None:
    errors = np.random.default_rng(3).random((20, 4, 2))
    forward = association(pair_decisions(errors, PAIRS), rng=rng())
    back = association(pair_decisions(errors, [(b, a) for a, b in PAIRS]), rng=rng())
    assert forward.value == pytest.approx(1 - back.value)
    assert forward.low == pytest.approx(1 - back.high)
    assert forward.p == pytest.approx(back.p, abs=0.06)
    assert forward.corrected == pytest.approx(forward.value - 0.5)


def test_unanimous_decisions_have_an_interval_and_are_significant() -> None:
    estimate = association(np.ones((30, 25)), rng=rng(), draws=999)
    assert estimate.value == estimate.high == 1
    assert 0.8 < estimate.low < 0.95
    assert estimate.p == pytest.approx(0.001)


def test_equally_treated_groups_do_not_differ_and_opposite_ones_do() -> None:
    decisions = (np.random.default_rng(1).random((40, 25)) < 0.7).astype(float)
    alike = differential(decisions[:20], decisions[20:], rng=rng())
    apart = differential(decisions, 1 - decisions, rng=rng())
    assert alike.low < 0 < alike.high
    assert alike.p > 0.05
    assert apart.value == pytest.approx(2 * decisions.mean() - 1)
    assert apart.p < 0.01
    assert apart.low > 0
    assert apart.null == 0


def test_decisions_that_change_with_more_samples_are_an_effect() -> None:
    few = np.tile([1.0, 0.0], (24, 1))
    many = np.ones((24, 2))
    estimate = rate_change(many, few, rng=rng())
    assert estimate.value == pytest.approx(0.5)
    assert estimate.p < 0.01
    assert rate_change(few, few, rng=rng()).p == 1


def drawn(n: int, share: float, seed: int) -> np.ndarray:
    """Decisions about four pairs, some of which are missing."""
    random = np.random.default_rng(seed)
    decisions = (random.random((n, 4)) < share).astype(float)
    return np.where(random.random((n, 4)) < 0.1, np.nan, decisions)


def mean_changes(after: np.ndarray, before: np.ndarray) -> list[float]:
    """The mean change of each image, by a plain loop over decisions that are known twice."""
    means = []
    for images in zip(after, before, strict=True):
        known = [x - y for x, y in zip(*images, strict=True) if not np.isnan(x + y)]
        means += [sum(known) / len(known)] if known else []
    return means


def test_the_change_of_an_association_agrees_with_an_exact_sign_test_of_scipy() -> None:
    after = drawn(9, 0.7, 1)
    before = drawn(9, 0.3, 2)
    estimate = rate_change(after, before, rng=rng(), draws=20_000)
    differences = [x - y for x, y in zip(after.ravel(), before.ravel(), strict=True)]
    assert estimate.value == pytest.approx(np.nanmean(differences))
    changes = mean_changes(after, before)
    exact = scipy.stats.permutation_test((changes,), np.mean, permutation_type="samples")
    assert 0.01 < exact.pvalue < 0.3
    assert estimate.p == pytest.approx(exact.pvalue, abs=0.012)
    back = rate_change(before, after, rng=rng(), draws=20_000)
    assert (back.value, back.low) == pytest.approx((-estimate.value, -estimate.high))


def test_the_change_of_a_difference_agrees_with_a_permutation_test_of_scipy() -> None:
    groups = [(drawn(n, share, n), drawn(n, 0.4, n + 1)) for n, share in ((8, 0.8), (6, 0.3))]
    estimate = differential_change(*groups, rng=rng(), draws=20_000)
    x, y = (rate_change(*group, rng=rng()) for group in groups)
    assert estimate.value == pytest.approx(x.value - y.value)
    exact = scipy.stats.permutation_test(
        [mean_changes(*group) for group in groups],
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        vectorized=True,
    )
    assert 0.01 < exact.pvalue < 0.3
    assert estimate.p == pytest.approx(exact.pvalue, abs=0.012)
    back = differential_change(*groups[::-1], rng=rng())
    assert (back.value, back.low) == pytest.approx((-estimate.value, -estimate.high))


def test_a_change_without_a_decision_in_common_is_missing() -> None:
    with pytest.raises(NotEnoughData):
        rate_change([[1.0, np.nan]], [[np.nan, 0.0]], rng=rng())


def test_the_share_of_a_pair_has_an_exact_test() -> None:
    estimate = pair_share([1.0] * 9 + [0.0] + [np.nan])
    assert (estimate.value, estimate.n, estimate.missing) == (0.9, 10, 1)
    assert estimate.p == pytest.approx(22 / 1024)


@pytest.mark.parametrize(
    ("share", "spread"), quick_only([(0.1, 0.3)], [(0.1, 0.3), (0.3, 0.8), (0.5, 0.05)])
)
def test_the_interval_of_the_association_covers(share: float, spread: float) -> None:
    """From .93 to .99 of 400 intervals cover the truth; images have beta-binomial rates of 25
    decisions.
    """
    random = np.random.default_rng(5)
    size = (1 - spread) / spread
    covered = 0
    for _ in range(400):
        chances = random.beta(share * size, (1 - share) * size, 48)
        decisions = (random.random((48, 25)) < chances[:, None]).astype(float)
        estimate = association(decisions, rng=random, draws=1)
        covered += estimate.low <= share <= estimate.high
    assert 0.92 <= covered / 400 <= 0.99
