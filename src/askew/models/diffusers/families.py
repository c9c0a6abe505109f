"""Pipeline classes in diffusers, and reasons why some cannot generate images from only a prompt."""

import inspect
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import diffusers

from askew.errors import UsageError
from askew.models.diffusers.repository import Repository, quiet

with quiet():  # on import, pipelines complain about packages that they could use
    from diffusers import AutoPipelineForText2Image, DiffusionPipeline
    from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING, _get_task_class

Parameters = Mapping[str, inspect.Parameter]

VIDEOS = "it makes videos"
SOUND = "it makes sound"
CONTROL = "it needs a control image for each prompt"
IMAGE = "it needs an input image"

SIGNS: Mapping[str, str] = {
    "num_frames": VIDEOS,
    "num_videos_per_prompt": VIDEOS,
    "frames": VIDEOS,
    "video_length": VIDEOS,
    "video": VIDEOS,
    "audio": SOUND,
    "audio_duration": SOUND,
    "audio_duration_s": SOUND,
    "audio_length_in_s": SOUND,
    "audio_end_in_s": SOUND,
    "control_image": CONTROL,
    "mask_image": IMAGE,
    "gligen_boxes": "it needs bounding boxes for the objects to draw",
    "source_embeds": "it changes images from one embedding to another",
}
"""For each parameter name, the reason why pipelines with this parameter cannot be used."""

PARTS: Mapping[str, str] = {"controlnet": CONTROL, "adapter": CONTROL}
"""For each component name, the reason why pipelines with this component cannot be used."""

CLASSES: Mapping[str, str] = {
    "DiffusionGemmaPipeline": "it makes text",
    "LLaDA2Pipeline": "it makes text",
    "ShapEPipeline": "it makes three-dimensional objects",
    "StableAudio3Pipeline": SOUND,
    "StableDiffusionLDM3DPipeline": "it makes images with depth maps",
    "JoyImageEditPlusPipeline": IMAGE,
}
"""For pipeline classes whose parameters do not show it, the reason why they cannot be used."""

BEGINNINGS: Mapping[str, str] = {
    "Onnx": "its networks are in the ONNX format, which askew does not load",
    "StableDiffusionOnnx": "its networks are in the ONNX format, which askew does not load",
}
"""For each prefix, the reason why pipelines whose class name has this prefix cannot be used."""

WITHOUT_IMAGE = frozenset(
    (
        "BriaFibo2Pipeline",
        "DreamLiteMobilePipeline",
        "DreamLitePipeline",
        "Flux2KleinKVPipeline",
        "Flux2KleinPipeline",
        "Flux2Pipeline",
        "FluxKontextPipeline",
        "GlmImagePipeline",
        "QwenImage21Pipeline",
        "ZImageOmniPipeline",
    )
)
"""Pipelines for which an input image is optional."""

PACKAGES: Mapping[str, str] = {"opencv": "opencv-python"}
"""PyPI name of each package for which diffusers uses another name."""


def pipeline_class(repository: Repository) -> Any:
    """Return the text-to-image pipeline class for the weights in a repository.

    Raises
    ------
    UsageError
        If diffusers has no such class, if the class needs a package that is not installed, or if it
        cannot generate images from only a prompt.
    """
    name = repository.class_name
    family = _get_task_class(
        AUTO_TEXT2IMAGE_PIPELINES_MAPPING, name, throw_error_if_not_exist=False
    )
    family = family or getattr(diffusers, name, None)
    if not isinstance(family, type):
        raise UsageError(
            f"{repository.name!r} is a {name}, which diffusers {diffusers.__version__} "
            f"does not contain; try a newer version of diffusers"
        )
    absent = _absent_packages(family)
    if absent:
        raise UsageError(
            f"{repository.name!r} is a {name}, which needs packages that are not installed: "
            f"pip install {' '.join(absent)}"
        )
    reason = _reason_against(family) or _reason_of_channels(repository)
    if reason:
        raise UsageError(
            f"{repository.name!r} is a {name}, which cannot generate images from only a prompt: "
            f"{reason}; use a text-to-image model"
        )
    return family


def loader(family: type[DiffusionPipeline]) -> Any:
    """Return the diffusers class that can load pipelines of the class `family`.

    It is AutoPipelineForText2Image if that class supports `family`, and DiffusionPipeline if not.
    """
    known = family in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.values()
    return AutoPipelineForText2Image if known else DiffusionPipeline


def call_signature(family: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of a pipeline class's `__call__` method, keyed by name."""
    try:
        signature = inspect.signature(family.__call__, eval_str=True)
    except (NameError, TypeError):
        # Some annotations are imported for type checkers only.
        signature = inspect.signature(family.__call__)
    return {name: p for name, p in signature.parameters.items() if name != "self"}


def _absent_packages(family: type) -> list[str]:
    """Return the packages that a class needs but that are not installed.

    Without these packages, diffusers replaces the class with a stand-in.
    """
    if issubclass(family, DiffusionPipeline):
        return []
    backends: list[str] = getattr(family, "_backends", [])
    return [PACKAGES.get(package, package) for package in backends if find_spec(package) is None]


def _reason_against(family: type) -> str:
    """Return the reason why a class cannot generate images from a prompt; empty if it can."""
    name = family.__name__
    call = call_signature(family)
    if name in CLASSES:
        return CLASSES[name]
    for beginning, reason in BEGINNINGS.items():
        if name.startswith(beginning):
            return reason
    parts = inspect.signature(family.__init__).parameters  # type: ignore[misc]
    reasons = [reason for sign, reason in SIGNS.items() if sign in call]
    reasons += [reason for part, reason in PARTS.items() if part in parts]
    if reasons:
        return reasons[0]
    if "image" in call and name not in WITHOUT_IMAGE:
        return IMAGE
    if "prompt" not in call:
        return "it takes no prompt"
    if "Prior" in name:
        return "it produces only the input for a decoder; use the model in the decoder's repository"
    needed = _needed_parameters(call)
    return f"it needs {', '.join(needed)} besides the prompt" if needed else ""


def _needed_parameters(call: Parameters) -> list[str]:
    """Return the names of all required parameters of a call, except the prompt."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [
        name
        for name, parameter in call.items()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind in named
        and name != "prompt"
    ]


def _reason_of_channels(repository: Repository) -> str:
    """Return the reason why a UNet needs an input image, as for inpainting; "" if it does not."""
    channels = repository.config("unet").get("in_channels")
    latents = repository.config("vae").get("latent_channels")
    if channels is None or latents is None or channels == latents:
        return ""
    return (
        f"its UNet takes {channels} channels, but the latents of images have {latents}, because "
        "the pipeline edits an input image"
    )
