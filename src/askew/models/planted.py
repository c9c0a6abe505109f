"""`studio/planted`: a black-box model that samples from a distribution with planted bias."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files

import numpy as np
from PIL import Image

from askew.errors import UnknownName, UsageError
from askew.models.base import Request, Setting
from askew.studio.caption import parse
from askew.studio.drawing import draw
from askew.studio.planted import sample
from askew.studio.scene import ATTRIBUTES
from askew.types import Missing


class PlantedModel:
    """Model that samples a scene for a prompt from the planted distribution, and draws the scene.

    Parameters
    ----------
    bias
        Bias from 0 (uniform) to 1 (stereotyped).
    equal
        Attribute that the model samples uniformly if the prompt does not specify it. This removes
        the bias in this attribute completely.

    Raises
    ------
    UsageError
        If `bias` is not a number in [0, 1].
    UnknownName
        If `equal` is not an attribute of the studio.
    """

    name = "studio/planted"
    batch_size = 64

    def __init__(self, bias: float = 1.0, equal: str = "") -> None:
        if not isinstance(bias, int | float) or not 0 <= bias <= 1:
            raise UsageError(
                f"{self.name}: bias is {bias!r}; "
                "it must be a number from 0 (uniform) to 1 (stereotyped)"
            )
        self.bias = float(bias)
        self.revision = _revision()
        if equal:
            UnknownName.unless_known("studio attribute", equal, ATTRIBUTES)
        self.equal = equal
        settings: dict[str, Setting] = {"bias": self.bias}
        if equal:
            settings["equal"] = equal
        self.settings: Mapping[str, Setting] = settings

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return a drawing for each request. A drawing depends only on its request."""
        return [self._draw(request) for request in requests]

    def _draw(self, request: Request) -> Image.Image:
        """Draw the scene that a request describes."""
        caption = parse(request.prompt)
        if self.equal and caption.person and self.equal not in caption.attributes:
            values = ATTRIBUTES[self.equal]
            rng = np.random.default_rng([request.seed, 2])
            value = values[int(rng.integers(len(values)))]
            caption = replace(caption, attributes={**caption.attributes, self.equal: value})
        return draw(sample(caption, self.bias, request.seed), request.seed)

    def unknown_words(self, prompt: str) -> list[str]:
        """Return the words of a prompt that the caption grammar does not know."""
        return list(parse(prompt).unknown)


def create(name: str, *, bias: float = 1.0, equal: str = "") -> PlantedModel:
    """Create the model for `--model studio/planted`."""
    return PlantedModel(bias, equal)


@lru_cache
def _revision() -> str:
    """Return a digest of the code and data that determine the drawings."""
    digest = hashlib.sha256()
    studio = files("askew.studio")
    sources = [studio / name for name in ("scene.py", "caption.py", "planted.py")]
    for folder in ("drawing", "data"):
        sources += sorted((studio / folder).iterdir(), key=lambda path: path.name)
    for source in sources:
        if source.name.endswith((".py", ".txt", ".toml")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
