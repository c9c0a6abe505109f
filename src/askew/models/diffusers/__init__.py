"""`diffusers/ID-OR-PATH`: a text-to-image pipeline of the diffusers library, from a folder or the Hugging Face Hub.

Here: settings that the makers of well-known models recommend, and what the models need. Nothing heavy is imported.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from askew.models.base import Setting

if TYPE_CHECKING:
    from askew.models.diffusers.model import DiffusersModel

Settings = Mapping[str, Setting]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What is known about a model on the Hugging Face Hub.

    settings      where its makers recommend other values than the defaults of its pipeline
    biasconnect   the settings of BiasConnect (appendix A.2); None for models that the paper does not use
    download_gb   size of the weights in safetensors, in GB, about
    memory_gb     memory that the model takes in a 16-bit format with a batch of one, in GB, about
    """

    settings: Settings = field(default_factory=dict)
    biasconnect: Settings | None = None
    download_gb: float = 0.0
    memory_gb: float = 0.0


RECOMMENDED = TypeAdapter(dict[str, Recommendation]).validate_python(
    tomllib.loads(files("askew.models.diffusers").joinpath("recommended.toml").read_text(encoding="utf-8"))
)
"""By the model's ID."""


def recommended(model: str) -> Settings:
    """The settings that the makers of `model`, an ID on the Hub, recommend; empty for a model that is not listed."""
    known = RECOMMENDED.get(model)
    return known.settings if known else {}


def create(name: str, **settings: Setting) -> DiffusersModel:
    """The provider's factory; `name` is a folder or a repository's ID. Raises UsageError and ModelError.

    Settings are those of `DiffusersModel`, and every text, number or yes/no that the pipeline takes when called.
    """
    from askew.models.diffusers.model import DiffusersModel

    return DiffusersModel(name, name=f"diffusers/{name}", defaults=recommended(name), **settings)
