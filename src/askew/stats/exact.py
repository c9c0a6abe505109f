"""Exact p of a distance from an ideal: the multinomial law of the ideal, by dynamic programming over the values.

A named distance of n pictures is a sum over the values, of |x_k - n q_k| for the counts x (total variation, and
`values`, which takes uniform ideals only) or for the cumulative counts (Wasserstein). Values are added one by one; what
is kept is the probability of each number of pictures so far and of each sum so far, in steps of a lattice on which all
sums lie. Sums that reach the observed one are kept as one, so that no small p is lost in a difference.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from askew.stats.distance import distributions
from askew.stats.intervals import TOLERANCE, Floats

FINEST = 1000  # steps of a lattice between two whole numbers of pictures
MOST_STEPS = 100_000_000  # beyond as many additions, some half second, draws are quicker


def distance_p(counts: Floats, ideal: Floats, distance: str) -> float | None:
    """P(distance of as many pictures from the ideal >= that of these counts), pictures being drawn from the ideal.

    Args:
        counts: (K,) whole numbers, K >= 2.
        ideal: (K,) shares, sum 1.
        distance: a name of `distance.DISTANCES`.

    Returns:
        None where the ideal lies on no lattice that is coarse enough.
    """
    distributions(counts, ideal)
    n, k = int(counts.sum()), len(ideal)
    if k == 2:  # every distance grows with |x - n q|
        gap = np.abs(np.arange(n + 1) - n * ideal[0])
        chance = scipy.stats.binom.pmf(np.arange(n + 1), n, ideal[0])
        return min(1.0, float(chance @ (gap >= gap[int(counts[0])] - TOLERANCE)))
    cumulative = distance == "wasserstein"
    seen, wanted = (np.cumsum(counts), n * np.cumsum(ideal)) if cumulative else (counts, n * ideal)
    steps = np.arange(1, FINEST + 1)
    fits = np.abs(np.outer(steps, wanted) - np.rint(np.outer(steps, wanted))).max(axis=1) < 1e-6
    if not fits.any():
        return None
    lattice = int(steps[np.argmax(fits)])
    reached = int(np.rint(np.abs(seen - wanted) * lattice).sum())
    if k * (n + 1) ** 2 / 2 * (reached + 1) > MOST_STEPS:
        return None
    law = np.zeros((n + 1, reached + 1))
    law[0, 0] = 1.0
    pictures = np.arange(n + 1)
    for own, rest, most in zip(ideal, np.cumsum(ideal[::-1])[::-1], wanted, strict=True):
        cost = np.minimum(np.rint(np.abs(pictures - most) * lattice), reached).astype(np.int64)
        chance = min(own / rest, 1.0) if rest > 0 else 0.0
        of = scipy.stats.binom.pmf(pictures - pictures[:, None], n - pictures[:, None], chance)  # (so far, with it)
        law = _by_total(law, of, cost) if cumulative else _by_own(law, of, cost)
    return min(1.0, float(law[n, reached]))


def _by_total(law: Floats, of: Floats, cost: NDArray[np.int64]) -> Floats:
    """The law after one more value, whose cost depends on the pictures so far and of this value together."""
    moved, found = of.T @ law, np.zeros_like(law)
    for total, added in enumerate(cost):
        _add(found[total : total + 1], moved[total : total + 1], int(added))
    return found


def _by_own(law: Floats, of: Floats, cost: NDArray[np.int64]) -> Floats:
    """The law after one more value, whose cost depends on its own pictures."""
    found = np.zeros_like(law)
    for own, added in enumerate(cost):
        before = law[: len(law) - own]
        _add(found[own:], before * np.diagonal(of, own)[:, None], int(added))
    return found


def _add(found: Floats, moved: Floats, cost: int) -> None:
    """Rows of the law, moved by a cost; what reaches the last column stays there."""
    kept = moved.shape[1] - cost
    found[:, cost:] += moved[:, :kept]
    found[:, -1] += moved[:, kept:].sum(axis=1)
