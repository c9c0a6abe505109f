"""Create editors that use a given model, and explain why some models cannot edit images."""

from collections.abc import Mapping

from askew.errors import UsageError
from askew.models.base import (
    Collection,
    EditingModel,
    Editor,
    Model,
    Setting,
    is_mitigated,
)


def editor_of(model: Model | Collection, settings: Mapping[str, Setting]) -> Editor:
    """Return an editor that uses a model.

    Parameters
    ----------
    model
        The model.
    settings
        Settings that override the model's settings.

    Raises
    ------
    UsageError
        If the model cannot edit images. The message suggests a command that works.
    """
    works = "askew edit --model studio, --model diffusers/ID-OR-PATH, or --model openai/MODEL"
    if is_mitigated(model):
        raise UsageError(
            f"a mitigation changes images that {model.name} makes from prompts, but editing starts "
            "from an image; omit -M mitigation"
        )
    if isinstance(model, Collection):
        raise UsageError(
            f"{model.name} is a collection of images and cannot edit images; give the model that "
            f"edits the images, as in {works} --sources {model.name}"
        )
    if not isinstance(model, EditingModel):
        raise UsageError(
            f"{model.name} generates images only from prompts, but editing starts from an image; "
            f"use {works}. To measure {model.name} with the same words, use "
            f'askew audit "a photo of a doctor" --model {model.name}'
        )
    return model.editor(settings)
