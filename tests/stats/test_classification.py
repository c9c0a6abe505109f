"""Pair decisions and associations: against plain loops, at their edges, and their coverage."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askew.errors import NotEnoughData
from askew.stats.classification import (
    association,
    differential,
    hits,
    pair_decisions,
    pair_share,
    recovered,
)
from askew.stats.clustered import clustered_rate_difference

A, B = (0, 1), (2, 3)
PAIRS = list(product(A, B))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@given(arrays(float, (5, 4, 3), elements=st.integers(0, 6).map(float)))
def test_decisions_and_association_are_those_of_a_plain_loop(errors: np.ndarray) -> None:
    found = pair_decisions(errors, PAIRS)
    chosen: list[float] = []
    for picture, decided in zip(errors, found, strict=True):
        for (a, b), one in zip(PAIRS, decided, strict=True):
            first, second = picture[a].sum(), picture[b].sum()
            if first == second:
                assert np.isnan(one)
            else:
                assert one == (first < second)
                chosen.append(one)
    if chosen:
        assert association(found, rng=rng(), draws=10).value == pytest.approx(np.mean(chosen))
    else:
        with pytest.raises(NotEnoughData):
            association(found, rng=rng(), draws=10)


def test_a_class_that_was_given_up_is_compared_over_the_samples_in_common() -> None:
    errors = np.array([[[1.0, 9.0], [2.0, np.nan]]])
    assert pair_decisions(errors, [(0, 1), (1, 0)]).tolist() == [[1.0, 0.0]]


def test_a_hit_needs_the_smallest_error_alone_among_classes_evaluated_to_the_end() -> None:
    errors = np.array([[[1.0, 1], [2, 2], [0, np.nan]], [[2.0, 2], [1, 1], [3, 3]], [[1.0, 1], [1, 1], [3, 3]]])
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


def test_one_sided_decisions_keep_an_interval_and_are_beyond_chance() -> None:
    found = association(np.ones((30, 25)), rng=rng(), draws=999)
    assert found.value == found.high == 1
    assert 0.8 < found.low < 0.95
    assert found.p == pytest.approx(0.001)


def test_groups_that_are_treated_alike_do_not_differ_and_opposite_ones_do() -> None:
    decisions = (np.random.default_rng(1).random((40, 25)) < 0.7).astype(float)
    alike = differential(decisions[:20], decisions[20:], rng=rng())
    apart = differential(decisions, 1 - decisions, rng=rng())
    assert alike.low < 0 < alike.high
    assert alike.p > 0.05
    assert apart.value == pytest.approx(2 * decisions.mean() - 1)
    assert apart.p < 0.01
    assert apart.low > 0
    assert apart.null == 0


def test_more_samples_that_decide_otherwise_are_an_effect() -> None:
    few, many = np.tile([1.0, 0.0], (24, 1)), np.ones((24, 2))
    found = clustered_rate_difference(many, few, rng=rng())
    assert found.value == pytest.approx(0.5)
    assert found.p < 0.01


def test_the_share_of_a_pair_has_an_exact_test() -> None:
    found = pair_share([1.0] * 9 + [0.0] + [np.nan])
    assert (found.value, found.n, found.missing) == (0.9, 10, 1)
    assert found.p == pytest.approx(22 / 1024)


@pytest.mark.parametrize(("share", "spread"), [(0.1, 0.3), (0.3, 0.8), (0.5, 0.05)])
def test_the_interval_of_the_association_covers(share: float, spread: float) -> None:
    """Pictures with chances of their own (beta-binomial), 25 decisions each: within .93 and .99 of 400 trials."""
    random, size = np.random.default_rng(5), (1 - spread) / spread
    covered = 0
    for _ in range(400):
        chances = random.beta(share * size, (1 - share) * size, 48)
        decisions = (random.random((48, 25)) < chances[:, None]).astype(float)
        found = association(decisions, rng=random, draws=1)
        covered += found.low <= share <= found.high
    assert 0.92 <= covered / 400 <= 0.99


def decided(share: np.ndarray, pictures: int, random: np.random.Generator) -> np.ndarray:
    """Decisions of pictures that choose a pair's first class with these probabilities."""
    return (random.random((pictures, len(share))) < share).astype(float)


def test_what_was_planted_is_recovered_as_the_slope_through_zero() -> None:
    planted, random = np.array([0.8, 0.4, 0.0, -0.2]), rng()
    first, second = (decided(0.5 + sign * planted / 4, 200, random) for sign in (1, -1))
    found = recovered(first, second, planted, rng=random, draws=200)
    measured = first.mean(axis=0) - second.mean(axis=0)
    assert found.value == pytest.approx((measured @ planted) / (planted @ planted))
    assert found.low < 0.5 < found.high  # half of what was planted
    assert found.p < 0.01
    nothing = recovered(first, first[::-1], planted, rng=random, draws=200)
    assert nothing.value == pytest.approx(0)
    with pytest.raises(NotEnoughData, match="nothing was planted"):
        recovered(first, second, np.zeros(4), rng=random)
    with pytest.raises(NotEnoughData, match="two pictures"):
        recovered(first[:1], second, planted, rng=random)


def test_pictures_with_a_tie_are_missing_and_agreement_of_all_still_has_an_interval() -> None:
    ones, zeros = np.ones((10, 2)), np.zeros((10, 2))
    ones[0, 1] = np.nan
    found = recovered(ones, zeros, [0.5, 0.5], rng=rng(), draws=99)
    assert (found.value, found.n, found.missing) == (pytest.approx(2.0), 19, 1)
    assert found.low < 2 < found.high


@pytest.mark.parametrize(("lean", "pictures"), [(0.0, 12), (0.9, 12), (0.5, 48)])
def test_the_interval_of_what_is_recovered_covers(lean: float, pictures: int) -> None:
    """Pictures with a lean of their own, nine pairs: at least .93 of 400 trials hold the truth, up to chance."""
    random, planted, covered = np.random.default_rng(8), np.linspace(0.1, 0.9, 9), 0
    for _ in range(400):
        sides = []
        for sign in (1, -1):
            own = random.normal(size=(pictures, 1)) * 0.1
            sides.append((random.random((pictures, 9)) < 0.5 + sign * lean * planted / 2 + own).astype(float))
        found = recovered(sides[0], sides[1], planted, rng=random, draws=1)
        covered += found.low <= lean <= found.high
    assert covered >= 0.915 * 400


def test_a_change_of_what_is_recovered_is_tested_on_the_same_pictures() -> None:
    planted, random = np.array([0.8, 0.4]), rng()
    before = tuple(decided(np.full(2, 0.5), 60, random) for _ in range(2))
    after = (np.ones((60, 2)), np.zeros((60, 2)))
    values = [recovered(*sides, planted, rng=random, draws=1).value for sides in (before, after)]
    found = recovered(*after, planted, before=before, rng=random, draws=500)
    assert found.value == pytest.approx(values[1] - values[0])
    assert found.p < 0.01
    assert found.low > 0
    same = recovered(*after, planted, before=after, rng=random, draws=50)
    assert same.value == 0
    assert same.p == 1
