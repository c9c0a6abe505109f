"""Overlap of attention maps: masks, intersection over union (IoU), and its null value (BiasMap).

If two masks each cover 30 % of an image and their pixels are independent, their IoU is .176.
Attention maps are smooth and similar in all images, so even maps from *different* images of a
prompt have an IoU above this value. askew uses the overlap between different images as the null
value. Functions raise NotEnoughData if there are no images, or if both masks of a pair are empty,
because their overlap is then not defined. They raise ValueError if shapes do not match.
"""

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from askew.errors import NotEnoughData
from askew.stats.distributions import student_isf
from askew.stats.intervals import (
    LEAST_IMAGES,
    TOLERANCE,
    Floats,
    corrected,
    from_enough,
    p_value,
    tail,
)
from askew.stats.means import student_mean
from askew.types import Estimate, Missing

Mask = NDArray[np.bool_]
Threshold = Literal["percentile", "max", "minmax"]


def mask(map: ArrayLike, threshold: Threshold = "percentile", tau: float = 70) -> Mask:
    """Return a mask of the region in which a map has high values (BiasMap, Eq. 3).

    Parameters
    ----------
    map : array, (..., H, W)
        Maps. Each map gets its own threshold.
    threshold
        Minimum value of the pixels in the mask. "percentile": the tau-th percentile of the map (as
        in the paper, with tau = 70). "max": tau percent of the map's maximum. "minmax": tau percent
        of the way from the map's minimum to its maximum.
    tau
        Percentage, in [0, 100].

    Returns
    -------
    array of bool, (..., H, W)

    Raises
    ------
    ValueError
        If the threshold is unknown, tau is out of range or a map is not finite.
    """
    x = np.asarray(map, dtype=float)
    if threshold not in get_args(Threshold):
        known = ", ".join(get_args(Threshold))
        raise ValueError(f"unknown threshold {threshold!r}; known: {known}")
    if not 0 <= tau <= 100:
        raise ValueError(f"tau is {tau}; it must be between 0 and 100")
    if x.ndim < 2 or not np.all(np.isfinite(x)):
        raise ValueError("a map must have the shape (..., H, W) and contain only finite numbers")
    if threshold == "percentile":
        return np.asarray(x >= np.percentile(x, tau, axis=(-2, -1), keepdims=True))
    base = x.min(axis=(-2, -1), keepdims=True) if threshold == "minmax" else 0.0
    return np.asarray(x >= base + tau / 100 * (x.max(axis=(-2, -1), keepdims=True) - base))


def iou(a: ArrayLike, b: ArrayLike) -> Floats:
    """Compute the intersection over union of masks (BiasMap, Eq. 4).

    Parameters
    ----------
    a, b : array of bool, (..., H, W)
        Masks.

    Returns
    -------
    array, (...)
        IoU, from 0 for disjoint masks to 1 for identical masks.
    """
    first, second = _pair(a, b)
    return _shared((first & second).sum(axis=(-2, -1)), (first | second).sum(axis=(-2, -1)))


def chance_iou(a: ArrayLike, b: ArrayLike) -> Floats:
    """Compute the IoU of masks with areas p and q if their pixels are independent.

    The result is pq / (p + q - pq).

    Parameters
    ----------
    a, b : array of bool, (..., H, W)
        Masks. Only their areas are used.

    Returns
    -------
    array, (...)
    """
    first, second = _pair(a, b)
    p = first.mean(axis=(-2, -1))
    q = second.mean(axis=(-2, -1))
    return _shared(p * q, p + q - p * q)


def iou_matrix(a: ArrayLike, b: ArrayLike) -> Floats:
    """Compute the IoU between each mask in `a` and each mask in `b` (BiasMap, Eq. 4).

    Parameters
    ----------
    a, b : array of bool, (n, H, W)
        Masks for n images.

    Returns
    -------
    array, (n, n)
        IoU, with a row for each image of `a` and a column for each image of `b`.
    """
    first, second = _flat_pair(a, b)
    if not len(first):
        raise NotEnoughData("there are no images; at least one image is needed")
    shared = (first @ second.T).astype(float)
    p = first.sum(axis=1, dtype=float)
    q = second.sum(axis=1, dtype=float)
    return _shared(shared, p[:, None] + q - shared)


def _shared(common: NDArray[Any], union: NDArray[Any]) -> Floats:
    if np.any(union == 0):
        raise NotEnoughData("both masks of a pair are empty, so their overlap is not defined")
    return np.asarray(common / union)


