"""How near the texts of one set are to those of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from askew.errors import NotEnoughData
from askew.stats.intervals import Floats


def nearest_similarity(similarity: ArrayLike, among: int) -> Floats:
    """Mean similarity of every row's nearest neighbour among `among` columns drawn without replacement: (rows,).

    The mean over all draws, computed exactly. The more neighbours there are, the nearer is the nearest, so sets of
    different size are compared by the same number of neighbours.

    Args:
        similarity: (rows, columns) finite numbers; larger is nearer.
        among: at least 1, at most the number of columns.

    Raises:
        NotEnoughData: fewer columns than `among`, or `among` below 1.
        ValueError: not two axes, or a number that is not finite.
    """
    s = np.asarray(similarity, dtype=float)
    if s.ndim != 2 or not np.all(np.isfinite(s)):
        raise ValueError("similarities are finite numbers in (rows, columns)")
    if not 1 <= among <= s.shape[1]:
        raise NotEnoughData(f"a nearest neighbour among {among} cannot be found in a set of {s.shape[1]}")
    return np.asarray(-np.sort(-s, axis=1) @ _chance_of_rank(s.shape[1], among))


def _chance_of_rank(columns: int, drawn: int) -> Floats:
    """(columns,): how often the k-th largest is the largest drawn, C(columns - k, drawn - 1) / C(columns, drawn)."""
    below = columns - np.arange(1, columns + 1)
    possible = below >= drawn - 1
    logs = _log_choose(np.where(possible, below, drawn - 1), drawn - 1) - _log_choose(np.array(columns), drawn)
    return np.asarray(np.where(possible, np.exp(logs), 0.0))


def _log_choose(n: NDArray[Any], k: int) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
