"""The plan for several biases: optimal against an independent programme, its limits, its predictions, its rivals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from askew.errors import NotEnoughData
from askew.stats.mixture import (
    Goal,
    mixture_plan,
    plan_mixture,
    predicted_distances,
    worst_axis,
)


def goals(seed: int = 0, prompts: int = 6) -> list[Goal]:
    rng = np.random.default_rng(seed)
    return [
        Goal(rng.multinomial(48, rng.dirichlet(np.ones(m)), size=prompts), np.ones(m), name, weight)
        for m, name, weight in ((2, "total_variation", 1.0), (3, "wasserstein", 2.0), (4, "total_variation", 1.0))
    ]


def by_linprog(some: list[Goal], kept: tuple[int, ...]) -> float:
    """The same optimum from another statement: shares = ideal + surplus - deficit, cumulative ones for ranks."""
    prompts = len(kept)
    blocks, costs = [], [np.zeros(prompts)]
    for goal in some:
        shares, m = goal.shares[list(kept)], goal.shares.shape[1]
        ranks = goal.distance == "wasserstein"
        form = np.cumsum(np.eye(m), axis=0).T[:, : m - 1].T if ranks else np.eye(m)
        form = np.tril(np.ones((m, m)))[: m - 1] if ranks else form
        blocks.append((form @ shares.T, form @ np.full(m, 1 / m)))
        costs.append(np.full(2 * len(form), goal.weight * (1 / (m - 1) if ranks else 0.5)))
    width, at = sum(len(cost) for cost in costs), prompts
    equalities, right = [np.concatenate([np.ones(prompts), np.zeros(width - prompts)])[None]], [np.ones(1)]
    for matrix, target in blocks:
        rows = np.zeros((len(target), width))
        rows[:, :prompts] = matrix
        rows[:, at : at + len(target)] = -np.eye(len(target))
        rows[:, at + len(target) : at + 2 * len(target)] = np.eye(len(target))
        at += 2 * len(target)
        equalities.append(rows)
        right.append(target)
    return float(linprog(np.concatenate(costs), A_eq=np.vstack(equalities), b_eq=np.concatenate(right)).fun)


@pytest.mark.parametrize("seed", range(4))
def test_the_plan_is_the_optimum(seed: int) -> None:
    some = goals(seed)
    plan = plan_mixture(some)
    assert plan.total == pytest.approx(by_linprog(some, tuple(range(6))), abs=1e-6)
    assert plan.weights.sum() == pytest.approx(1)
    assert plan.weights.min() >= 0
    random = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=300)
    assert plan.total <= min(mixture_plan(some, weights).total for weights in random) + 1e-6


@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_prompts_are_the_best_few(most: int) -> None:
    some = goals(5)
    plan = plan_mixture(some, most_prompts=most)
    best = min(by_linprog(some, kept) for kept in combinations(range(6), most))
    assert len(plan.prompts) <= most
    assert plan.total == pytest.approx(best, abs=1e-5)


def test_no_axis_gets_worse_than_allowed() -> None:
    # mixing in the second prompt cures an important axis and spoils another one that is fine
    some = [Goal([[40, 0], [0, 40]], [1, 1], weight=5.0), Goal([[20, 20], [40, 0]], [1, 1])]
    free, limited, still = plan_mixture(some), plan_mixture(some, worsening=0.1), plan_mixture(some, worsening=0.0)
    assert free.distances == pytest.approx([0, 0.25])
    assert limited.distances == pytest.approx([0.3, 0.1], abs=1e-6)
    assert still.weights == pytest.approx([1, 0], abs=1e-6)


def test_a_fair_mixture_of_one_sided_prompts_is_found() -> None:
    some = [Goal([[40, 8], [48, 0], [0, 48]], [1, 1], "values")]
    assert plan_mixture(some).total == pytest.approx(0, abs=1e-6)


def test_its_rival_makes_the_worst_axis_equal() -> None:
    # prompts: initial, two values of the first axis, two of the second; the first spoils the second
    first = Goal([[40, 8], [48, 0], [0, 48], [40, 8], [40, 8]], [1, 1])
    second = Goal([[30, 18], [48, 0], [48, 0], [48, 0], [0, 48]], [1, 1])
    groups = [(1, 2), (3, 4)]
    alone = worst_axis([first, second], groups)
    assert alone.distances == pytest.approx([0, 0.5])
    assert plan_mixture([first, second]).total <= 1 / 3  # what making the second axis equal alone leaves


def test_predictions_on_held_out_pictures_cover_the_truth_and_the_fit_does_not() -> None:
    rng = np.random.default_rng(3)
    populations = [rng.dirichlet(np.full(6, 0.7), size=8) for _ in range(2)]
    covered, optimism = [], []
    for _ in range(40):
        fit, held = ([Goal(rng.multinomial(24, p), np.ones(6)) for p in populations] for _ in range(2))
        plan = plan_mixture(fit)
        truth = [goal.distance_of(plan.weights) for goal in (Goal(p, np.ones(6)) for p in populations)]
        found = predicted_distances(plan.weights, held, rng=rng, draws=60)
        covered += [e.low - 1e-9 <= t <= e.high + 1e-9 for e, t in zip(found, truth, strict=True)]
        optimism.append(sum(truth) - plan.total)
    assert np.mean(covered) >= 0.88
    assert np.mean(optimism) > 0.05


def test_what_is_refused() -> None:
    with pytest.raises(NotEnoughData):
        plan_mixture([])
    with pytest.raises(NotEnoughData):
        plan_mixture([Goal([[1, 1], [0, 0]], [1, 1])])
    with pytest.raises(ValueError, match="same ones"):
        plan_mixture([Goal([[1, 1]], [1, 1]), Goal([[1, 1], [1, 1]], [1, 1])])
    with pytest.raises(ValueError, match="worsening"):
        plan_mixture([Goal([[1, 1]], [1, 1])], worsening=-0.1)
    with pytest.raises(ValueError, match="negative"):
        plan_mixture([Goal([[1, 1]], [1, 1], weight=-1.0)])
