"""How often to send which prompt, so that several biases shrink together without building new ones.

A cell is a prompt that states values of some axes (none: the prompt itself). A policy sends cells with weights x_c, so
that on an axis, or a pair of axes, it shows the mixture of what the cells show. Every distance used here is a sum of
absolute linear forms (`distance.linear_forms`): the best weights solve a linear programme,

    min sum_g w_g d_g(sum_c x_c p_c,g ; t_g) + sum_c cost_c x_c,    x >= 0, sum x = 1,

whose goals g are axes and pairs of axes; bounds on goals keep others from getting worse, and a limit on the number of
prompts makes it a mixed-integer one. What a cell of several statements shows is predicted from those of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.errors import AskewError, NotEnoughData
from askew.stats.distance import distance_named, linear_forms, normalised
from askew.stats.intervals import Floats

NOTHING = 1e-6  # weights below it are rounding errors of the solver
SHRINK = 0.5
"""Pictures that every value gets in a table before shares are multiplied, so that no chance zero rules a value out."""

Cell = tuple[tuple[int, int], ...]
"""Statements (axis, value) in the order of axes."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a mixture of cells should be on an axis or a pair of axes.

    shares    (cells, m) of each cell
    ideal     (m,) wanted
    distance  a name of `distance.DISTANCES`
    weight    importance of the distance; 0 for a goal that is only bounded
    most      what the distance must not exceed; None for no bound
    """

    shares: Floats
    ideal: Floats
    distance: str = "total_variation"
    weight: float = 1.0
    most: float | None = None

    def distance_of(self, weights: Floats) -> float:
        """The distance of the mixture with these weights (cells,) from the ideal."""
        return float(distance_named(self.distance)(weights @ self.shares, self.ideal))


def cells(sizes: Sequence[int], most: int) -> list[Cell]:
    """Every cell of at most `most` statements about axes with so many values each, the empty one first."""
    chosen = (some for n in range(most + 1) for some in combinations(range(len(sizes)), n))
    return [
        tuple(zip(some, values, strict=True))
        for some in chosen
        for values in product(*(range(sizes[axis]) for axis in some))
    ]


def composed(cell: Cell, initial: ArrayLike, stated: Mapping[tuple[int, int], ArrayLike]) -> Floats:
    """The shares that a cell shows, predicted from pictures of the prompt itself and of one statement each.

    p(y | x1, x2, …) ~ p(y) prod_i p(y | x_i) / p(y): exact where the statements act on y independently.

    Args:
        cell: statements, none of them about y itself.
        initial: (...) counts of the prompt's own pictures.
        stated: by statement the counts (...) in its pictures.

    Returns:
        (...) shares with sum 1.
    """
    start = np.log(_shrunk(initial))
    logs = start + sum(np.log(_shrunk(stated[one])) - start for one in cell)
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def plan_policy(goals: Sequence[Goal], *, costs: ArrayLike | None = None, most_prompts: int | None = None) -> Floats:
    """The weights (cells,) that minimise the goals' weighted distances and the cells' costs.

    Args:
        goals: all about the same cells in the same order.
        costs: (cells,) added to the objective per unit of weight; None for none.
        most_prompts: how many cells may have a weight above 0; None for no limit.

    Raises:
        NotEnoughData: no goal.
        AskewError: no mixture keeps within the bounds, or the solver gave up.
    """
    if not goals:
        raise NotEnoughData("a policy needs at least one axis to improve")
    if most_prompts is not None:  # the plain programme is much quicker, and often enough
        free = plan_policy(goals, costs=costs)
        if np.count_nonzero(free) <= most_prompts:
            return free
    number, forms = len(goals[0].shares), [linear_forms(goal.distance, len(goal.ideal)) for goal in goals]
    counted = most_prompts is not None
    sizes = [number, *(len(form) for form, _ in forms), *([number] if counted else [])]
    starts = np.cumsum([0, *sizes])
    width = int(starts[-1])
    rows, low, high = [_row(width, 0, np.ones((1, number)))], [np.ones(1)], [np.ones(1)]
    cost = np.zeros(width)
    cost[:number] = 0.0 if costs is None else costs
    for goal, (form, unit), at in zip(goals, forms, starts[1:], strict=False):
        size = scipy.sparse.eye_array(len(form))
        mixed, target = form @ goal.shares.T, form @ normalised(goal.ideal, "the ideal")
        for sign in (1, -1):  # |form . (mixture - ideal)| <= size
            rows.append(_row(width, 0, sign * mixed) + _row(width, at, -size))
            low.append(np.full(len(form), -np.inf))
            high.append(sign * target)
        cost[at : at + len(form)] = goal.weight * unit
        if goal.most is not None:
            rows.append(_row(width, at, np.full((1, len(form)), unit)))
            low.append(np.array([-np.inf]))
            high.append(np.array([goal.most + NOTHING]))
    if counted:
        used = int(starts[-2])
        rows += [_row(width, 0, np.eye(number)) + _row(width, used, -np.eye(number)),
                 _row(width, used, np.ones((1, number)))]  # fmt: skip
        low += [np.full(number, -np.inf), np.zeros(1)]
        high += [np.zeros(number), np.array([float(most_prompts or 0)])]
    whole = np.zeros(width)
    whole[width - number :] = counted
    kept = scipy.optimize.LinearConstraint(scipy.sparse.vstack(rows), np.concatenate(low), np.concatenate(high))
    found = scipy.optimize.milp(cost, integrality=whole, bounds=scipy.optimize.Bounds(0, 1), constraints=kept)
    if found.x is None:
        raise AskewError(f"no policy over {number} prompts keeps within the bounds: {found.message}")
    weights = np.where(found.x[:number] > NOTHING, found.x[:number], 0.0)
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True, slots=True)
class Steps:
    """Axes stated one after another, and the weighted sum of distances after each step; the first is the start's."""

    axes: tuple[int, ...]
    totals: tuple[float, ...]


def one_by_one(
    total: Mapping[frozenset[int], float], alone: Sequence[float], *, heeding: bool, enough: float = 0.0
) -> Steps:
    """Axes stated one after another, each value as often as is wanted, in the form of InterMit (arXiv 2505.17280).

    Args:
        total: the weighted sum of distances, by the set of axes that are stated.
        alone: the weighted distance of every axis where nothing is stated.
        heeding: take the axis after which the total is least, interactions included; else that which is worst at first.
        enough: a total at which the steps end; they end too where no axis lowers it any more.
    """
    done: list[int] = []
    totals = [total[frozenset()]]
    while totals[-1] > enough and len(done) < len(alone):
        left = [axis for axis in range(len(alone)) if axis not in done]
        after = {axis: total[frozenset([*done, axis])] for axis in left}
        chosen = min(left, key=lambda axis: (after[axis] if heeding else -alone[axis], axis))
        if after[chosen] >= totals[-1]:
            break
        done.append(chosen)
        totals.append(after[chosen])
    return Steps(tuple(done), tuple(totals))


def _shrunk(counts: ArrayLike) -> Floats:
    table = np.asarray(counts, dtype=float) + SHRINK
    return np.asarray(table / table.sum())


def _row(width: int, at: int, block: ArrayLike) -> scipy.sparse.coo_array:
    """Rows of zeros but for a block from column `at` on."""
    placed = scipy.sparse.coo_array(block)
    return scipy.sparse.coo_array((placed.data, (placed.row, placed.col + at)), shape=(placed.shape[0], width))
