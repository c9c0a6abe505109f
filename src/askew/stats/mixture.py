"""One plan for several biases at once: how much of each counterfactual prompt to mix.

A mixture of prompts with weights x shows, on every axis, the mixture of their distributions. Every distance is a sum of
absolute linear forms of it (`distance.linear_forms`), so that the weights which minimise the weighted sum of all axes'
distances solve a linear programme; a limit on the number of prompts makes it a mixed-integer one.

The optimum is fitted to the pictures at hand and so looks better on them than it is: `predicted_distances` tells on
pictures that were held out. A simpler strategy stands beside it, `worst_axis`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from askew.errors import AskewError, NotEnoughData
from askew.stats.differences import effective_pictures
from askew.stats.distance import distance_max, distance_named, linear_forms, normalised
from askew.stats.distance_intervals import SampledShares
from askew.stats.intervals import Floats
from askew.types import Estimate

NOTHING = 1e-7  # weights below it are rounding errors of the solver
Groups = Sequence[Sequence[int]]
"""For every axis the prompts that state one of its values."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One axis and where it should be.

    counts    (prompts, m) answers in the pictures of every prompt that may be mixed
    ideal     (m,) desired shares, or weights
    distance  a name of `distance.DISTANCES`
    weight    importance of the axis's distance
    """

    counts: ArrayLike
    ideal: ArrayLike
    distance: str = "total_variation"
    weight: float = 1.0

    @property
    def shares(self) -> Floats:
        """Shares (prompts, m)."""
        return normalised(self.counts, "the answers about a prompt")

    def distance_of(self, weights: Floats) -> float:
        """The distance of the mixture with these weights from the ideal."""
        return float(distance_named(self.distance)(weights @ self.shares, self.ideal))


@dataclass(frozen=True, slots=True)
class MixturePlan:
    """Weights (prompts,) of a mixture, sum 1, and the distances (axes,) it has on the pictures it was made from."""

    weights: Floats
    distances: Floats
    total: float

    @property
    def prompts(self) -> tuple[int, ...]:
        """The prompts that are used at all."""
        return tuple(int(i) for i in np.flatnonzero(self.weights))


def plan_mixture(
    goals: Sequence[Goal], *, baseline: int = 0, worsening: float | None = None, most_prompts: int | None = None
) -> MixturePlan:
    """The mixture with the least weighted sum of distances.

    Args:
        goals: axes, all about the same prompts in the same order.
        baseline: the prompt whose distances are today's, usually the initial one.
        worsening: how much any axis's distance may exceed that of the baseline; None for no limit.
        most_prompts: how many prompts may have a weight above 0; None for no limit.

    Raises:
        NotEnoughData: no goal, or a prompt without an answer on an axis.
        ValueError: goals about different numbers of prompts, a negative limit or weight.
        AskewError: the solver gave up.
    """
    prompts = _prompts(goals)
    if (worsening is not None and worsening < 0) or (most_prompts is not None and most_prompts < 1):
        raise ValueError("worsening must not be negative, and most_prompts at least 1")
    programme = _Programme(goals, prompts, most_prompts is not None)
    constraints = programme.absolute_values()
    constraints.append(programme.row(programme.mixed, np.ones(prompts), 1, 1))
    if worsening is not None:
        constraints += programme.limits([goal.distance_of(np.eye(prompts)[baseline]) + worsening for goal in goals])
    if most_prompts is not None:
        constraints += programme.few(most_prompts)
    return mixture_plan(goals, programme.solve(constraints))


def worst_axis(goals: Sequence[Goal], groups: Groups, *, baseline: int = 0) -> MixturePlan:
    """Mitigate one axis alone, the one with the largest weighted distance: equal weights on its values' prompts."""
    start = np.eye(_prompts(goals))[baseline]
    worst = int(np.argmax([goal.weight * goal.distance_of(start) for goal in goals]))
    return mixture_plan(goals, _equal([groups[worst]], len(start)))


def mixture_plan(goals: Sequence[Goal], weights: ArrayLike) -> MixturePlan:
    """What a mixture with these weights (prompts,) is on the goals' own pictures."""
    x = normalised(weights, "the weights")
    distances = np.array([goal.distance_of(x) for goal in goals])
    return MixturePlan(x, distances, float(np.dot([goal.weight for goal in goals], distances)))


