"""Colour spaces in which skin is found and its tone measured: BT.601 YCbCr, and CIELAB under D65."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

_TO_YCBCR = np.array([[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]])
_TO_XYZ = np.array(
    [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]]
)  # fmt: skip
_WHITE = np.array([0.95047, 1.0, 1.08883])
_LINEAR_PART = 0.008856
"""Below this share of white, CIELAB's root becomes a straight line."""


def ycbcr(pixels: Bytes) -> Floats:
    """RGB of 0 to 255 (..., 3) as Y from 16 to 235 and Cb, Cr from 16 to 240 (ITU-R BT.601, studio range)."""
    return np.asarray(pixels / 255.0 @ _TO_YCBCR.T + np.array([16.0, 128.0, 128.0]))


def lab(pixels: Bytes) -> Floats:
    """sRGB of 0 to 255 (..., 3) as CIELAB (L* from 0 to 100, a*, b*), D65, the 2 degree observer."""
    xyz = _LINEAR[pixels] @ _TO_XYZ.T / _WHITE
    root = np.where(xyz > _LINEAR_PART, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = root[..., 0], root[..., 1], root[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def _linear() -> Floats:
    """Light by sRGB value from 0 to 255 (IEC 61966-2-1)."""
    value = np.arange(256) / 255
    return np.asarray(np.where(value > 0.04045, ((value + 0.055) / 1.055) ** 2.4, value / 12.92))


_LINEAR = _linear()
