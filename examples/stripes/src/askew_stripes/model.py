"""Draws coloured stripes, whatever the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image

from askew.models.base import Request, Setting
from askew.types import Missing


class StripesModel:
    """Stripes of random colours, `width` pixels wide; with `redness` 1 all of them are red."""

    name = "stripes"
    revision = "1"
    batch_size = 16

    def __init__(self, width: int = 8, redness: float = 0.0) -> None:
        self.settings: Mapping[str, Setting] = {"width": width, "redness": redness}

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """One picture per request; it depends on the request alone."""
        return [self._draw(request) for request in requests]

    def unknown_words(self, prompt: str) -> list[str]:
        """Nothing is known about words."""
        return []

    def _draw(self, request: Request) -> Image.Image:
        rng = np.random.default_rng(request.seed)
        hue = np.eye(3)[0 if rng.random() < float(self.settings["redness"]) else rng.integers(3)]
        shades = rng.uniform(0.5, 1, (1, 16, 1)) * hue
        stripes = np.repeat((255 * shades).astype(np.uint8), int(self.settings["width"]), axis=1)
        return Image.fromarray(np.repeat(stripes, 128, axis=0))


def create(name: str, *, width: int = 8, redness: float = 0.0) -> StripesModel:
    """The provider's factory; `name` is what follows the slash, the rest are -M settings."""
    return StripesModel(width, redness)
