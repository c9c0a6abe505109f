"""`studio/planted`: a black-box model whose bias is known exactly. It draws from the planted
distribution itself.
"""

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
    """Draws a scene given what the prompt says, at a bias from 0 (uniform) to 1 (stereotyped).

    `equal` names an attribute: where the prompt leaves it open, a value drawn evenly is added to
    what the prompt says. That mitigates this one bias exactly.
    """

    name = "studio/planted"
    batch_size = 64

    def __init__(self, bias: float = 1.0, equal: str = "") -> None:
        if not isinstance(bias, int | float) or not 0 <= bias <= 1:
            raise UsageError(
                f"{self.name}: bias is {bias!r}; it must be a number from 0 (uniform) to 1 (stereotyped)"
            )
        self.bias = float(bias)
        self.revision = _revision()
        if equal:
            UnknownName.unless_known("studio attribute", equal, ATTRIBUTES)
        self.equal = equal
        self.settings: Mapping[str, Setting] = {"bias": self.bias} | (
            {"equal": equal} if equal else {}
        )

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """One drawing per request; it depends on the request alone."""
        found: list[Image.Image | Missing] = []
        for request in requests:
            said = parse(request.prompt)
            if self.equal and said.person and self.equal not in said.attributes:
                values = ATTRIBUTES[self.equal]
                value = values[int(np.random.default_rng([request.seed, 2]).integers(len(values)))]
                said = replace(said, attributes={**said.attributes, self.equal: value})
            found.append(draw(sample(said, self.bias, request.seed), request.seed))
        return found

    def unknown_words(self, prompt: str) -> list[str]:
        """Words of the prompt that the caption grammar does not know."""
        return list(parse(prompt).unknown)


def create(name: str, *, bias: float = 1.0, equal: str = "") -> PlantedModel:
    """The provider's factory."""
    return PlantedModel(bias, equal)


@lru_cache
def _revision() -> str:
    """A digest of the code and the data that decide what is drawn."""
    digest = hashlib.sha256()
    studio = files("askew.studio")
    sources = [studio / name for name in ("scene.py", "caption.py", "planted.py")]
    for folder in ("drawing", "data"):
        sources += sorted((studio / folder).iterdir(), key=lambda path: path.name)
    for source in sources:
        if source.name.endswith((".py", ".txt", ".toml")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
