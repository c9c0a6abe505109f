"""Model that draws colored stripes for any prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image

from askew.models.base import Request, Setting
from askew.types import Missing


class StripesModel:
    """Model of stripes of random colors.

    Parameters
    ----------
    width
        Width of a stripe in pixels.
    redness
        Probability that all stripes are red, instead of a random color.
    """

    name = "stripes"
    revision = "1"
    batch_size = 16

    def __init__(self, width: int = 8, redness: float = 0.0) -> None:
        self.settings: Mapping[str, Setting] = {"width": width, "redness": redness}

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return an image for each request, which depends only on the request."""
        return [self._draw(request) for request in requests]

    def unknown_words(self, prompt: str) -> list[str]:
        """Return no words, since the model ignores prompts."""
        return []

    def _draw(self, request: Request) -> Image.Image:
        rng = np.random.default_rng(request.seed)
        is_red = rng.random() < float(self.settings["redness"])
        color = 0 if is_red else rng.integers(3)
        shades = rng.uniform(0.5, 1, (1, 16, 1)) * np.eye(3)[color]
        stripes = np.repeat((255 * shades).astype(np.uint8), int(self.settings["width"]), axis=1)
        return Image.fromarray(np.repeat(stripes, 128, axis=0))


def create(name: str, *, width: int = 8, redness: float = 0.0) -> StripesModel:
    """Create the model. `name` follows the slash of the model's name; the rest are -M settings."""
    return StripesModel(width, redness)
