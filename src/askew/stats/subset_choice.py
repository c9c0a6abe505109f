"""Search for the subset with the smallest cost, exhaustively or greedily.

InterMit (arXiv 2505.17280) chooses which bias axes to mitigate so that all axes come as close as
possible to their references. Here the members of a subset are axes, and its cost is the mean
deviation that remains after mitigating these axes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

MOST_SUBSETS = 5_000
"""Maximum number of subsets for which askew compares all of them."""

Cost = Callable[[tuple[int, ...]], float]


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset and its cost.

    Attributes
    ----------
    members : tuple of int
        Members in the order in which they were chosen.
    cost : float
        Cost of the subset, in the unit of the cost function.
    """

    members: tuple[int, ...]
    cost: float


def ranked_subsets(number: int, size: int, cost: Cost) -> list[Subset]:
    """Return all subsets of a given size, in order of increasing cost.

    Parameters
    ----------
    number
        Number of possible members. The members are the integers from 0 to `number` - 1.
    size
        Number of members in a subset, from 0 to `number`.
    cost
        Function that returns the cost of a subset. Subsets with equal costs are in the order of
        `itertools.combinations`.

    Returns
    -------
    list of Subset
        Sorted subsets. Empty if there are more than `MOST_SUBSETS` subsets.
    """
    if math.comb(number, size) > MOST_SUBSETS:
        return []
    subsets = [Subset(members, cost(members)) for members in combinations(range(number), size)]
    return sorted(subsets, key=lambda subset: subset.cost)


def greedy_subsets(
    number: int, most: int, cost: Cost, is_enough: Callable[[tuple[int, ...]], bool] | None = None
) -> list[Subset]:
    """Build a subset step by step. Each step adds the member that leads to the smallest cost.

    Parameters
    ----------
    number
        Number of possible members.
    most
        Maximum number of members in a subset, at most `number`.
    cost
        Function that returns the cost of a subset.
    is_enough
        Function that returns True if a subset needs no further members. If the function is given,
        the search also ends when no further member reduces the cost. If this function is None, the
        last subset has `most` members.

    Returns
    -------
    list of Subset
        The empty subset, followed by the subset after each step.
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
    """Add the member that leads to the subset with the smallest cost."""
    extended = []
    for member in range(number):
        if member not in subset.members:
            members = (*subset.members, member)
            extended.append(Subset(members, cost(members)))
    return min(extended, key=lambda candidate: candidate.cost)
