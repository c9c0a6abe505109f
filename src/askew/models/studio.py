"""`studio`, `studio/balanced`: the embedded diffusion models of drawn portraits, one leaning as
planted, one less.
"""

from collections.abc import Mapping
from typing import Any

from askew.errors import MissingPackage, UnknownName
from askew.models.base import Setting, Suggestion
from askew.models.hub import find_pretrained
from askew.models.pipeline import Editor, PipelineModel
from askew.studio import weights
from askew.studio.caption import parse, unheard

MODELS: Mapping[str, str] = {"": "studio", "balanced": "balanced"}
"""Folder of each model's weights, by what follows the slash."""

DEFAULTS: Mapping[str, Setting] = {"num_inference_steps": 12, "guidance_scale": 1.4}
BATCH_SIZE = 24
KNOWN: Mapping[str, Setting] = {**DEFAULTS, "batch_size": BATCH_SIZE}
DTYPE = "float32"
"""On every device, known before PyTorch is loaded: the networks are small."""


class StudioModel(PipelineModel):
    """A studio pipeline. It knows the words of the caption grammar alone. PyTorch and diffusers are
    imported when the pipeline is needed, or when settings are to be checked that are not of the
    studio's own.
    """

    suggestion = Suggestion(images=24, axes=("gender", "age", "ethnicity"))

    def __init__(self, name: str, **settings: Setting) -> None:
        folder = str(weights(MODELS[name]))
        known = None
        if _need_no_check(settings):
            own: dict[str, Any] = {**KNOWN, **settings}
            known = {
                "revision": find_pretrained(folder).identity,
                "batch_size": int(own.pop("batch_size")),
                "settings": own,
                "dtype": DTYPE,
            }
        given = {"batch_size": BATCH_SIZE, "dtype": DTYPE, **settings}
        self._known = known is not None
        super().__init__(folder, f"studio/{name}".rstrip("/"), DEFAULTS, known, **given)

    def editor(self, settings: Mapping[str, Setting]) -> Editor:
        """The model as an editor; `settings` replace its own."""
        plain = self._known and _need_no_check(settings)
        known = {"settings": {**self.settings, **settings}} if plain else None
        return Editor(self, settings, known)

    def unknown_words(self, prompt: str) -> list[str]:
        """Words of the prompt that the caption grammar does not know."""
        return list(parse(prompt).unknown)

    def unheard_words(self, prompt: str) -> list[str]:
        """Words of the prompt that are known, and that less than nine in ten pictures show."""
        return unheard(prompt)


def _need_no_check(settings: Mapping[str, Setting]) -> bool:
    return all(
        key in KNOWN and type(one) is type(KNOWN[key]) and float(one) > 0
        for key, one in settings.items()
    )


def create(name: str, **settings: Setting) -> StudioModel:
    """The provider's factory. Raises MissingPackage without the packages of networks."""
    if name not in MODELS:
        raise UnknownName(
            "model", f"studio/{name}", ["studio", "studio/balanced", "studio/planted"]
        )
    MissingPackage.unless_installed(
        "torch", "models", f"the model {f'studio/{name}'.rstrip('/')!r}"
    )
    return StudioModel(name, **settings)
