"""Maps at another size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def bilinear(maps: ArrayLike, size: tuple[int, int]) -> Floats:
    """Maps (..., h, w) at `size` (H, W), by bilinear interpolation between the centres of their cells.

    The convention of PyTorch's `interpolate` with align_corners=False: cell centres lie at (k + 1/2) / n of a side, and
    beyond the outermost centres the outermost value holds.
    """
    x = np.asarray(maps, dtype=float)
    if x.shape[-2:] == tuple(size):
        return x
    rows, columns = (_weights(old, new) for old, new in zip(x.shape[-2:], size, strict=True))
    return np.asarray(rows @ x @ columns.T)


def _weights(old: int, new: int) -> Floats:
    """(new, old): how much each old cell of a side counts for each new one."""
    at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    before = at.astype(np.int64)
    after = np.minimum(before + 1, old - 1)
    weights = np.zeros((new, old))
    np.add.at(weights, (np.arange(new), before), 1 - (at - before))
    np.add.at(weights, (np.arange(new), after), at - before)
    return weights
