"""Policies over prompts, by SciPy's linear program, exact planted tables, and their invariants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from askew.errors import NotEnoughData
from askew.stats.distance import total_variation
from askew.stats.policy import Goal, cells, composed, plan_policy
from askew.studio.caption import CaptionContent
from askew.studio.planted import conditional
from askew.studio.scene import ATTRIBUTES

NAMES = list(ATTRIBUTES)


def test_cells_are_all_assignments_of_few_axes() -> None:
    estimate = cells([2, 3], 2)
    assert estimate[0] == ()
    assert len(set(estimate)) == len(estimate) == 1 + 2 + 3 + 6
    assert len(cells([2, 3, 6, 3, 4, 2, 2, 4], 2)) == 316


@given(st.integers(0, 10_000))
def test_the_policy_is_the_optimum_of_a_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3), size=5)
    reference = rng.dirichlet(np.ones(3))
    goal = Goal(shares, reference)
    weights = plan_policy([goal])
    # total variation as the smallest sum of positive parts: variables x (5), u (3)
    plain = linprog(
        [0] * 5 + [1] * 3,
        A_ub=np.hstack([shares.T, -np.eye(3)]),
        b_ub=reference,
        A_eq=[[1] * 5 + [0] * 3],
        b_eq=[1],
    )
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert goal.distance_of(weights) == pytest.approx(plain.fun, abs=1e-5)


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_excess_over_a_bound_counts_as_a_distance_and_few_prompts_remain(seed: int) -> None:
    rng = np.random.default_rng(seed)
    even = np.full(3, 1 / 3)
    first, second = (rng.dirichlet(np.ones(3), size=6) for _ in range(2))
    most = float(total_variation(second[0], even)) + 0.02
    goals = [Goal(first, even), Goal(second, even, weight=0.0, most=most)]

    def total(weights: np.ndarray) -> float:
        return goals[0].distance_of(weights) + max(0.0, goals[1].distance_of(weights) - most)

    best = total(plan_policy(goals))
    few = plan_policy(goals, max_prompts=2)
    assert best <= min(map(total, [*np.eye(6), *rng.dirichlet(np.ones(6), size=50)])) + 1e-5
    assert np.count_nonzero(few) <= 2
    assert total(few) >= best - 1e-5


def test_costs_reduce_use_and_an_impossible_bound_changes_nothing() -> None:
    shares = np.array([[0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    even = np.array([0.5, 0.5])
    plain = plan_policy([Goal(shares, even)], costs=[0.0, 0.0, 10.0])
    assert plain[2] == 0
    beyond = Goal(np.full((3, 2), [1.0, 0.0]), even, weight=0.0, most=0.1)
    assert plan_policy([Goal(shares, even), beyond], costs=[0.0, 0.0, 10.0]) == pytest.approx(plain)
    with pytest.raises(NotEnoughData):
        plan_policy([])


@pytest.mark.parametrize("reference", [[1.0, 1.0], [0.0, 0.0], [0.5, np.nan]])
def test_an_invalid_reference_is_refused(reference: list[float]) -> None:
    with pytest.raises(ValueError, match="must all sum to 1"):
        Goal(np.array([[0.9, 0.1], [0.0, 1.0]]), np.array(reference))


def test_composed_prompts_agree_with_the_planted_world() -> None:
    """The product rule over tables of one statement is compared with the exact tables of two."""

    def exact(words: dict[str, str], axis: str) -> np.ndarray:
        table = conditional(CaptionContent(words, "nurse", True, ()), 1.0)
        return table.sum(axis=tuple(k for k, name in enumerate(NAMES) if name != axis))

    errors = []
    for first, other in (("gender", "ethnicity"), ("gender", "age"), ("environment", "clothing")):
        for v, w in ((a, b) for a in ATTRIBUTES[first] for b in ATTRIBUTES[other]):
            for axis in (name for name in NAMES if name not in (first, other)):
                predicted = composed(
                    ((0, 0), (1, 0)),
                    1e6 * exact({}, axis),
                    {(0, 0): 1e6 * exact({first: v}, axis), (1, 0): 1e6 * exact({other: w}, axis)},
                )
                errors.append(float(total_variation(predicted, exact({first: v, other: w}, axis))))
    assert np.mean(errors) < 0.01
    assert max(errors) < 0.25
