"""How often to send which prompt, so that several biases shrink together without building new ones.

A cell is a prompt that states values of some axes (none: the prompt itself). A policy sends cells
with weights x_c, so that on an axis, or a pair of axes, it shows the mixture of what the cells
show. Every distance used here is a sum of absolute linear forms (`distance.linear_forms`): the best
weights solve a linear programme,

    min sum_g w_g d_g(sum_c x_c p_c,g ; t_g) + sum_c cost_c x_c,    x >= 0, sum x = 1,

whose goals g are axes and pairs of axes; what a goal exceeds its bound by is added, so that others
do not get worse for little. What a cell of several statements shows is predicted from those of one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import scipy
from numpy.typing import ArrayLike

from askew.errors import AskewError, NotEnoughData
from askew.stats.distance import distance_named, linear_forms, normalised
from askew.stats.intervals import Floats

NOTHING = 1e-6  # weights below it are rounding errors of the solver
SHRINK = 0.5
"""Pictures that every value gets in a table before shares are multiplied, so that no chance zero
rules a value out.
"""

Cell = tuple[tuple[int, int], ...]
"""Statements (axis, value) in the order of axes."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a mixture of cells should be on an axis or a pair of axes.

    shares    (cells, m) of each cell, which sum to 1, or differences of shares, which sum to 0
    ideal     (m,) wanted, with the same sum
    distance  a name of `distance.DISTANCES`
    weight    importance of the distance; 0 for a goal that is only bounded
    most      beyond which the distance counts by itself, whatever its weight, as much as one of weight 1; None: nowhere
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
                f"shares and ideal must all sum to 1, or all to 0; they sum to {sums.round(3).tolist()}"
            )

    def distance_of(self, weights: Floats) -> float:
        """The distance of the mixture with these weights (cells,) from the ideal."""
        return float(distance_named(self.distance)(weights @ self.shares, self.reference))


def cells(sizes: Sequence[int], most: int) -> list[Cell]:
    """Every cell of at most `most` statements about axes with so many values each, the empty one
    first.
    """
    chosen = (some for n in range(most + 1) for some in combinations(range(len(sizes)), n))
    return [
        tuple(zip(some, values, strict=True))
        for some in chosen
        for values in product(*(range(sizes[axis]) for axis in some))
    ]


def composed(cell: Cell, initial: ArrayLike, stated: Mapping[tuple[int, int], ArrayLike]) -> Floats:
    """The shares that a cell shows, predicted from pictures of the prompt itself and of one
    statement each.

    p(y | x1, x2, …) ~ p(y) prod_i p(y | x_i) / p(y), (..., m): exact where the statements, none of
    them about y itself, act on y independently. `initial` are counts (..., m) in the prompt's own
    pictures, `stated` those by statement.
    """
    start, *each = (
        np.log(normalised(np.asarray(c, float) + SHRINK))
        for c in (initial, *(stated[s] for s in cell))
    )
    logs = start + sum(log - start for log in each)
    return normalised(np.exp(logs - logs.max(axis=-1, keepdims=True)))


def plan_policy(
    goals: Sequence[Goal], *, costs: ArrayLike | None = None, most_prompts: int | None = None
) -> Floats:
    """The weights (cells,) that minimise the goals' weighted distances and the cells' costs.

    Where more than `most_prompts` cells are used, those with the least weights are left out, a
    quarter of what is too many at once, and the rest weighed anew, until few enough are left. The
    first cell, the prompt itself, stays to choose from. All goals are about the same cells in the
    same order; `costs` (cells,) are per unit of weight. Raises NotEnoughData without a goal,
    AskewError where the solver gave up.
    """
    if not goals:
        raise NotEnoughData("a policy needs at least one axis to improve")
    among = np.arange(len(goals[0].shares))
    cost = np.zeros(len(among)) if costs is None else np.asarray(costs, dtype=float)
    while True:
        weights = _solved([replace(goal, shares=goal.shares[among]) for goal in goals], cost[among])
        used = np.flatnonzero(weights)
        if most_prompts is None or len(used) <= most_prompts:
            break
        extra = max(1, (len(used) - most_prompts) // 4)
        kept = sorted((k for k in used if among[k] != 0), key=lambda k: weights[k])[extra:]
        among = np.array([0, *(among[k] for k in sorted(kept))])
    found = np.zeros(len(goals[0].shares))
    found[among] = weights
    return found


def _solved(goals: Sequence[Goal], cost: Floats) -> Floats:
    """The best weights; variables are these, how far each form is over and under its ideal, and
    what exceeds bounds.

    form . mixture - over + under = form . ideal,    distance - excess <= most.
    """
    number = len(cost)
    forms = [linear_forms(goal.distance, len(goal.reference)) for goal in goals]
    mixed = np.concatenate(
        [form @ goal.shares.T for goal, (form, _) in zip(goals, forms, strict=True)]
    )
    references = np.concatenate(
        [form @ goal.reference for goal, (form, _) in zip(goals, forms, strict=True)]
    )
    distances = scipy.sparse.block_diag(
        [np.full((1, len(form)), unit) for form, unit in forms], format="csr"
    )
    most = {k: goal.most for k, goal in enumerate(goals) if goal.most is not None}
    size = scipy.sparse.eye_array(len(references))
    bounded = distances[[*most]]
    unbounded = scipy.sparse.csr_array((len(most), number))
    whole = scipy.sparse.csr_array((1, len(most)))
    each = np.array([goal.weight for goal in goals]) @ distances
    found = scipy.optimize.linprog(
        np.concatenate([cost, each, each, np.ones(len(most))]),
        A_ub=scipy.sparse.block_array(
            [[unbounded, bounded, bounded, -scipy.sparse.eye_array(len(most))]]
        ),
        b_ub=[*most.values()],
        A_eq=scipy.sparse.block_array(
            [[mixed, -size, size, None], [np.ones((1, number)), None, None, whole]]
        ),
        b_eq=np.append(references, 1.0),
        method="highs",
    )
    if found.x is None:
        raise AskewError(f"no policy over {number} prompts was found: {found.message}")
    weights = np.where(found.x[:number] > NOTHING, found.x[:number], 0.0)
    return np.asarray(weights / weights.sum())
