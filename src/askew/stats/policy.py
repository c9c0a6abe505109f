"""Weights of prompts that reduce several biases together, without a change of the model.

A cell is a prompt that states values of some axes; the prompt itself is the cell without
statements. A policy sends cells with weights x_c, so that on an axis, or a pair of axes, it shows
the mixture of the cells' shares. Every distance used here is a sum of absolute linear forms
(`distance.linear_forms`), so the best weights solve a linear program,

    min sum_g w_g d_g(sum_c x_c p_c,g ; t_g) + sum_c cost_c x_c,    x >= 0, sum x = 1,

whose goals g are axes and pairs of axes. The excess of a goal over its bound is added, so that
other axes do not get worse for a small gain. Shares of a cell with several statements are predicted
from the shares of single statements.
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
"""Number of images that are added to every value of a table, so that a zero by chance does not exclude a value."""

Cell = tuple[tuple[int, int], ...]
"""Statements (axis, value) in the order of axes."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Shares that a mixture of cells should have on an axis or a pair of axes.

    Attributes
    ----------
    shares : array, (cells, m)
        Shares of each cell, which sum to 1, or differences of shares, which sum to 0.
    reference : array, (m,)
        The wanted shares, with the same sum.
    distance : str
        A name of `distance.DISTANCES`.
    weight : float
        Importance of the distance; 0 for a goal that is only bounded.
    most : float, optional
        Bound of the distance. The excess over it is added with weight 1, regardless of `weight`.
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
        """Return the distance of the mixture with these weights (cells,) from the reference."""
        return float(distance_named(self.distance)(weights @ self.shares, self.reference))


def cells(sizes: Sequence[int], most: int) -> list[Cell]:
    """List every cell of at most `most` statements, the empty cell first.

    Parameters
    ----------
    sizes
        Numbers of values of the axes.
    most
        Largest number of statements in a cell.
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
    """Predict the shares of a cell from images of the prompt and of single statements.

    p(y | x1, x2, …) ~ p(y) prod_i p(y | x_i) / p(y). This is exact if the statements do not concern
    y and affect y independently.

    Parameters
    ----------
    cell
        The statements.
    initial : array, (..., m)
        Counts in the images of the prompt itself.
    stated
        By statement, counts (..., m) in its images.
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
    """Compute the weights that minimize the goals' weighted distances and the cells' costs.

    If more than `max_prompts` cells are used, cells with the smallest weights are dropped, a
    quarter of the excess at a time, and the other weights are computed again. The first cell, the
    prompt itself, is never dropped.

    Parameters
    ----------
    goals
        Goals about the same cells in the same order.
    costs : array, (cells,), optional
        Costs per unit of weight.
    max_prompts
        Largest number of cells that get a weight.

    Returns
    -------
    array, (cells,)
        Weights with the sum 1.

    Raises
    ------
    NotEnoughData
        If there is no goal.
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
    """Drop all unused cells, and a quarter of the excess of used cells, those with the smallest weights."""
    used = np.flatnonzero(weights)
    dropped = max(1, (len(used) - max_prompts) // 4)
    by_weight = sorted((k for k in used if candidates[k] != 0), key=lambda k: weights[k])
    remaining = sorted(by_weight[dropped:])
    return np.array([0, *candidates[remaining]])


def _solved(goals: Sequence[Goal], cost: Floats) -> Floats:
    """Solve the linear program.

    Variables are the weights, the parts of each form over and under its reference, and the excess
    over bounds:

        form . mixture - over + under = form . reference,    distance - excess <= most.
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
    """Linear forms of all goals.

    Attributes
    ----------
    mixed : array, (forms, cells)
        The forms of each cell's shares.
    references : array, (forms,)
        The forms of the references.
    distances : sparse array, (goals, forms)
        The weight of every form in the distance of its goal.
    bounded : list of int
        Positions of the goals with a bound.
    most : list of float
        Their bounds.
    """

    mixed: Floats
    references: Floats
    distances: Any
    bounded: list[int]
    most: list[float]

    @classmethod
    def of(cls, goals: Sequence[Goal]) -> Self:
        """Collect the forms of the goals."""
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
