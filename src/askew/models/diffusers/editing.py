"""A diffusers pipeline as an editor: text-guided image-to-image (SDEdit, Meng et al. 2022), for
every family that can.

The parts of the pipeline that makes pictures are used again: nothing is loaded twice.
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
from askew.models.diffusers.model import DiffusersModel, Made, PipelineMaker
from askew.models.diffusers.repository import quiet
from askew.models.diffusers.settings import ChosenSettings, call_settings, parameters
from askew.store.imagefile import as_rgb
from askew.types import grouped

with quiet():
    import diffusers
    from diffusers.image_processor import VaeImageProcessor
    from diffusers.pipelines.auto_pipeline import (
        AUTO_IMAGE2IMAGE_PIPELINES_MAPPING,
        _get_task_class,
    )

ABLE = "Stable Diffusion 1, 2, XL and 3, LCM, Flux, Chroma, Qwen-Image, Kandinsky 2.2 and 3, Sana-Sprint"
"""Families whose edits are tested, as a user would know them."""

FURTHER = {
    "SanaSprintPipeline": "SanaSprintImg2ImgPipeline",
    "ChromaPipeline": "ChromaImg2ImgPipeline",
}
"""Image-to-image pipelines that AutoPipelineForImage2Image does not know."""

STEPS = "num_inference_steps"
KANDINSKY_SIDES = 64
"""What sides must be multiples of: Kandinsky would round others up."""


class DiffusersEditor(PipelineMaker[EditRequest]):
    """Edits by the image-to-image pipeline that shares the parts of a model's own pipeline.

    model     the model; its settings hold for editing too, where editing knows them
    settings  those that replace them: num_inference_steps, guidance_scale, negative_prompt, …

    Raises UsageError for a family that has no image-to-image pipeline, or a setting that this has
    not.
    """

    what = "edit"
    smaller = (
        "use -M offload=model on a GPU, smaller pictures, as in --resize 256, or -M dtype=bfloat16"
    )

    def __init__(self, model: DiffusersModel, settings: Mapping[str, Setting]) -> None:
        self._model = model
        self.name = model.name
        self.revision = model.revision
        self.place = model.place
        super().__init__(_editing_class(model), model.batch_size)
        fixed = ("height", "width", "strength")
        known = {name: kind for name, kind in parameters(self._class).items() if name not in fixed}
        inherited = {name: value for name, value in model.settings.items() if name in known}
        self._own = call_settings(known, inherited, settings, f"{self.name}, editing")
        effects = ChosenSettings(
            repository=model.repository,
            known=known,
            chosen=self._own,
            scheduler=model.scheduler,
        )
        effects.check_effects(settings, f"{self.name}, editing")
        kept = {
            name: value
            for name, value in model.settings.items()
            if name in ("scheduler", "variant")
        }
        self.settings: Mapping[str, Setting] = {**self._own, **kept}

    @cached_property
    def pipeline(self) -> Any:
        """The image-to-image pipeline, made of the parts of the model's own."""
        with quiet():
            pipeline = self._class.from_pipe(self._model.pipeline)
            pipeline.set_progress_bar_config(disable=True)
        return pipeline

    def check(self, size: tuple[int, int], strengths: Sequence[float]) -> None:
        """Raises UsageError if pictures of `size` (width, height) or one of the strengths cannot be
        edited.
        """
        multiple = self._multiple()
        if any(length % multiple for length in size):
            fitting = max(min(size) // multiple, 1) * multiple
            raise UsageError(
                f"pictures of {size[0]} x {size[1]} pixels cannot be edited by {self.name}, which takes "
                f"multiples of {multiple}: let them be cropped and resized, as in --resize {fitting}"
            )
        steps = self._own.get(STEPS)
        for strength in strengths:
            if isinstance(steps, int) and int(steps * strength) < 1:
                raise UsageError(
                    f"{self.name}: {steps} steps at strength {strength:g} leave none to edit in; take more, as "
                    f"in --edit-arg {STEPS}={int(1 / strength) + 1}"
                )

    def _multiple(self) -> int:
        """What sides must be multiples of: the factor that pictures are prepared by, and a patch of
        a transformer.
        """
        if not hasattr(self.pipeline, "vae"):
            return KANDINSKY_SIDES
        prepared = int(self.pipeline.image_processor.config.vae_scale_factor)
        patch = getattr(
            getattr(getattr(self.pipeline, "transformer", None), "config", None), "patch_size", 1
        )
        factor = getattr(self.pipeline, "vae_scale_factor", prepared)
        return lcm(prepared, int(factor) * patch) if isinstance(patch, int) else prepared

    def edit(self, requests: Sequence[EditRequest]) -> list[Made]:
        """One RGB picture of the same size, or `Missing("blank_image")`, per request. It depends on
        the request alone. When memory runs out, the batch is halved and tried again. Raises
        ModelError when one edit is too much.
        """
        alike = grouped(
            range(len(requests)), lambda at: (requests[at].strength, requests[at].picture.size)
        )
        found: dict[int, Made] = {}
        for places in alike.values():
            found.update(
                zip(places, self._made([requests[place] for place in places]), strict=True)
            )
        return [found[place] for place in range(len(requests))]

    def _beside(
        self, requests: Sequence[EditRequest]
    ) -> tuple[Mapping[str, Setting], Mapping[str, Any]]:
        width, height = requests[0].picture.size
        settings = {**self._own, "strength": requests[0].strength, "height": height, "width": width}
        return settings, {"image": [as_rgb(request.picture) for request in requests]}

    @torch.inference_mode()
    def encode_decode(self, pictures: Sequence[Image.Image]) -> list[Made]:
        """Every picture as it comes back from the autoencoder: the mean of its latent distribution,
        decoded.
        """
        vae = self.pipeline.vae if hasattr(self.pipeline, "vae") else self.pipeline.movq
        processor = getattr(self.pipeline, "image_processor", None) or VaeImageProcessor()
        unquantized = {"force_not_quantize": True} if isinstance(vae, diffusers.VQModel) else {}
        back: list[Made] = []
        with overflow_safe(vae):
            for picture in pictures:
                pixels = processor.preprocess(as_rgb(picture)).to(
                    self.pipeline._execution_device, vae.dtype
                )
                of_videos = pixels.ndim == 4 and hasattr(
                    vae, "temperal_downsample"
                )  # a picture is one frame
                encoded = vae.encode(pixels[:, :, None] if of_videos else pixels)
                latents = (
                    encoded.latent_dist.mode() if hasattr(encoded, "latent_dist") else encoded[0]
                )
                decoded = vae.decode(latents, return_dict=False, **unquantized)[0]
                decoded = decoded[:, :, 0] if of_videos else decoded
                back += processor.postprocess(decoded.float(), output_type="pil")
                report_images(1)
        return back


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
