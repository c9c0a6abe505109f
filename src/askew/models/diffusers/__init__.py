"""`diffusers/ID-OR-PATH`: a text-to-image pipeline of the diffusers library, from a folder or the
Hugging Face Hub.

Here: settings that the makers of well-known models recommend, and what the models need. Nothing
heavy is imported.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from pydantic import TypeAdapter

from askew.errors import MissingPackage, UsageError
from askew.models.base import Collection, Model, Setting, is_mitigated
from askew.models.pipeline import Editor, PipelineModel
from askew.models.pipeline_constants import INDEX
from askew.store.files import read_json

Settings = Mapping[str, Setting]

OPENS_SLOWLY = True
"""A pipeline takes seconds to open, see `registry.opens_slowly`."""

TURBO = ((64, 2048), (64, 1024))
"""Sides in latents and widths of the text of SDXL-Turbo and SD-Turbo; Stable Diffusion XL has sides
of 128.
"""

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


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
    tomllib.loads(
        files("askew.models.diffusers").joinpath("recommended.toml").read_text(encoding="utf-8")
    )
)
"""By the model's ID."""


def recommended_settings(model: str) -> Settings:
    """The settings that the makers of `model` recommend: an ID on the Hub, or a folder whose own
    files tell.

    A folder tells by the name that it was saved from; else by what marks distilled models: a
    scheduler of Euler's that begins at pure noise, at a size and width that only SDXL-Turbo and
    SD-Turbo are saved with; a UNet that takes guidance as an input (LCM), or a Flux without it
    (schnell). Empty for others. A Stable Diffusion 2 base that someone gave such a scheduler, and
    no name of the Hub, has the files of SD-Turbo.
    """
    folder = Path(model).expanduser()
    index = read_json(folder / INDEX)
    scheduler = read_json(folder / "scheduler" / "scheduler_config.json")
    known = model if model in RECOMMENDED else str(index.get("_name_or_path") or "")
    if known in RECOMMENDED:
        return RECOMMENDED[known].settings
    unet = read_json(folder / "unet" / "config.json")
    family = index.get("_class_name")
    from_noise = scheduler.get("timestep_spacing") == "trailing" and not scheduler.get(
        "rescale_betas_zero_snr"
    )
    width = unet.get("cross_attention_dim")
    turbo = (unet.get("sample_size"), width) in TURBO
    if width == 1024 and HUB_ID.fullmatch(
        known
    ):  # that of a Stable Diffusion 2 base, too: its name tells
        turbo &= "turbo" in known.lower()
    if turbo and from_noise and str(scheduler.get("_class_name")).startswith("Euler"):
        return RECOMMENDED["stabilityai/sdxl-turbo"].settings
    if unet.get("time_cond_proj_dim"):
        return {"num_inference_steps": 4}
    if family == "QwenImagePipeline":
        return RECOMMENDED["Qwen/Qwen-Image"].settings
    distilled = read_json(folder / "transformer" / "config.json").get("guidance_embeds") is False
    return (
        RECOMMENDED["black-forest-labs/FLUX.1-schnell"].settings
        if family == "FluxPipeline" and distilled
        else {}
    )


def create(name: str, **settings: Setting) -> PipelineModel:
    """The provider's factory; `name` is a folder or a repository's ID. Raises UsageError and
    ModelError. Settings are those of `DiffusersModel`, and every text, number or yes/no that the
    pipeline takes when called.
    """
    MissingPackage.unless_installed("torch", "models", f"the model {f'diffusers/{name}'!r}")
    return PipelineModel(name, f"diffusers/{name}", recommended_settings(name), None, **settings)


def editor_of(model: Model | Collection, settings: Mapping[str, Setting]) -> Editor:
    """The model as an editor; `settings` replace those that it makes pictures with. Raises
    UsageError for a model that makes pictures from prompts alone, with the command that would work.
    """
    works = "askew edit --model studio, or --model diffusers/ID-OR-PATH"
    if is_mitigated(model):
        raise UsageError(
            f"a mitigation changes pictures that {model.name} makes from prompts, and editing begins from a picture: "
            "leave the setting mitigation out"
        )
    if isinstance(model, Collection):
        raise UsageError(
            f"{model.name} is a collection of pictures and edits none: name the model that is to edit them, as in "
            f"{works} --sources {model.name}"
        )
    if not isinstance(model, PipelineModel):
        raise UsageError(
            f"{model.name} makes pictures from prompts alone, and editing begins from a picture; what works is: "
            f"{works}. What {model.name} makes of the same words is asked by: "
            f'askew audit "a photo of a doctor" --model {model.name}'
        )
    return model.editor(settings)
