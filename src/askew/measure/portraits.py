"""Faces laid on each other by landmarks (turned, scaled and shifted), average faces, and skin by its place."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from askew.errors import NotEnoughData
from askew.measure.landmarks import Landmarks
from askew.measure.skin import Mask, rgb

Bytes = NDArray[np.uint8]

FRAME = 128
"""Side of the frame, in pixels, in which faces are aligned."""

CANONICAL: Landmarks = np.array([[46.0, 52.0], [82.0, 52.0], [64.0, 70.0]])
"""The landmarks in that frame."""

CHEEKS = ((46.0, 69.0, 8.0, 6.0), (82.0, 69.0, 8.0, 6.0))
"""Ellipses in that frame, x, y and half axes, in which a face seen from the front shows skin alone."""


def similarity(landmarks: Landmarks) -> tuple[complex, complex]:
    """The turn, scale and shift z -> a z + b, z = x + iy, that brings landmarks nearest to the canonical ones.

    Raises ValueError for landmarks that are all one point.
    """
    z, w = (points[:, 0] + 1j * points[:, 1] for points in (landmarks, CANONICAL))
    centred = z - z.mean()
    size = float((np.abs(centred) ** 2).sum())
    if size == 0:
        raise ValueError("landmarks that are all one point have no size to align by")
    a = complex((centred.conj() * (w - w.mean())).sum() / size)
    return a, complex(w.mean() - a * z.mean())


def aligned(image: Image.Image | ArrayLike, landmarks: Landmarks) -> Bytes:
    """The picture turned, scaled and shifted so that its landmarks lie near the canonical ones: (FRAME, FRAME, 3)."""
    a, b = similarity(landmarks)
    pixels, block = rgb(image), max(int(0.5 / abs(a)), 1)
    small = _reduced(pixels, block)
    y, x = np.mgrid[:FRAME, :FRAME]
    place = (x + 1j * y - b) / a
    rows, columns = ((part - (block - 1) / 2) / block for part in (place.imag, place.real))
    channels = [
        scipy.ndimage.map_coordinates(small[..., k], [rows, columns], order=1, mode="nearest") for k in range(3)
    ]
    return np.asarray(np.stack(channels, axis=-1).round().clip(0, 255).astype(np.uint8))


def average_face(faces: ArrayLike) -> Bytes:
    """The mean of aligned faces (faces, height, width, 3), rounded to bytes. Raises NotEnoughData for no face."""
    stack = np.asarray(faces)
    if not len(stack):
        raise NotEnoughData("an average face needs a picture in which one face was found")
    return np.asarray(stack.mean(axis=0).round().astype(np.uint8))


def cheek_mask(size: tuple[int, int], landmarks: Landmarks) -> Mask:
    """Pixels on the cheeks of a face: (H, W) for a picture of `size` (H, W). Does not depend on colour."""
    a, b = similarity(landmarks)
    y, x = np.mgrid[: size[0], : size[1]]
    place = a * (x + 1j * y) + b
    inside = [((place.real - cx) / rx) ** 2 + ((place.imag - cy) / ry) ** 2 <= 1 for cx, cy, rx, ry in CHEEKS]
    return np.asarray(np.logical_or.reduce(inside))


def _reduced(pixels: Bytes, block: int) -> NDArray[np.float64]:
    """Means of square blocks, so that a large photograph is not sampled point by point."""
    height, width = (length // block * block for length in pixels.shape[:2])
    parts = pixels[:height, :width].reshape(height // block, block, width // block, block, 3)
    return np.asarray(parts.mean(axis=(1, 3)))
