"""`studio`, `studio/balanced`: the embedded diffusion models of drawn portraits, one leaning as planted, one less."""

from __future__ import annotations

from collections.abc import Mapping

from askew.errors import UnknownName
from askew.models.base import Setting, Suggestion
from askew.models.diffusers.model import DiffusersModel
from askew.studio.caption import parse
from askew.studio.paths import weights

MODELS: Mapping[str, str] = {"": "studio", "balanced": "balanced"}
"""Folder of each model's weights, by what follows the slash."""

DEFAULTS: Mapping[str, Setting] = {"num_inference_steps": 12, "guidance_scale": 1.4}
BATCH_SIZE = 24


class StudioModel(DiffusersModel):
    """A studio pipeline. It knows the words of the caption grammar alone."""

    suggestion = Suggestion(images=24, axes=("gender", "age", "ethnicity"))

    def unknown_words(self, prompt: str) -> list[str]:
        """Words of the prompt that the caption grammar does not know."""
        return list(parse(prompt).unknown)


def create(name: str, **settings: Setting) -> StudioModel:
    """The provider's factory."""
    if name not in MODELS:
        raise UnknownName("model", f"studio/{name}", ["studio", "studio/balanced", "studio/planted"])
    settings = {"batch_size": BATCH_SIZE} | settings
    return StudioModel(weights(MODELS[name]), name=f"studio/{name}".rstrip("/"), defaults=DEFAULTS, **settings)
