"""Exact and greedy choice of a subset, against enumeration in another way."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.stats.subset_choice import MOST_SUBSETS, greedy_subsets, ranked_subsets


def random_cost(number: int, seed: int):
    """Return a cost without any structure: a random number for each set of members."""
    table = np.random.default_rng(seed).uniform(size=(2,) * number)

    def cost(members: tuple[int, ...]) -> float:
        return float(table[tuple(int(member in members) for member in range(number))])

    return cost, table


@settings(deadline=None, max_examples=25)
@given(number=st.integers(1, 7), seed=st.integers(0, 1000), data=st.data())
def test_the_ranked_subsets_are_all_subsets_by_cost(
    number: int, seed: int, data: st.DataObject
) -> None:
    size = data.draw(st.integers(0, number))
    cost, table = random_cost(number, seed)
    of_size = [bits for bits in product((0, 1), repeat=number) if sum(bits) == size]
    ranked = ranked_subsets(number, size, cost)
    assert len({subset.members for subset in ranked}) == math.comb(number, size)
    assert [subset.cost for subset in ranked] == sorted(table[bits] for bits in of_size)


@settings(deadline=None, max_examples=25)
@given(number=st.integers(1, 7), seed=st.integers(0, 1000), data=st.data())
def test_each_greedy_step_adds_the_member_with_the_smallest_cost(
    number: int, seed: int, data: st.DataObject
) -> None:
    most = data.draw(st.integers(0, number))
    cost, _ = random_cost(number, seed)
    path = greedy_subsets(number, most, cost)
    assert [len(subset.members) for subset in path] == list(range(most + 1))
    for before, after in pairwise(path):
        assert after.members[:-1] == before.members
        others = [member for member in range(number) if member not in before.members]
        assert after.cost == min(cost((*before.members, member)) for member in others)
    exact = ranked_subsets(number, most, cost)
    assert exact[0].cost <= path[-1].cost


def test_the_greedy_rule_is_exact_if_costs_add_up() -> None:
    gains = np.array([0.3, -0.1, 0.5, 0.2])
    path = greedy_subsets(4, 2, lambda members: 1 - gains[list(members)].sum())
    assert {*path[-1].members} == {0, 2}
    assert {*ranked_subsets(4, 2, lambda members: 1 - gains[list(members)].sum())[0].members} == {
        0,
        2,
    }


def test_the_greedy_rule_misses_a_pair_that_helps_only_together() -> None:
    def cost(members: tuple[int, ...]) -> float:
        return 0.1 if {*members} == {1, 2} else 1 - 0.3 * (0 in members)

    assert ranked_subsets(3, 2, cost)[0].members == (1, 2)
    assert 0 in greedy_subsets(3, 2, cost)[-1].members


def test_the_greedy_rule_ends_at_the_bound_and_where_nothing_helps() -> None:
    gains = np.array([0.3, -0.1, 0.5, 0.2])

    def cost(members: tuple[int, ...]) -> float:
        return float(1 - gains[list(members)].sum())

    at_bound = greedy_subsets(4, 4, cost, lambda members: cost(members) <= 0.25)
    assert at_bound[-1].members == (2, 0)
    never = greedy_subsets(4, 4, cost, lambda members: False)
    assert never[-1].members == (2, 0, 3), "the member that increases the cost is not added"
    assert greedy_subsets(4, 4, cost, lambda members: True)[-1].members == ()


@pytest.mark.parametrize(("number", "size"), [(30, 5), (20, 8)])
def test_too_many_subsets_are_not_enumerated(number: int, size: int) -> None:
    assert math.comb(number, size) > MOST_SUBSETS
    assert ranked_subsets(number, size, lambda members: 0.0) == []