def covered(masks: ArrayLike, regions: ArrayLike) -> Floats:
    """Compute the share of each region that each mask covers (BiasMap, supplement F).

    The diagonal contains the accuracy of each mask for the region in the same image. The diagonal
    of `covered(~masks, ~regions)` contains the accuracy of the complements.

    Parameters
    ----------
    masks, regions : array of bool, (n, H, W)
        Masks and regions for n images.

    Returns
    -------
    array, (n, n)
        Shares in [0, 1], with a row for each mask and a column for each region.

    Raises
    ------
    NotEnoughData
        If there are no regions, or a region is empty.
    """
    first, second = _flat_pair(masks, regions)
    sizes = second.sum(axis=1, dtype=float)
    if not len(first) or np.any(sizes == 0):
        raise NotEnoughData("there are no regions to cover, or a region is empty")
    return np.asarray((first @ second.T).astype(float) / sizes)


def entanglement(
    matrix: ArrayLike, *, rng: Generator, draws: int = 1000, level: float = 0.95, missing: int = 0
) -> tuple[Estimate, Estimate | Missing]:
    """Estimate the mean IoU of two concepts, and the mean corrected for chance (BiasMap, Eq. 6).

    The interval of the mean is Student's interval over images. The null value is the mean IoU
    between one concept in one image and the other concept in another image of the prompt. p is
    computed by permuting the images of one concept. The corrected mean is (mIoU - null) / (1 -
    null). The null value also has a sampling error, so the interval of the corrected mean is
    Student's interval over jackknife pseudo-values. With fewer than three images, there is no
    interval, no null value and no corrected mean.

    Parameters
    ----------
    matrix : array, (n, n)
        IoU from `iou_matrix`. For mBIoU, pass the mean of the matrices from all blocks of the
        model.
    rng
        Random generator for the permutations.
    draws
        Number of permutations.
    level
        Confidence level of the intervals, in (0, 1).
    missing
        Number of images without a map. This number is reported but does not affect the estimate.

    Returns
    -------
    tuple
        Mean IoU and corrected mean IoU. The corrected mean is Missing if there are fewer than three
        images, or if all maps are equal.
    """
    x = np.asarray(matrix, dtype=float)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(f"the matrix has shape {x.shape}; (images, images) is needed")
    diagonal = np.diagonal(x)
    n = len(x)
    miou = replace(student_mean(diagonal, level, bounds=(0, 1)), missing=missing, max=1.0)
    if n < LEAST_IMAGES:
        return from_enough(miou, n), Missing(
            "not_asked", "the overlap expected by chance needs at least three images of the prompt"
        )
    null = float((x.sum() - diagonal.sum()) / (n * (n - 1)))
    orders = rng.permuted(np.tile(np.arange(n), (draws, 1)), axis=1)
    miou = corrected(miou, null, p_value(miou.value, x[np.arange(n), orders].mean(axis=1)))
    of_image = x.sum(axis=0) + x.sum(axis=1) - 2 * diagonal
    left_out_mean = (diagonal.sum() - diagonal) / (n - 1)
    left_out_null = (x.sum() - diagonal.sum() - of_image) / ((n - 1) * (n - 2))
    if 1 - null <= TOLERANCE or np.any(1 - left_out_null <= TOLERANCE):
        return miou, Missing("error", "all maps of all images are the same, so the null value is 1")
    value = float((diagonal.mean() - null) / (1 - null))
    left_out = (n - 1) * (left_out_mean - left_out_null) / (1 - left_out_null)
    error = float((n * value - left_out).std(ddof=1) / np.sqrt(n))
    reach = student_isf(tail(level), n - 1) * error
    return miou, Estimate(
        value=value,
        low=value - reach,
        high=min(value + reach, 1.0),
        level=level,
        interval="jackknife t",
        n=n,
        missing=missing,
        max=1.0,
    )


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[Mask, Mask]:
    first = np.asarray(a, dtype=bool)
    second = np.asarray(b, dtype=bool)
    if first.shape != second.shape or first.ndim < 2:
        raise ValueError(
            f"the masks have shapes {first.shape} and {second.shape}; "
            "both must have the same shape (..., H, W)"
        )
    return first, second


def _flat_pair(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Check two lists of masks, and return both as arrays of shape (n, pixels)."""
    first, second = _pair(a, b)
    return (
        first.reshape(len(first), -1).astype(np.float32),
        second.reshape(len(second), -1).astype(np.float32),
    )


def bilinear(maps: ArrayLike, size: tuple[int, int]) -> NDArray[np.float64]:
    """Resize maps by bilinear interpolation between the centers of their cells.

    The result is the same as from PyTorch's `interpolate` with align_corners=False.

    Parameters
    ----------
    maps : array, (..., h, w)
        Maps.
    size
        Size (H, W) of the resized maps.

    Returns
    -------
    array, (..., H, W)
    """
    x = np.asarray(maps, dtype=float)
    if x.shape[-2:] == tuple(size):
        return x

    def weights(old: int, new: int) -> Floats:
        """Return the weight of each old cell in each new cell, along one side of a map."""
        centers = (np.arange(new) + 0.5) * old / new - 0.5
        return np.stack([np.interp(centers, np.arange(old), cell) for cell in np.eye(old)], axis=1)

    rows, columns = map(weights, x.shape[-2:], size)
    return np.asarray(rows @ x @ columns.T)
