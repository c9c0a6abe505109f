"""Many tests at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """q-values of a family of m p-values (Benjamini & Hochberg 1995): min over p_j >= p of p_j * m / rank_j, at most 1.

    Args:
        p: (tests,), each in [0, 1]. Tests that were not made must be left out by the caller.

    Returns:
        (tests,), in the order of `p`.

    Raises:
        ValueError: a p-value is not a number or outside [0, 1].
    """
    values = np.asarray(p, dtype=float)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("p-values must be one list of numbers in [0, 1]")
    order = np.argsort(values, kind="stable")[::-1]
    ranks = np.arange(len(values), 0, -1)
    q = np.empty_like(values)
    q[order] = np.minimum(np.minimum.accumulate(values[order] * len(values) / ranks), 1.0)
    return q
