"""What askew asks of an editor: a model that begins from a picture instead of pure noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from PIL import Image

from askew.errors import UsageError
from askew.models.base import Collection, Model, Setting
from askew.types import Missing


@dataclass(frozen=True, slots=True)
class EditRequest:
    """One wanted edit: of which picture, towards which prompt, how much is redrawn (0 to 1), and its seed."""

    picture: Image.Image
    prompt: str
    strength: float
    seed: int


class Editor(Protocol):
    """A model that edits pictures. An edit depends on (revision, settings, request) alone, not on its batch."""

    name: str
    revision: str
    settings: Mapping[str, Setting]
    batch_size: int

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        """Raises UsageError if pictures of `size` (width, height) or one of the strengths cannot be edited."""
        ...

    def edit(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        """One RGB picture of the same size, or the reason why there is none, per request and in their order."""
        ...

    def encode_decode(self, pictures: Sequence[Image.Image]) -> list[Image.Image | Missing]:
        """Every picture as it comes back from the model's autoencoder, with nothing edited."""
        ...


def editor_of(model: Model | Collection, settings: Mapping[str, Setting]) -> Editor:
    """The model as an editor; `settings` replace those that it makes pictures with.

    Raises UsageError for a model that makes pictures from prompts alone, with the command that would work.
    """
    if "mitigation" in getattr(model, "settings", {}):
        raise UsageError(f"a mitigation changes pictures that {model.name} makes from prompts, and editing begins from "
                         "a picture: leave --mitigation out")  # fmt: skip
    if not hasattr(type(model), "pipeline"):
        works = "askew edit --model studio, or --model diffusers/ID-OR-PATH"
        if isinstance(model, Collection):
            raise UsageError(
                f"{model.name} is a collection of pictures and edits none: name the model that is to edit them, as in "
                f"{works} --sources {model.name}"
            )
        raise UsageError(
            f"{model.name} makes pictures from prompts alone, and editing begins from a picture; what works is: "
            f"{works}. What {model.name} makes of the same words is asked by: "
            f'askew audit "a photo of a doctor" --model {model.name}'
        )
    from askew.models.diffusers.editing import DiffusersEditor

    return DiffusersEditor(model, settings)  # type: ignore[arg-type]
