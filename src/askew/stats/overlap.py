"""Overlap of attention maps: masks, intersection over union, what chance gives, and what is left
beyond it (BiasMap).

Two masks of 30 % of a picture share .176 of their union if their pixels are independent. Maps are
smooth and alike over pictures, so those of *different* pictures of a prompt share more: that is the
null. NotEnoughData is raised without a picture and for masks that are all empty, whose overlap is
not defined; ValueError for shapes that do not fit.
"""

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.intervals import TOLERANCE, Floats, corrected, p_value, tail
from askew.stats.means import student_mean
from askew.types import Estimate, Missing

Mask = NDArray[np.bool_]
Threshold = Literal["percentile", "max", "minmax"]


def mask(map: ArrayLike, threshold: Threshold = "percentile", tau: float = 70) -> Mask:
    """Where a map is high (BiasMap, Eq. 3): boolean, of the shape of `map`.

    percentile: at least the tau-th percentile of that map (the paper's, at tau = 70); max: at least
    tau percent of its maximum; minmax: at least tau percent of the way from its minimum to its
    maximum. Every map (..., H, W) has a threshold of its own. Raises ValueError for an unknown
    threshold, tau beyond 0 to 100, and maps that are not finite.
    """
    x = np.asarray(map, dtype=float)
    if threshold not in get_args(Threshold):
        raise ValueError(
            f"unknown threshold {threshold!r}; known: {', '.join(get_args(Threshold))}"
        )
    if not 0 <= tau <= 100:
        raise ValueError(f"tau is {tau}; it must lie between 0 and 100")
    if x.ndim < 2 or not np.all(np.isfinite(x)):
        raise ValueError("a map must be (..., H, W) and finite")
    if threshold == "percentile":
        return np.asarray(x >= np.percentile(x, tau, axis=(-2, -1), keepdims=True))
    base = x.min(axis=(-2, -1), keepdims=True) if threshold == "minmax" else 0.0
    return np.asarray(x >= base + tau / 100 * (x.max(axis=(-2, -1), keepdims=True) - base))


def iou(a: ArrayLike, b: ArrayLike) -> Floats:
    """Intersection over union (BiasMap, Eq. 4) of masks (..., H, W): (...), from 0, nothing shared,
    to 1, the same.
    """
    first, second = _pair(a, b)
    return _shared((first & second).sum(axis=(-2, -1)), (first | second).sum(axis=(-2, -1)))


def chance_iou(a: ArrayLike, b: ArrayLike) -> Floats:
    """Overlap of masks (..., H, W) with these areas p and q if pixels were independent, (...): pq /
    (p + q - pq).
    """
    p, q = (m.mean(axis=(-2, -1)) for m in _pair(a, b))
    return _shared(p * q, p + q - p * q)


def iou_matrix(a: ArrayLike, b: ArrayLike) -> Floats:
    """IoU of every mask of `a` (n, H, W) with every mask of `b` (n, H, W): (n, n), pictures of `a`
    in the rows.
    """
    first, second = (m.reshape(len(m), -1).astype(np.float32) for m in _pair(a, b))
    if not len(first):
        raise NotEnoughData("there is no picture, and at least one is needed")
    shared, (p, q) = (
        (first @ second.T).astype(float),
        (m.sum(axis=1, dtype=float) for m in (first, second)),
    )
    return _shared(shared, p[:, None] + q - shared)


def _shared(common: NDArray[Any], union: NDArray[Any]) -> Floats:
    if np.any(union == 0):
        raise NotEnoughData("two of these masks are empty: their overlap is not defined")
    return np.asarray(common / union)


def covered(masks: ArrayLike, regions: ArrayLike) -> Floats:
    """Share of every region (n, H, W) that every mask (n, H, W) covers: (n, n), masks in the rows,
    from 0 to 1.

    Over thresholds its diagonal is the accuracy of masks, and that of `covered(~masks, ~regions)`
    the accuracy of their complement (BiasMap, supplement F). NotEnoughData for a region without a
    pixel.
    """
    first, second = (m.reshape(len(m), -1).astype(np.float32) for m in _pair(masks, regions))
    sizes = second.sum(axis=1, dtype=float)
    if not len(first) or np.any(sizes == 0):
        raise NotEnoughData("there is no region to cover, or one without a pixel")
    return np.asarray((first @ second.T).astype(float) / sizes)


def entanglement(
    matrix: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95, missing: int = 0
) -> tuple[Estimate, Estimate | Missing]:
    """Mean IoU of two concepts in n pictures, and (mIoU - null) / (1 - null) with an interval of
    its own.

    Interval of the mean: Student's t over pictures. Null: the mean IoU of the one concept in a
    picture with the other in another picture of the prompt. p: the pictures of one concept are
    dealt anew, (1 + exceedances) / (1 + draws). Interval of the corrected mean: t over
    pseudo-values of the jackknife, since its null errs too. With fewer than three pictures there is
    neither null nor correction; with one no interval. The matrix (n, n) is from `iou_matrix`, for
    mBIoU the mean of those of all blocks (BiasMap, Eq. 6).
    """
    x = np.asarray(matrix, dtype=float)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(f"the matrix has shape {x.shape}; (pictures, pictures) is needed")
    own = np.diagonal(x)
    n = len(x)
    miou = replace(student_mean(own, level, bounds=(0, 1)), missing=missing, max=1.0)
    if n < 3:
        return miou, Missing(
            "not_asked", "chance by other pictures needs three pictures of the prompt"
        )
    null = float((x.sum() - own.sum()) / (n * (n - 1)))
    orders = rng.permuted(np.tile(np.arange(n), (draws, 1)), axis=1)
    miou = corrected(miou, null, p_value(miou.value, x[np.arange(n), orders].mean(axis=1)))
    across = (
        x.sum() - own.sum() - (x.sum(axis=0) + x.sum(axis=1) - 2 * own)
    )  # every picture left out in turn
    m = (own.sum() - own) / (n - 1)
    u = across / ((n - 1) * (n - 2))
    if 1 - null <= TOLERANCE or np.any(1 - u <= TOLERANCE):
        return miou, Missing(
            "error", "all maps of all pictures are the same: chance leaves no room"
        )
    value = float((own.mean() - null) / (1 - null))
    error = float((n * value - (n - 1) * (m - u) / (1 - u)).std(ddof=1) / np.sqrt(n))
    reach = float(scipy.stats.t.isf(tail(level), n - 1)) * error
    return miou, Estimate(
        value, value - reach, min(value + reach, 1.0), level, "jackknife t", n, missing, max=1.0
    )


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[Mask, Mask]:
    first = np.asarray(a, dtype=bool)
    second = np.asarray(b, dtype=bool)
    if first.shape != second.shape or first.ndim < 2:
        raise ValueError(
            f"masks of shape {first.shape} and {second.shape}; both must be (..., H, W) of one shape"
        )
    return first, second


def bilinear(maps: ArrayLike, size: tuple[int, int]) -> NDArray[np.float64]:
    """Maps (..., h, w) at `size` (H, W), by bilinear interpolation between the centres of their
    cells, as PyTorch's `interpolate` with align_corners=False does.
    """
    x = np.asarray(maps, dtype=float)
    if x.shape[-2:] == tuple(size):
        return x

    def weights(old: int, new: int) -> Floats:
        """(new, old): how much each old cell of a side counts for each new one."""
        at = (np.arange(new) + 0.5) * old / new - 0.5
        return np.stack([np.interp(at, np.arange(old), cell) for cell in np.eye(old)], axis=1)

    rows, columns = map(weights, x.shape[-2:], size)
    return np.asarray(rows @ x @ columns.T)
