"""`diffusers/ID-OR-PATH`: a text-to-image pipeline of diffusers, from a folder or the Hub.

This module contains the settings that the makers of well-known models recommend, and the needs of
these models. It imports no heavy package.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from askew.errors import MissingPackage
from askew.models.base import Setting
from askew.models.pipeline import PipelineModel
from askew.models.pipeline_constants import INDEX
from askew.store.files import read_json

Settings = Mapping[str, Setting]

OPENS_SLOWLY = True
"""A pipeline takes seconds to open, see `registry.opens_slowly`."""

TURBO = ((64, 2048), (64, 1024))
"""Sides in latents and widths of the text of SDXL-Turbo and SD-Turbo.

Stable Diffusion XL has sides of 128.
"""

SD2_WIDTH = 1024
"""Width of the text of SD-Turbo and of Stable Diffusion 2."""

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Facts about a model on the Hugging Face Hub.

    Attributes
    ----------
    settings
        Settings for which its makers recommend other values than the pipeline's defaults.
    biasconnect
        Settings of BiasConnect (appendix A.2), or None for models that the paper does not use.
    download_gb
        Approximate size of the weights in safetensors, in GB.
    memory_gb
        Approximate memory of the model in a 16-bit format with a batch of one, in GB.
    """

    settings: Settings = field(default_factory=dict)
    biasconnect: Settings | None = None
    download_gb: float = 0.0
    memory_gb: float = 0.0


RECOMMENDED = TypeAdapter(dict[str, Recommendation]).validate_python(
    tomllib.loads(
        files("askew.models.diffusers").joinpath("recommended.toml").read_text(encoding="utf-8")
    )
)
"""Recommendations by the model's ID."""


def recommended_settings(model: str) -> Settings:
    """Return the settings that the makers of a model recommend.

    A folder is recognized by the name from which it was saved, else by its configurations: a Turbo
    model by `_is_turbo`, LCM by a UNet that takes guidance as an input, and Flux schnell by a
    transformer that does not.

    Parameters
    ----------
    model
        ID on the Hub, or a folder.

    Returns
    -------
    Mapping
        The settings, empty for other models.
    """
    folder = Path(model).expanduser()
    index = read_json(folder / INDEX)
    name = model if model in RECOMMENDED else str(index.get("_name_or_path") or "")
    if name in RECOMMENDED:
        return RECOMMENDED[name].settings
    unet = read_json(folder / "unet" / "config.json")
    if _is_turbo(folder, unet, name):
        return RECOMMENDED["stabilityai/sdxl-turbo"].settings
    if unet.get("time_cond_proj_dim"):
        return {"num_inference_steps": 4}
    family = index.get("_class_name")
    if family == "QwenImagePipeline":
        return RECOMMENDED["Qwen/Qwen-Image"].settings
    transformer = read_json(folder / "transformer" / "config.json")
    if family == "FluxPipeline" and transformer.get("guidance_embeds") is False:
        return RECOMMENDED["black-forest-labs/FLUX.1-schnell"].settings
    return {}


def _is_turbo(folder: Path, unet: Mapping[str, Any], name: str) -> bool:
    """Check whether a pipeline is SDXL-Turbo or SD-Turbo.

    Only these are saved with an Euler scheduler that begins at pure noise, and with their size and
    width. A Stable Diffusion 2 base to which somebody gave such a scheduler has the files of
    SD-Turbo. A name of the Hub decides between them.
    """
    scheduler = read_json(folder / "scheduler" / "scheduler_config.json")
    starts_at_noise = scheduler.get("timestep_spacing") == "trailing"
    starts_at_noise = starts_at_noise and not scheduler.get("rescale_betas_zero_snr")
    is_euler = str(scheduler.get("_class_name")).startswith("Euler")
    width = unet.get("cross_attention_dim")
    has_shape = (unet.get("sample_size"), width) in TURBO
    if width == SD2_WIDTH and HUB_ID.fullmatch(name) and "turbo" not in name.lower():
        return False
    return has_shape and starts_at_noise and is_euler


def create(name: str, **settings: Setting) -> PipelineModel:
    """Create the model, as the provider's entry point.

    Parameters
    ----------
    name
        A folder, a repository's ID, or a single checkpoint file.
    **settings
        Settings of `DiffusersModel`, and every text, number or switch that the pipeline takes when
        it is called.

    Raises
    ------
    UsageError, ModelError
        If the pipeline cannot be opened.
    """
    MissingPackage.unless_installed("torch", "models", f"the model {f'diffusers/{name}'!r}")
    recommended = recommended_settings(str(settings.get("config") or name))
    return PipelineModel(name, f"diffusers/{name}", recommended, None, **settings)
