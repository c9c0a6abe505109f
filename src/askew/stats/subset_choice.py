"""Choice of a subset with the smallest cost, exact and greedy.

InterMit (arXiv 2505.17280) asks which bias axes to mitigate so that all axes come closest to their
references. A member is an axis, and the cost of a subset is the mean deviation that remains.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

MOST_SUBSETS = 5_000
"""Largest number of subsets of which all are compared."""

Cost = Callable[[tuple[int, ...]], float]


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset and its cost.

    Attributes
    ----------
    members : tuple of int
        The members. The order is that of their choice.
    cost : float
        Cost of the subset, in any unit.
    """

    members: tuple[int, ...]
    cost: float


def ranked_subsets(number: int, size: int, cost: Cost) -> list[Subset]:
    """Return all subsets of a size by their cost, the smallest first.

    Parameters
    ----------
    number
        Number of possible members. Members are 0, 1, …, number - 1.
    size
        Number of members of a subset, from 0 to `number`.
    cost
        Cost of a subset. Equal costs keep the order of `itertools.combinations`.

    Returns
    -------
    list of Subset
        Empty if there are more than `MOST_SUBSETS` subsets.
    """
    if math.comb(number, size) > MOST_SUBSETS:
        return []
    subsets = [Subset(members, cost(members)) for members in combinations(range(number), size)]
    return sorted(subsets, key=lambda subset: subset.cost)


def greedy_subsets(
    number: int, most: int, cost: Cost, is_enough: Callable[[tuple[int, ...]], bool] | None = None
) -> list[Subset]:
    """Add the member that reduces the cost most, one after another.

    Parameters
    ----------
    number
        Number of possible members.
    most
        Largest number of members, at most `number`.
    cost
        Cost of a subset.
    is_enough
        Check whether a subset needs no further member. With it, the choice also ends if no member
        reduces the cost. Without it, the last subset has `most` members.

    Returns
    -------
    list of Subset
        The empty subset, then the subset after each step.
    """
    path = [Subset((), cost(()))]
    while len(path) <= most:
        last = path[-1]
        if is_enough is not None and is_enough(last.members):
            break
        best = _best_extension(last, number, cost)
        if is_enough is not None and best.cost >= last.cost:
            break
        path.append(best)
    return path


def _best_extension(subset: Subset, number: int, cost: Cost) -> Subset:
    """Return the subset with the further member that has the smallest cost."""
    extended = []
    for member in range(number):
        if member not in subset.members:
            members = (*subset.members, member)
            extended.append(Subset(members, cost(members)))
    return min(extended, key=lambda candidate: candidate.cost)
