"""Which class of diffusers makes pictures from a prompt, what can be set when it is called, and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin

import diffusers
import torch

from askew.errors import UsageError
from askew.models.base import Setting
from askew.models.diffusers.components import quiet
from askew.models.diffusers.repository import Repository

with quiet():  # on import, pipelines complain about packages that they could use
    from diffusers import AutoPipelineForText2Image, DiffusionPipeline
    from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING, _get_task_class

BATCHED = frozenset(
    "FluxPipeline KandinskyV22CombinedPipeline PixArtAlphaPipeline PixArtSigmaPipeline QwenImagePipeline SanaPipeline "
    "StableDiffusion3Pipeline StableDiffusionPipeline StableDiffusionXLPipeline".split()
)
"""Families whose pictures are known not to depend on the rest of their batch; others are made one at a time."""

MULTIPLES: Mapping[str, int] = {
    family: multiple
    for multiple, families in {
        8: "PixArtAlphaPipeline PixArtSigmaPipeline StableDiffusionPipeline StableDiffusionXLPipeline",
        16: "FluxPipeline QwenImagePipeline",
        32: "SanaPipeline SanaSprintPipeline",
    }.items()
    for family in families.split()
}
"""What height and width must be multiples of, as far as it is known. Flux and Qwen-Image would round them silently."""

RECORDED = tuple(
    "clean_caption guidance_scale num_inference_steps prior_guidance_scale prior_num_inference_steps "
    "true_cfg_scale".split()
)
"""Parameters whose defaults are recorded beside what the user sets, so that a new default means new pictures."""

NOT_SETTINGS = frozenset(
    "prompt prompt_2 prompt_3 num_images_per_prompt output_type return_dict callback_steps".split()
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that can be set when a pipeline is called: a text, a number or yes/no."""

    kind: type
    default: Setting | None


def pipeline_class(repository: Repository) -> Any:
    """The class that makes pictures from a prompt alone with the weights of `repository`. Raises UsageError."""
    name = repository.class_name
    found = _get_task_class(AUTO_TEXT2IMAGE_PIPELINES_MAPPING, name, throw_error_if_not_exist=False)
    found = found or getattr(diffusers, name, None)
    if not isinstance(found, type):
        raise UsageError(
            f"{repository.name!r} is a {name}, which is no pipeline that diffusers {diffusers.__version__} knows: "
            f"try a newer version of diffusers"
        )
    takes = _signature(found)
    if "prompt" not in takes or (loader(found) is DiffusionPipeline and "image" in takes):
        needs = "an image" if "image" in takes else "no prompt"
        raise UsageError(
            f"{repository.name!r} is a {name}, which makes no pictures from a prompt alone: it takes {needs}"
        )
    return found


def loader(found: type[DiffusionPipeline]) -> Any:
    """Who loads pipelines of a class: AutoPipelineForText2Image, or DiffusionPipeline for families it does not know."""
    known = found in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.values()
    return AutoPipelineForText2Image if known else DiffusionPipeline


def parameters(found: type[DiffusionPipeline]) -> dict[str, Parameter]:
    """By name, whatever a user can set when a pipeline of this class is called."""
    kinds = {name: _kind(p) for name, p in _signature(found).items() if name not in NOT_SETTINGS}
    known = {name: kind for name, kind in kinds.items() if kind is not None}
    return {name: Parameter(kind, _signature(found)[name].default) for name, kind in known.items()}


def call_arguments(
    found: type[DiffusionPipeline],
    prompts: Sequence[str],
    generators: Sequence[torch.Generator],
    settings: Mapping[str, Setting],
) -> dict[str, Any]:
    """The arguments of a call that makes one picture of each prompt, as an array of numbers in [0, 1]."""
    known = _signature(found)
    negative = {k: [v] * len(prompts) for k, v in settings.items() if k.startswith("negative_prompt")}
    arguments = {"prompt": list(prompts), **settings, **negative, "output_type": "np", "generator": list(generators)}
    if negative and found.__name__.startswith("KandinskyV22"):
        arguments["generator"] *= 2  # its prior appends the negative prompts to the prompts: a batch twice as large
    return {name: value for name, value in arguments.items() if name in known}


def _signature(found: type[DiffusionPipeline]) -> dict[str, inspect.Parameter]:
    try:
        signature = inspect.signature(found.__call__, eval_str=True)
    except NameError:  # names that are imported for type checkers alone
        signature = inspect.signature(found.__call__)
    return {name: p for name, p in signature.parameters.items() if name != "self"}


def _kind(parameter: inspect.Parameter) -> type | None:
    """The type of a parameter that takes a text, a number or yes/no; None for others."""
    annotation = parameter.annotation
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    found = {*options, type(parameter.default)}
    return next((kind for kind in (bool, int, float, str) if kind in found), None)
