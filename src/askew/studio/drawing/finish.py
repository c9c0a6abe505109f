"""From the supersampled drawing to the picture in its style."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

from askew.studio.drawing.canvas import SCALE, SIZE


def finish(drawn: Image.Image, style: str) -> Image.Image:
    """Reduce to final pixels as a colour drawing, in shades of grey, or as a pencil sketch."""
    if style == "color":
        return drawn.reduce(SCALE)
    grey = drawn.reduce(SCALE).convert("L")
    if style == "greyscale":
        return grey.convert("RGB")
    pencil = _sketch(grey)
    return Image.merge("RGB", [pencil.point(tint) for tint in _PAPER])


_PAPER = tuple([round(level * white / 255) for level in range(256)] for white in (253, 250, 243))
_HATCH = ((np.arange(SIZE)[:, None] + np.arange(SIZE)) % 4 < 2).astype(np.float32)


def _sketch(grey: Image.Image) -> Image.Image:
    """A pencil line on the dark side of every edge, and hatching in dark places.

    Lines depend on brightness relative to the brightness around, so that they are as strong on dark skin as on light
    skin. Every step is local: a pixel depends on its neighbourhood alone.
    """
    tone = np.asarray(grey, dtype=np.float32) + 10
    around = np.asarray(grey.filter(ImageFilter.BoxBlur(2)), dtype=np.float32) + 10
    line = np.clip(1.06 - 2.3 * np.maximum(1 - tone / around, 0), 0.12, 1)
    dark = np.clip(1.05 - tone / 225, 0, 1)
    black = np.clip((50 - tone) / 40, 0, 1)
    wash = 1 - 0.28 * dark - 0.16 * dark * _HATCH - 0.4 * black
    return Image.fromarray((255 * line * wash).astype(np.uint8))
