"""A diffusers pipeline as an editor: text-guided image-to-image (SDEdit, Meng et al. 2022), for every family that can.

The parts of the pipeline that makes pictures are used again: nothing is loaded twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from inspect import signature
from math import lcm
from typing import Any

import torch
from PIL import Image

from askew.errors import ModelError, UsageError
from askew.models.base import Setting, pictures_made
from askew.models.diffusers.components import quiet
from askew.models.diffusers.families import call_arguments, parameters
from askew.models.diffusers.model import DiffusersModel, pictures
from askew.models.diffusers.noise import global_noise, noise_per_picture
from askew.models.diffusers.settings import call_settings, check_heard, fitting
from askew.models.editing import EditRequest
from askew.models.hub import is_out_of_memory
from askew.store.imagefile import as_rgb
from askew.types import Missing

with quiet():
    import diffusers
    from diffusers.image_processor import VaeImageProcessor
    from diffusers.pipelines.auto_pipeline import AUTO_IMAGE2IMAGE_PIPELINES_MAPPING, _get_task_class

BATCHED = frozenset(
    "StableDiffusionImg2ImgPipeline StableDiffusionXLImg2ImgPipeline StableDiffusion3Img2ImgPipeline "
    "FluxImg2ImgPipeline".split()
)
"""Families whose edits are known not to depend on the rest of their batch; others are made one at a time."""

ABLE = "Stable Diffusion 1, 2, XL and 3, LCM, Flux, Qwen-Image, Kandinsky 2.2 and 3, Sana-Sprint"
"""Families whose edits are tested, as a user would know them."""

FURTHER = {"SanaSprintPipeline": "SanaSprintImg2ImgPipeline"}
"""Image-to-image pipelines that AutoPipelineForImage2Image does not know."""

OF_SIZE = ("height", "width")
STEPS = "num_inference_steps"
KANDINSKY_SIDES = 64
"""What sides must be multiples of: Kandinsky would round others up."""


class DiffusersEditor:
    """Edits by the image-to-image pipeline that shares the parts of a model's own pipeline.

    model     the model; its settings hold for editing too, where editing knows them
    settings  those that replace them: num_inference_steps, guidance_scale, negative_prompt, …

    Raises UsageError for a family that has no image-to-image pipeline, or a setting that this has not.
    """

    def __init__(self, model: DiffusersModel, settings: Mapping[str, Setting]) -> None:
        self._model, self._given = model, dict(settings)
        self.name, self.revision, self.batch_size = model.name, model.revision, model.batch_size
        self._class = _editing_class(model)
        known = {name: kind for name, kind in parameters(self._class).items() if name not in (*OF_SIZE, "strength")}
        inherited = {name: value for name, value in model.settings.items() if name in known}
        self._call = call_settings(known, inherited, settings, f"{self.name}, editing")
        own: DiffusersModel = getattr(model, "network", model)
        check_heard(own.repository, known, self._call, settings, own.scheduler, f"{self.name}, editing")
        kept = {name: value for name, value in model.settings.items() if name in ("scheduler", "variant")}
        self.settings: Mapping[str, Setting] = {**self._call, **kept}
        self._at_once = self.batch_size if self._class.__name__ in BATCHED else 1

    def __reduce__(self) -> tuple[Any, ...]:
        """By what it was made of: the pipeline stays behind."""
        return type(self), (self._model, self._given)

    @property
    def device(self) -> str:
        """Where the edits are made."""
        return self._model.device

    @property
    def dtype(self) -> str:
        """In which number format they are made."""
        return self._model.dtype

    @cached_property
    def pipeline(self) -> Any:
        """The image-to-image pipeline, made of the parts of the model's own."""
        with quiet():
            pipeline = self._class.from_pipe(self._model.pipeline)
            pipeline.set_progress_bar_config(disable=True)
        return pipeline

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        """Raises UsageError if pictures of `size` (width, height) or one of the strengths cannot be edited."""
        multiple = self._multiple()
        if any(length % multiple for length in size):
            fitting = max(min(size) // multiple, 1) * multiple
            raise UsageError(
                f"pictures of {size[0]} x {size[1]} pixels cannot be edited by {self.name}, which takes multiples of "
                f"{multiple}: let them be cropped and resized, as in --side {fitting}"
            )
        steps = self._call.get(STEPS)
        for strength in strengths:
            if isinstance(steps, int) and int(steps * strength) < 1:
                raise UsageError(
                    f"{self.name}: {steps} steps at strength {strength:g} leave none to edit in; take more, as in "
                    f"--edit-arg {STEPS}={int(1 / strength) + 1}"
                )

    def _multiple(self) -> int:
        """What sides must be multiples of: the factor that pictures are prepared by, and a patch of a transformer."""
        if not hasattr(self.pipeline, "vae"):
            return KANDINSKY_SIDES
        prepared = int(self.pipeline.image_processor.config.vae_scale_factor)
        patch = getattr(getattr(getattr(self.pipeline, "transformer", None), "config", None), "patch_size", 1)
        factor = getattr(self.pipeline, "vae_scale_factor", prepared)
        return lcm(prepared, int(factor) * patch) if isinstance(patch, int) else prepared

    def edit(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        """One RGB picture of the same size, or `Missing("blank_image")`, per request. It depends on the request alone.

        Raises ModelError when memory runs out.
        """
        found: dict[int, Image.Image | Missing] = {}
        for places in _alike(requests, self._at_once):
            made = self._made([requests[place] for place in places])
            found.update(zip(places, made, strict=True))
            pictures_made(len(made))
        return [found[place] for place in range(len(requests))]

    @torch.inference_mode()
    def encode_decode(self, pictures: Sequence[Image.Image]) -> list[Image.Image | Missing]:
        """Every picture as it comes back from the autoencoder: the mean of its latent distribution, decoded."""
        vae = self.pipeline.vae if hasattr(self.pipeline, "vae") else self.pipeline.movq
        processor = getattr(self.pipeline, "image_processor", None) or VaeImageProcessor()
        unquantized = {"force_not_quantize": True} if isinstance(vae, diffusers.VQModel) else {}
        exact = getattr(vae.config, "force_upcast", False) and vae.dtype == torch.float16
        dtype = vae.dtype
        if exact:  # it overflows in half precision
            vae.to(dtype=torch.float32)
        back: list[Image.Image | Missing] = []
        for picture in pictures:
            pixels = processor.preprocess(as_rgb(picture)).to(self.pipeline._execution_device, vae.dtype)
            of_videos = pixels.ndim == 4 and hasattr(vae, "temperal_downsample")  # a picture is one frame
            encoded = vae.encode(pixels[:, :, None] if of_videos else pixels)
            latents = encoded.latent_dist.mode() if hasattr(encoded, "latent_dist") else encoded[0]
            decoded = vae.decode(latents, return_dict=False, **unquantized)[0]
            decoded = decoded[:, :, 0] if of_videos else decoded
            back += processor.postprocess(decoded.float(), output_type="pil")
            pictures_made(1)
        if exact:
            vae.to(dtype=dtype)
        return back

    def _made(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        try:
            return self._try(requests)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise ModelError(
                f"there is not enough memory on {self.device} for {len(requests)} edits at once by {self.name}: use a "
                f"smaller batch, as in -M batch_size=1"
            ) from error

    def _try(self, requests: Sequence[EditRequest]) -> list[Image.Image | Missing]:
        seeds = [request.seed for request in requests]
        width, height = requests[0].picture.size
        settings = {**self._call, "strength": requests[0].strength, "height": height, "width": width}
        with (
            quiet(),
            fitting(settings, f"{self.name}, editing"),
            global_noise(seeds[0], torch.device(self.device)) as stray,
            noise_per_picture(self.pipeline, seeds) as generators,
        ):
            arguments = call_arguments(self._class, [request.prompt for request in requests], generators, settings)
            output = self.pipeline(**arguments, image=[as_rgb(request.picture) for request in requests])
        if stray.used and len(requests) > 1:
            self._at_once = 1  # it draws noise that no seed of an edit reaches, except alone
            return [picture for request in requests for picture in self._try([request])]
        return pictures(output, len(requests))


def _editing_class(model: DiffusersModel) -> Any:
    """The image-to-image pipeline of a model's family. Raises UsageError if it has none that fits."""
    own = model.pipeline_class.__name__
    found = _get_task_class(AUTO_IMAGE2IMAGE_PIPELINES_MAPPING, own, throw_error_if_not_exist=False)
    found = found or getattr(diffusers, FURTHER.get(own, ""), None)
    takes = signature(found.__init__).parameters if found else {}
    if found is None or "strength" not in parameters(found) or not {"vae", "movq"} & takes.keys():
        raise UsageError(
            f"{model.name} is a {own}, which has no image-to-image pipeline with a strength and an autoencoder; "
            f"families that have: {ABLE}. As in: askew edit --model diffusers/stable-diffusion-v1-5/"
            f"stable-diffusion-v1-5"
        )
    return found


def _alike(requests: Sequence[EditRequest], at_once: int) -> list[list[int]]:
    """Places of requests that one call can serve: of the same strength and size, at most `at_once`."""
    groups: dict[tuple[float, tuple[int, int]], list[int]] = {}
    for place, request in enumerate(requests):
        groups.setdefault((request.strength, request.picture.size), []).append(place)
    return [places[start : start + at_once] for places in groups.values() for start in range(0, len(places), at_once)]
