"""Text-guided image editing (SDEdit, Meng et al. 2022) with a diffusers image-to-image pipeline.

The editor shares its networks with the text-to-image pipeline, so that nothing is loaded twice.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from inspect import signature
from math import lcm
from typing import Any

import torch
from PIL import Image

from askew.errors import UsageError
from askew.models.base import EditRequest, Setting, report_images
from askew.models.device import overflow_safe
from askew.models.diffusers.model import (
    CallInput,
    DiffusersModel,
    ImageOrMissing,
    PipelineMaker,
)
from askew.models.diffusers.repository import quiet
from askew.models.diffusers.settings import ChosenSettings, call_settings, parameters
from askew.models.pipeline_constants import LEARNED_WORDS, LORA
from askew.store.imagefile import as_rgb
from askew.types import grouped

with quiet():
    import diffusers
    from diffusers.image_processor import VaeImageProcessor
    from diffusers.pipelines.auto_pipeline import (
        AUTO_IMAGE2IMAGE_PIPELINES_MAPPING,
        _get_task_class,
    )

ABLE = (
    "Stable Diffusion 1, 2, XL and 3, LCM, Flux, Chroma, Qwen-Image, Kandinsky 2 and 3, Sana-Sprint"
)
"""Common names of the model families for which askew's tests cover editing."""

FURTHER = {
    "SanaSprintPipeline": "SanaSprintImg2ImgPipeline",
    "ChromaPipeline": "ChromaImg2ImgPipeline",
}
"""Image-to-image pipelines that AutoPipelineForImage2Image does not support."""

STEPS = "num_inference_steps"
FIXED = ("height", "width", "strength")
"""Call parameters of the pipeline whose values differ between edits."""

KANDINSKY_SIDES = 64
"""Width and height must be multiples of this number. Kandinsky would round other sizes up."""


