"""`studio` and `studio/balanced`: diffusion models that are part of askew and draw portraits.

`studio` is trained on scenes with the planted bias. `studio/balanced` is trained on scenes with
uniformly sampled attributes.
"""

from collections.abc import Mapping
from typing import Any

from askew.errors import MissingPackage, UnknownName
from askew.models.base import Setting, Suggestion
from askew.models.hub import find_pretrained
from askew.models.pipeline import PipelineEditor, PipelineModel
from askew.studio import CONCEPT_VECTORS, CONCEPTS, concept_token, weights
from askew.studio.caption import parse, unheard

MODELS: Mapping[str, str] = {"": "studio", "balanced": "balanced"}
"""Folder of each model's weights, keyed by the part of the model's name after "studio/"."""

DEFAULTS: Mapping[str, Setting] = {"num_inference_steps": 12, "guidance_scale": 1.4}
BATCH_SIZE = 24
KNOWN: Mapping[str, Setting] = {**DEFAULTS, "batch_size": BATCH_SIZE}
"""Defaults of settings for which all positive values are valid, so that no check is needed."""

DTYPE = "float32"
"""Number format, which is the same on every device and is thus known before PyTorch is loaded."""


class StudioModel(PipelineModel):
    """Model with a studio pipeline. The pipeline knows only the words in the caption grammar.

    PyTorch and diffusers are imported when the pipeline is needed, or when settings other than
    those in `KNOWN` must be checked.

    Attributes
    ----------
    concept_tokens, concept_vectors
        Tokens for attention maps, keyed by concept, and the file that contains the tokens' vectors.
        See `askew.measure.attention.concepts`.
    """

    cuts_prompts = False
    suggestion = Suggestion(images=24, axes=("gender", "age", "ethnicity"))
    concept_tokens: Mapping[str, str] = {concept: concept_token(concept) for concept in CONCEPTS}
    concept_vectors = CONCEPT_VECTORS

    def __init__(self, name: str, **settings: Setting) -> None:
        folder = str(weights(MODELS[name]))
        self._is_known = _need_no_check(settings)
        known = _known_facts(folder, settings) if self._is_known else None
        given = {"batch_size": BATCH_SIZE, "dtype": DTYPE, **settings}
        super().__init__(folder, f"studio/{name}".rstrip("/"), DEFAULTS, known, **given)

    def editor(self, settings: Mapping[str, Setting]) -> PipelineEditor:
        """Return an editor that uses this model. `settings` override the model's settings."""
        known = None
        if self._is_known and _need_no_check(settings):
            known = {"settings": {**self.settings, **settings}}
        return PipelineEditor(self, settings, known)

    def unknown_words(self, prompt: str) -> list[str]:
        """Return the words of a prompt that the caption grammar does not contain."""
        return list(parse(prompt).unknown)

    def unheard_words(self, prompt: str) -> list[str]:
        """Return the known words in a prompt that are rendered in fewer than 90% of its images."""
        return unheard(prompt)


def _known_facts(folder: str, settings: Mapping[str, Setting]) -> dict[str, Any]:
    """Return the facts about a pipeline whose settings need no check."""
    chosen: dict[str, Any] = {**KNOWN, **settings}
    batch_size = int(chosen.pop("batch_size"))
    return {
        "revision": find_pretrained(folder).identity,
        "batch_size": batch_size,
        "settings": chosen,
        "dtype": DTYPE,
    }


def _need_no_check(settings: Mapping[str, Setting]) -> bool:
    """Check whether all settings are in `KNOWN`, positive, and of the same type as the default."""
    return all(
        name in KNOWN and type(value) is type(KNOWN[name]) and float(value) > 0
        for name, value in settings.items()
    )


def create(name: str, **settings: Setting) -> StudioModel:
    """Create the model for `--model studio/NAME`.

    Raises
    ------
    UnknownName
        If there is no such studio model.
    MissingPackage
        If the packages that networks need are not installed.
    """
    if name not in MODELS:
        raise UnknownName(
            "model", f"studio/{name}", ["studio", "studio/balanced", "studio/planted"]
        )
    full_name = f"studio/{name}".rstrip("/")
    MissingPackage.unless_installed("torch", "models", f"the model {full_name!r}")
    return StudioModel(name, **settings)
