"""Pictures with attention maps laid over them: in a colour map for one word, in three colours for the masks of two."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.stats.resampling import bilinear

SIDE = 144
"""Longest side of an overlay in pixels."""

VIRIDIS = ("440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725")
"""Anchors of the colour map viridis (by S. van der Walt and N. Smith, CC0), evenly spaced: equal steps look equal, in
grey and to colour-blind eyes too."""

ONLY_A, ONLY_B, BOTH = "0072b2", "d55e00", "f0e442"
"""Of the palette of Okabe and Ito, which colour-blind people can tell apart."""

HEAT, TINT, DIM = 0.72, 0.62, 0.55
"""How much of an overlay is map, how much of a mask is its colour, and how bright the picture around masks stays."""

Pixels = NDArray[np.float64]


def heat(picture: Image.Image, map: NDArray[np.floating[Any]]) -> str:
    """A picture under the map (h, w) of a word, from its lowest (dark blue) to its highest value (yellow): data URI."""
    base = _pixels(picture)
    large = bilinear(map, base.shape[:2])
    low, high = float(large.min()), float(large.max())
    level = (large - low) / (high - low) if high > low else np.zeros_like(large)
    return _uri((1 - HEAT) * _grey(base) + HEAT * colours(level))


def masks(picture: Image.Image, a: NDArray[np.bool_], b: NDArray[np.bool_]) -> str:
    """A picture with the places of two words: of the first alone, the second alone, and both, as data URI."""
    base = _pixels(picture)
    grey, first, second = _grey(base), _enlarged(a, base.shape[:2]), _enlarged(b, base.shape[:2])
    shown = DIM * grey
    for where, colour in ((first & ~second, ONLY_A), (second & ~first, ONLY_B), (first & second, BOTH)):
        shown[where] = (1 - TINT) * grey[where] + TINT * _rgb(colour)
    return _uri(shown)


def colours(level: Pixels) -> Pixels:
    """Viridis (..., 3), 0 to 255, of numbers from 0 to 1."""
    anchors = np.array([_rgb(one) for one in VIRIDIS])
    at = np.linspace(0, 1, len(anchors))
    return np.stack([np.interp(level, at, anchors[:, k]) for k in range(3)], axis=-1)


def gradient() -> str:
    """The colour map as a CSS gradient."""
    return f"linear-gradient(to right, {', '.join(f'#{one}' for one in VIRIDIS)})"


def _pixels(picture: Image.Image) -> Pixels:
    scale = SIDE / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return np.asarray(picture.convert("RGB").resize(size, Image.Resampling.LANCZOS), dtype=float)


def _grey(pixels: Pixels) -> Pixels:
    return np.repeat((pixels @ [0.299, 0.587, 0.114])[..., None], 3, axis=-1)


def _enlarged(mask: NDArray[np.bool_], size: tuple[int, ...]) -> NDArray[np.bool_]:
    """The mask at another size, every cell a rectangle."""
    rows, columns = (np.arange(new) * old // new for old, new in zip(mask.shape, size, strict=True))
    return np.asarray(mask[np.ix_(rows, columns)])


def _rgb(colour: str) -> Pixels:
    return np.array([int(colour[k : k + 2], 16) for k in (0, 2, 4)], dtype=float)


def _uri(pixels: Pixels) -> str:
    encoded = io.BytesIO()
    Image.fromarray(pixels.round().clip(0, 255).astype(np.uint8)).save(encoded, "WEBP", quality=80, method=4)
    return f"data:image/webp;base64,{base64.b64encode(encoded.getvalue()).decode()}"