def predicted_distances(
    weights: ArrayLike,
    held_out: Sequence[Goal],
    *,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> tuple[Estimate, ...]:
    """The distance of the mixture on every axis, from pictures that had no part in choosing the weights.

    Value: plug-in. Interval: test inversion, for as many independent pictures of the mixture as would have shares as
    exact as the weighted ones. null: of a mixture that is ideal.

    Args:
        weights: (prompts,) of `plan_mixture`.
        held_out: goals with the counts of the pictures held out.

    Raises:
        NotEnoughData: a prompt in use without an answer.
    """
    x, found = normalised(weights, "the weights"), []
    used = x > 0
    for goal in held_out:
        target, measure = normalised(goal.ideal, "the ideal"), distance_named(goal.distance)
        counts = np.asarray(goal.counts, dtype=float)[used]
        shares = x[used] @ normalised(counts, "the answers about a prompt")
        sample = SampledShares(shares, effective_pictures(counts, x[used]), target, measure)
        n, maximum = int(counts.sum()), distance_max(target, measure)
        found.append(sample.estimate(rng, draws, level, maximum=maximum, n=n))
    return tuple(found)


class _Programme:
    """Variables: weights of the prompts, sizes of the forms of all axes, and whether a prompt is used."""

    def __init__(self, goals: Sequence[Goal], prompts: int, counted: bool) -> None:
        self.goals = goals
        self.forms = [linear_forms(goal.distance, goal.shares.shape[1]) for goal in goals]
        ends = np.cumsum([prompts, *(len(form) for form, _ in self.forms)])
        self.mixed = np.arange(prompts)
        self.sizes = [np.arange(a, b) for a, b in pairwise(ends)]
        self.used = np.arange(ends[-1], ends[-1] + prompts) if counted else np.arange(0)
        self.width = int(ends[-1]) + len(self.used)

    def row(
        self, places: NDArray[np.int64], numbers: ArrayLike, low: float, high: float
    ) -> scipy.optimize.LinearConstraint:
        """One linear constraint on some variables."""
        row = np.zeros((1, self.width))
        row[0, places] = numbers
        return scipy.optimize.LinearConstraint(row, low, high)

    def absolute_values(self) -> list[scipy.optimize.LinearConstraint]:
        """Sizes are at least the forms of mixture less ideal, and their negatives."""
        found = []
        for goal, (form, _), places in zip(self.goals, self.forms, self.sizes, strict=True):
            rows = np.zeros((len(form), self.width))
            rows[:, self.mixed] = form @ goal.shares.T
            target = form @ normalised(goal.ideal, "the ideal")
            for sign in (1, -1):
                signed = sign * rows
                signed[np.arange(len(form)), places] = -1
                found.append(scipy.optimize.LinearConstraint(signed, -np.inf, sign * target))
        return found

    def limits(self, most: Sequence[float]) -> list[scipy.optimize.LinearConstraint]:
        """No axis's distance exceeds its limit."""
        return [
            self.row(places, np.full(len(places), weight), -np.inf, limit + NOTHING)
            for (_, weight), places, limit in zip(self.forms, self.sizes, most, strict=True)
        ]

    def few(self, most: int) -> list[scipy.optimize.LinearConstraint]:
        """At most so many prompts are used, and only those that are used have a weight."""
        rows = np.zeros((len(self.used), self.width))
        rows[:, self.mixed], rows[:, self.used] = np.eye(len(self.used)), -np.eye(len(self.used))
        return [
            scipy.optimize.LinearConstraint(rows, -np.inf, 0),
            self.row(self.used, np.ones(len(self.used)), 0, most),
        ]

    def solve(self, constraints: list[scipy.optimize.LinearConstraint]) -> Floats:
        """The best weights (prompts,)."""
        cost, whole = np.zeros(self.width), np.zeros(self.width)
        for goal, (_, weight), places in zip(self.goals, self.forms, self.sizes, strict=True):
            cost[places] = goal.weight * weight
        whole[self.used] = 1
        found = scipy.optimize.milp(
            cost, integrality=whole, bounds=scipy.optimize.Bounds(0, 1), constraints=constraints
        )
        if found.x is None:
            raise AskewError(f"no mixture of prompts was found: {found.message}")
        weights = found.x[self.mixed]
        return np.where(weights > NOTHING, weights, 0.0)


def _prompts(goals: Sequence[Goal]) -> int:
    if not goals:
        raise NotEnoughData("a mixture needs at least one axis to improve")
    if any(goal.weight < 0 for goal in goals):
        raise ValueError("weights of axes must not be negative")
    numbers = {len(goal.shares) for goal in goals}
    if len(numbers) > 1:
        raise ValueError(f"axes about {sorted(numbers)} prompts; all must be about the same ones")
    return numbers.pop()


def _equal(groups: Groups, prompts: int) -> Floats:
    """Every group with the same weight, spread evenly over its prompts."""
    weights = np.zeros(prompts)
    for group in groups:
        np.add.at(weights, np.asarray(group), 1 / len(group) / len(groups))
    return weights
