"""`studio`, `studio/balanced`: the embedded diffusion models of drawn portraits, one leaning as planted, one less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from PIL import Image

from askew.errors import MissingPackage, UnknownName
from askew.models.base import Request, Setting, Suggestion
from askew.models.hub import find_pretrained
from askew.studio import weights
from askew.studio.caption import parse, unheard
from askew.types import Missing

if TYPE_CHECKING:
    from askew.models.diffusers.model import DiffusersModel

MODELS: Mapping[str, str] = {"": "studio", "balanced": "balanced"}
"""Folder of each model's weights, by what follows the slash."""

DEFAULTS: Mapping[str, Setting] = {"num_inference_steps": 12, "guidance_scale": 1.4}
BATCH_SIZE = 24
OF_PIPELINE = ("dtype", "pipeline", "pipeline_class")


class StudioModel:
    """A studio pipeline. It knows the words of the caption grammar alone.

    PyTorch and diffusers are imported when the pipeline is needed, or when settings are to be checked that are not
    of the studio's own.
    """

    suggestion = Suggestion(images=24, axes=("gender", "age", "ethnicity"))
    watch: Any = None
    steer: Any = None

    def __init__(self, name: str, **settings: Setting) -> None:
        self.name = f"studio/{name}".rstrip("/")
        self._folder = weights(MODELS[name])
        self._given = settings
        self.revision = find_pretrained(str(self._folder)).identity
        plain = all(_is_plain(name, value) for name, value in settings.items())
        self.settings = {name: settings.get(name, value) for name, value in DEFAULTS.items()}
        self.batch_size = int(settings.get("batch_size", BATCH_SIZE)) if plain else self.network.batch_size
        if not plain:
            self.settings = dict(self.network.settings)

    @cached_property
    def network(self) -> DiffusersModel:
        """The diffusers pipeline as a model. Raises UsageError for settings that it does not take."""
        from askew.models.diffusers.model import DiffusersModel

        settings = {"batch_size": BATCH_SIZE} | self._given
        return DiffusersModel(self._folder, name=self.name, defaults=DEFAULTS, **settings)

    @property
    def device(self) -> str | None:
        """Where the pictures are made; None as long as none was."""
        return self.network.device if "network" in self.__dict__ else None

    def __getattr__(self, name: str) -> Any:
        """What is the pipeline's: its class, its number format and the like."""
        if name not in OF_PIPELINE:
            raise AttributeError(name)
        return getattr(self.network, name)

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """One RGB picture per request; it depends on the request alone."""
        self.network.watch, self.network.steer = self.watch, self.steer
        return self.network.generate(requests)

    def unknown_words(self, prompt: str) -> list[str]:
        """Words of the prompt that the caption grammar does not know."""
        return list(parse(prompt).unknown)

    def unheard_words(self, prompt: str) -> list[str]:
        """Words of the prompt that are known, and that less than nine in ten pictures show."""
        return unheard(prompt)


def create(name: str, **settings: Setting) -> StudioModel:
    """The provider's factory. Raises MissingPackage without the packages of networks."""
    if name not in MODELS:
        raise UnknownName("model", f"studio/{name}", ["studio", "studio/balanced", "studio/planted"])
    MissingPackage.unless_installed("torch", "models", f"the model {f'studio/{name}'.rstrip('/')!r}")
    return StudioModel(name, **settings)


def _is_plain(name: str, value: Setting) -> bool:
    """Whether a setting is one of the studio's own, such that nobody needs to check it."""
    known = {**DEFAULTS, "batch_size": BATCH_SIZE}
    return name in known and type(value) is type(known[name]) and float(value) > 0