class DiffusersEditor(PipelineMaker[EditRequest]):
    """Editor whose image-to-image pipeline shares the networks of a model's text-to-image pipeline.

    Parameters
    ----------
    model
        The model. The model's settings also apply to edits, if the image-to-image pipeline has
        these settings.
    settings
        Settings that override the model's settings, such as num_inference_steps and guidance_scale.

    Raises
    ------
    UsageError
        If the family has no image-to-image pipeline, or if that pipeline does not have one of
        `settings`.
    """

    product = "edit"
    smaller = (
        "use -M offload=model on a GPU, smaller images (as in --resize 256), or -M dtype=bfloat16"
    )

    def __init__(self, model: DiffusersModel, settings: Mapping[str, Setting]) -> None:
        self._model = model
        self.name = model.name
        self.revision = model.revision
        self.place = model.place
        super().__init__(_editing_class(model), model.batch_size)
        known = {name: kind for name, kind in parameters(self._class).items() if name not in FIXED}
        inherited = {name: value for name, value in model.settings.items() if name in known}
        name = f"{self.name}, editing"
        self._call_settings = call_settings(known, inherited, settings, name)
        effects = ChosenSettings(
            repository=model.repository,
            known=known,
            chosen=self._call_settings,
            scheduler=model.scheduler,
        )
        effects.check_effects(settings, name)
        all_settings = dict(self._call_settings)
        for setting, value in model.settings.items():
            if setting in ("scheduler", "variant", LORA, LEARNED_WORDS):
                all_settings[setting] = value
        self.settings: Mapping[str, Setting] = all_settings

    @cached_property
    def pipeline(self) -> Any:
        """Image-to-image pipeline built from the parts of the model's text-to-image pipeline."""
        with quiet():
            pipeline = self._class.from_pipe(self._model.pipeline)
            pipeline.set_progress_bar_config(disable=True)
        return pipeline

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        """Check that images of this size can be edited at every given strength.

        Parameters
        ----------
        size
            Width and height in pixels.
        strengths
            Strengths in (0, 1].

        Raises
        ------
        UsageError
            If the width or height is not a multiple of the number that the pipeline requires, or
            if a strength is so small that no denoising step is left.
        """
        multiple = self._multiple()
        if any(length % multiple for length in size):
            fitting = max(min(size) // multiple, 1) * multiple
            raise UsageError(
                f"{self.name} cannot edit images of {size[0]} x {size[1]} pixels, because width "
                f"and height must be multiples of {multiple}; crop and resize the images, as in "
                f"--resize {fitting}"
            )
        steps = self._call_settings.get(STEPS)
        for strength in strengths:
            if isinstance(steps, int) and int(steps * strength) < 1:
                raise UsageError(
                    f"{self.name}: with {steps} steps, strength {strength:g} leaves no step for "
                    f"the edit; use more steps, as in --edit-arg {STEPS}={int(1 / strength) + 1}"
                )

    def _multiple(self) -> int:
        """Return the number that must divide an image's width and height.

        This number depends on the downscaling factor from pixels to latents, and on the patch size
        if the network is a transformer.
        """
        if not hasattr(self.pipeline, "vae"):
            return KANDINSKY_SIDES
        prepared = int(self.pipeline.image_processor.config.vae_scale_factor)
        config = getattr(getattr(self.pipeline, "transformer", None), "config", None)
        patch = getattr(config, "patch_size", 1)
        factor = getattr(self.pipeline, "vae_scale_factor", prepared)
        return lcm(prepared, int(factor) * patch) if isinstance(patch, int) else prepared

    def edit(self, requests: Sequence[EditRequest]) -> list[ImageOrMissing]:
        """Return an edited image of the same size as its input, or `Missing`, for each request.

        `Missing("blank_image")` replaces images that the safety checker hid, and images with values
        that are not finite. Each edit depends only on its request. When memory runs out, the editor
        halves the batch and tries again.

        Raises
        ------
        ModelError
            If one edit needs more memory than the device has.
        """
        similar = grouped(
            range(len(requests)),
            lambda place: (requests[place].strength, requests[place].picture.size),
        )
        edits: dict[int, ImageOrMissing] = {}
        for places in similar.values():
            images = self._make([requests[place] for place in places])
            edits.update(zip(places, images, strict=True))
        return [edits[place] for place in range(len(requests))]

    def _call_input(self, requests: Sequence[EditRequest]) -> CallInput:
        width, height = requests[0].picture.size
        return CallInput(
            settings={
                **self._call_settings,
                "strength": requests[0].strength,
                "height": height,
                "width": width,
            },
            others={"image": [as_rgb(request.picture) for request in requests]},
        )

    @torch.inference_mode()
    def encode_decode(self, pictures: Sequence[Image.Image]) -> list[ImageOrMissing]:
        """Return each image after encoding it and decoding the mean of the latent distribution."""
        vae = self.pipeline.vae if hasattr(self.pipeline, "vae") else self.pipeline.movq
        processor = getattr(self.pipeline, "image_processor", None) or VaeImageProcessor()
        decoded: list[ImageOrMissing] = []
        with overflow_safe(vae):
            for picture in pictures:
                pixels = processor.preprocess(as_rgb(picture)).to(
                    self.pipeline._execution_device, vae.dtype
                )
                back = _encode_decode(vae, pixels)
                decoded += processor.postprocess(back.float(), output_type="pil")
                report_images(1)
        return decoded


def _encode_decode(vae: Any, pixels: torch.Tensor) -> torch.Tensor:
    """Encode and decode pixels; a video autoencoder receives them as a single frame."""
    is_of_videos = pixels.ndim == 4 and hasattr(vae, "temperal_downsample")
    encoded = vae.encode(pixels[:, :, None] if is_of_videos else pixels)
    latents = encoded.latent_dist.mode() if hasattr(encoded, "latent_dist") else encoded[0]
    options = {"force_not_quantize": True} if isinstance(vae, diffusers.VQModel) else {}
    decoded: torch.Tensor = vae.decode(latents, return_dict=False, **options)[0]
    return decoded[:, :, 0] if is_of_videos else decoded


def _editing_class(model: DiffusersModel) -> Any:
    """Return the image-to-image pipeline class for a model's family, or raise UsageError."""
    name = model.pipeline_class.__name__
    family = _get_task_class(
        AUTO_IMAGE2IMAGE_PIPELINES_MAPPING, name, throw_error_if_not_exist=False
    )
    family = family or getattr(diffusers, FURTHER.get(name, ""), None)
    if family is None or not _can_edit(family):
        raise UsageError(
            f"{model.name} is a {name}, which has no image-to-image pipeline with a strength and "
            f"an autoencoder. These families can edit: {ABLE}. Use, for example, "
            "askew edit --model diffusers/stable-diffusion-v1-5/stable-diffusion-v1-5"
        )
    return family


def _can_edit(family: Any) -> bool:
    """Check whether a pipeline has the parameter `strength` and an autoencoder."""
    parts = signature(family.__init__).parameters
    return "strength" in parameters(family) and bool({"vae", "movq"} & parts.keys())
