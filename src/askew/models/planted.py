"""`studio/planted`: a black-box model whose bias is known exactly. It draws from the planted distribution itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from PIL import Image

from askew.errors import UsageError
from askew.models.base import Request, Setting
from askew.studio.caption import parse
from askew.studio.drawing import draw
from askew.studio.planted import sample
from askew.types import Missing


class PlantedModel:
    """Draws a scene given what the prompt says, at a bias from 0 (uniform) to 1 (stereotyped)."""

    name = "studio/planted"
    batch_size = 64

    def __init__(self, bias: float = 1.0) -> None:
        if not isinstance(bias, int | float) or not 0 <= bias <= 1:
            raise UsageError(f"{self.name}: bias is {bias!r}; it must be a number from 0 (uniform) to 1 (stereotyped)")
        self.bias = float(bias)
        self.revision = _revision()
        self.settings: Mapping[str, Setting] = {"bias": self.bias}

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """One drawing per request; it depends on the request alone."""
        return [draw(sample(parse(r.prompt), self.bias, r.seed), r.seed) for r in requests]

    def unknown_words(self, prompt: str) -> list[str]:
        """Words of the prompt that the caption grammar does not know."""
        return list(parse(prompt).unknown)


def create(name: str, *, bias: float = 1.0) -> PlantedModel:
    """The provider's factory."""
    return PlantedModel(bias)


@lru_cache
def _revision() -> str:
    """A digest of the code that decides what is drawn."""
    digest = hashlib.sha256()
    studio = files("askew.studio")
    sources = [studio / name for name in ("scene.py", "occupations.py", "caption.py", "planted.py")]
    sources += sorted((studio / "drawing").iterdir(), key=lambda path: path.name)
    for source in sources:
        if source.name.endswith(".py"):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
