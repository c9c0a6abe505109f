"""Synthetic attention maps whose true overlap is known: what the scores of `stats.overlap` are
tested on.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askew.stats.overlap import iou_matrix, mask

Floats = NDArray[np.float64]

AREA = 0.3
"""Of the region where a map is high: what a mask at the 70th percentile keeps."""

SMOOTHNESS = 0.15
"""Width of the bumps, as a share of a picture's side."""


def planted_maps(
    pictures: int, overlap: float | None, rng: np.random.Generator, side: int = 32
) -> tuple[Floats, Floats]:
    """Maps of two concepts, (pictures, side, side) each, that are high in regions of 30 % of every
    picture.

    The regions are smooth and lie elsewhere in every picture. They share the part `overlap` of
    their area: 0 nothing, 1 all, None whatever chance gives. The IoU of a picture is overlap / (2 -
    overlap), but for whole pixels.
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
    """The corrected mIoU of endless pictures, from `pictures` of them: IoU and chance across
    pictures.
    """
    rng = np.random.default_rng(7)
    matrix = iou_matrix(*(mask(m) for m in planted_maps(pictures, overlap, rng, side)))
    diagonal = np.diagonal(matrix).mean()
    across = (matrix.sum() - np.trace(matrix)) / (pictures * (pictures - 1))
    return 0.0 if overlap is None else float((diagonal - across) / (1 - across))


def _region(high: NDArray[np.bool_], field: Floats, size: int, shared: int) -> NDArray[np.bool_]:
    """The highest `shared` cells of a field inside a region, and the highest outside it, `size` in
    all.
    """
    chosen = np.zeros(high.size, dtype=bool)
    for inside, count in ((high.ravel(), shared), (~high.ravel(), size - shared)):
        places = np.flatnonzero(inside)
        chosen[places[np.argsort(-field.ravel()[places], kind="stable")[:count]]] = True
    return chosen.reshape(high.shape)


def _smooth(pictures: int, side: int, rng: np.random.Generator) -> Floats:
    """Random fields (pictures, side, side) without a seam at the edges, by filtering noise."""
    frequency = np.fft.fftfreq(side) * side
    power = np.exp(
        -2 * (np.pi * SMOOTHNESS / 2) ** 2 * (frequency[:, None] ** 2 + frequency[None] ** 2)
    )
    noise = np.fft.fft2(rng.standard_normal((pictures, side, side)))
    return np.asarray(np.fft.ifft2(noise * power).real)
