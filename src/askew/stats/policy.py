"""Compute how often to send each of several prompts to reduce the bias on several axes.

A cell is a prompt that states values of some axes. The prompt itself is the cell that states no
value. A policy sends the prompt of cell c with probability x_c, its weight. The resulting shares on
an axis, or on a pair of axes, are the weighted mean of the cells' shares. Every distance in this
module is a sum of absolute linear forms (`distance.linear_forms`), so the best weights solve a
linear program,

    min sum_g w_g d_g(sum_c x_c p_c,g ; t_g) + sum_c cost_c x_c,    x >= 0, sum x = 1.

The goals g are axes and pairs of axes. If the distance of a goal exceeds its bound, the excess is
added to the sum. So no axis becomes much worse for the sake of a small gain on other axes. The
shares of a cell with several statements are predicted from the shares of cells with one statement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from askew.errors import AskewError, NotEnoughData
from askew.stats.distance import distance_named, linear_forms, normalised
from askew.stats.intervals import Floats

NOTHING = 1e-6  # weights below it are rounding errors of the solver
SHRINK = 0.5
"""Number of images added to the count of every value.

This number prevents a count of 0 from excluding a value.
"""

Cell = tuple[tuple[int, int], ...]
"""Statements (axis, value) of a cell, in the order of the axes."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Shares that a mixture of cells should have on an axis or on a pair of axes.

    Attributes
    ----------
    shares : array, (cells, m)
        Shares of each cell, which sum to 1, or differences between shares, which sum to 0.
    reference : array, (m,)
        Reference shares (or differences), with the same sum as `shares`.
    distance : str
        Name of a distance in `distance.DISTANCES`.
    weight : float
        Weight of the distance in the sum; 0 if the goal only has a bound.
    most : float, optional
        Upper bound on the distance. Any excess over this bound has weight 1, regardless of
        `weight`.
    """

    shares: Floats
    reference: Floats
    distance: str = "total_variation"
    weight: float = 1.0
    most: float | None = None

    def __post_init__(self) -> None:
        sums = np.append(self.shares.sum(axis=1), self.reference.sum())
        if not (np.allclose(sums, 1) or np.allclose(sums, 0)):
            raise ValueError(
                "shares and reference must all sum to 1, or all to 0; "
                f"they sum to {sums.round(3).tolist()}"
            )

    def distance_of(self, weights: Floats) -> float:
        """Return the distance between the reference and the mixture of cells with these weights."""
        return float(distance_named(self.distance)(weights @ self.shares, self.reference))


def cells(sizes: Sequence[int], most: int) -> list[Cell]:
    """List every cell with at most `most` statements, starting with the empty cell.

    Parameters
    ----------
    sizes
        Number of values of each axis.
    most
        Maximum number of statements in a cell.
    """
    every_cell: list[Cell] = []
    for n in range(most + 1):
        for axes in combinations(range(len(sizes)), n):
            values_of_axes = [range(sizes[axis]) for axis in axes]
            every_cell.extend(
                tuple(zip(axes, values, strict=True)) for values in product(*values_of_axes)
            )
    return every_cell


def composed(cell: Cell, initial: ArrayLike, stated: Mapping[tuple[int, int], ArrayLike]) -> Floats:
    """Predict a cell's shares from the shares of the prompt itself and of cells with one statement.

    p(y | x1, x2, …) ~ p(y) prod_i (p(y | x_i) / p(y)). This prediction is exact if no statement is
    about y, and the statements affect y independently of each other.

    Parameters
    ----------
    cell
        Statements of the cell.
    initial : array, (..., m)
        Number of images that show each value, among the images of the prompt itself.
    stated
        For each single statement, number of images that show each value, among the images whose
        prompt contains only that statement. Each array has the shape (..., m).
    """
    start = _log_shares(initial)
    ratios = [_log_shares(stated[statement]) - start for statement in cell]
    logs = start + sum(ratios)
    return normalised(np.exp(logs - logs.max(axis=-1, keepdims=True)))


def _log_shares(counts: ArrayLike) -> Floats:
    return np.asarray(np.log(normalised(np.asarray(counts, float) + SHRINK)))


def plan_policy(
    goals: Sequence[Goal], *, costs: ArrayLike | None = None, max_prompts: int | None = None
) -> Floats:
    """Compute the weights that minimize the sum of weighted distances and costs.

    If more than `max_prompts` cells have nonzero weights, askew drops the cells with the smallest
    weights, a quarter of the excess at a time. After each step, it recomputes the weights of the
    remaining cells. askew never drops the first cell, which is the prompt itself.

    Parameters
    ----------
    goals
        Goals. Each goal lists the shares of the same cells in the same order.
    costs : array, (cells,), optional
        Cost of each cell per unit of weight.
    max_prompts
        Maximum number of cells with nonzero weights; None for no limit.

    Returns
    -------
    array, (cells,)
        Weight of each cell. The weights sum to 1.

    Raises
    ------
    NotEnoughData
        If there are no goals.
    AskewError
        If the solver finds no solution.
    """
    if not goals:
        raise NotEnoughData("a policy needs at least one axis to improve")
    number = len(goals[0].shares)
    cost = np.zeros(number) if costs is None else np.asarray(costs, dtype=float)
    candidates = np.arange(number)
    while True:
        goals_of_candidates = [replace(goal, shares=goal.shares[candidates]) for goal in goals]
        weights = _solved(goals_of_candidates, cost[candidates])
        if max_prompts is None or np.count_nonzero(weights) <= max_prompts:
            break
        candidates = _fewer_cells(candidates, weights, max_prompts)
    policy = np.zeros(number)
    policy[candidates] = weights
    return policy


def _fewer_cells(
    candidates: NDArray[np.int64], weights: Floats, max_prompts: int
) -> NDArray[np.int64]:
    """Drop unused cells, then a quarter of the excess cells, starting with the smallest weights."""
    used = np.flatnonzero(weights)
    dropped = max(1, (len(used) - max_prompts) // 4)
    by_weight = sorted((k for k in used if candidates[k] != 0), key=lambda k: weights[k])
    remaining = sorted(by_weight[dropped:])
    return np.array([0, *candidates[remaining]])


def _solved(goals: Sequence[Goal], cost: Floats) -> Floats:
    """Solve the linear program.

    The variables are the weights, the amount by which each form is over or under its reference, and
    the excess of each distance over its bound:

        form · mixture - over + under = form · reference,    distance - excess <= most.
    """
    number = len(cost)
    program = _Program.of(goals)
    bounded = program.distances[program.bounded]
    excesses = len(program.bounded)
    sizes = scipy.sparse.eye_array(len(program.references))
    by_form = np.array([goal.weight for goal in goals]) @ program.distances
    no_weight = scipy.sparse.csr_array((excesses, number))
    no_excess = scipy.sparse.csr_array((1, excesses))
    bounds = [no_weight, bounded, bounded, -scipy.sparse.eye_array(excesses)]
    gaps = [program.mixed, -sizes, sizes, None]
    total = [np.ones((1, number)), None, None, no_excess]
    solution = scipy.optimize.linprog(
        np.concatenate([cost, by_form, by_form, np.ones(excesses)]),
        A_ub=scipy.sparse.block_array([bounds]),
        b_ub=program.most,
        A_eq=scipy.sparse.block_array([gaps, total]),
        b_eq=np.append(program.references, 1.0),
        method="highs",
    )
    if solution.x is None:
        raise AskewError(f"no policy over {number} prompts was found: {solution.message}")
    weights = np.where(solution.x[:number] > NOTHING, solution.x[:number], 0.0)
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True, slots=True)
class _Program:
    """Linear forms that define the distances of all goals.

    Attributes
    ----------
    mixed : array, (forms, cells)
        Value of each linear form for the shares of each cell.
    references : array, (forms,)
        Value of each linear form for the reference shares.
    distances : sparse array, (goals, forms)
        Weight of each linear form in the distance of its goal.
    bounded : list of int
        Indexes of the goals that have a bound.
    most : list of float
        Upper bounds on the distances of these goals.
    """

    mixed: Floats
    references: Floats
    distances: Any
    bounded: list[int]
    most: list[float]

    @classmethod
    def of(cls, goals: Sequence[Goal]) -> Self:
        """Collect the linear forms of all goals."""
        mixed = []
        references = []
        units = []
        for goal in goals:
            forms, unit = linear_forms(goal.distance, len(goal.reference))
            mixed.append(forms @ goal.shares.T)
            references.append(forms @ goal.reference)
            units.append(np.full((1, len(forms)), unit))
        return cls(
            mixed=np.concatenate(mixed),
            references=np.concatenate(references),
            distances=scipy.sparse.block_diag(units, format="csr"),
            bounded=[k for k, goal in enumerate(goals) if goal.most is not None],
            most=[goal.most for goal in goals if goal.most is not None],
        )
