"""Synthetic attention maps with a known true overlap, to test the scores of `stats.overlap`."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askew.stats.overlap import iou_matrix, mask

Floats = NDArray[np.float64]

AREA = 0.3
"""Area of the region where a map is high, which is the area of a mask at the 70th percentile."""

SMOOTHNESS = 0.15
"""Width of the bumps, as a share of an image's side."""


def planted_maps(
    pictures: int, overlap: float | None, rng: np.random.Generator, side: int = 32
) -> tuple[Floats, Floats]:
    """Return maps of two concepts that are high in regions of 30 % of every image.

    The regions are smooth and differ between images. Except for rounding to pixels, the IoU of an
    image is overlap / (2 - overlap).

    Parameters
    ----------
    pictures
        Number of images.
    overlap
        Share of the area that the two regions of an image have in common, in [0, 1]. None for
        independent regions.
    rng
        Generator of the maps.
    side
        Side of the maps.

    Returns
    -------
    first, second
        Maps of each concept: (pictures, side, side).
    """
    first = _smooth(pictures, side, rng)
    second = _smooth(pictures, side, rng)
    if overlap is None:
        return first, second
    high = mask(first, tau=100 * (1 - AREA))
    size = high.sum(axis=(1, 2))
    shared = np.rint(overlap * size).astype(int)
    region = [_region(h, s, n, k) for h, s, n, k in zip(high, second, size, shared, strict=True)]
    return first, second + np.where(region, 100.0, 0.0)


@lru_cache(maxsize=64)
def planted_truth(overlap: float | None, pictures: int = 1500, side: int = 32) -> float:
    """Return the true corrected mIoU, estimated from many images.

    The value expected by chance is the mean IoU of maps of different images.
    """
    rng = np.random.default_rng(7)
    matrix = iou_matrix(*(mask(m) for m in planted_maps(pictures, overlap, rng, side)))
    diagonal = np.diagonal(matrix).mean()
    across = (matrix.sum() - np.trace(matrix)) / (pictures * (pictures - 1))
    return 0.0 if overlap is None else float((diagonal - across) / (1 - across))


def _region(high: NDArray[np.bool_], field: Floats, size: int, shared: int) -> NDArray[np.bool_]:
    """Return the region of `size` cells with the highest values of a field.

    `shared` of the cells lie inside of the region `high`, the rest outside.
    """
    chosen = np.zeros(high.size, dtype=bool)
    for inside, count in ((high.ravel(), shared), (~high.ravel(), size - shared)):
        places = np.flatnonzero(inside)
        order = np.argsort(-field.ravel()[places], kind="stable")
        chosen[places[order[:count]]] = True
    return chosen.reshape(high.shape)


def _smooth(pictures: int, side: int, rng: np.random.Generator) -> Floats:
    """Return random smooth fields (pictures, side, side) that are continuous across the edges."""
    frequency = np.fft.fftfreq(side) * side
    power = np.exp(
        -2 * (np.pi * SMOOTHNESS / 2) ** 2 * (frequency[:, None] ** 2 + frequency[None] ** 2)
    )
    noise = np.fft.fft2(rng.standard_normal((pictures, side, side)))
    return np.asarray(np.fft.ifft2(noise * power).real)
