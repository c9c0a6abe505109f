"""`diffusers/ID-OR-PATH`: a text-to-image pipeline of the diffusers library, from a folder or the Hugging Face Hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askew.models.base import Setting

if TYPE_CHECKING:
    from askew.models.diffusers.model import DiffusersModel


def create(name: str, **settings: Setting) -> DiffusersModel:
    """The provider's factory; `name` is a folder or a repository's ID. Raises UsageError and ModelError.

    Settings are those of `DiffusersModel`, and every text, number or yes/no that the pipeline takes when called.
    """
    from askew.models.diffusers.model import DiffusersModel
    from askew.models.diffusers.recommended import recommended

    return DiffusersModel(name, name=f"diffusers/{name}", defaults=recommended(name), **settings)
