"""A text-to-image pipeline of the diffusers library as a model under audit.

From a pipeline's output to pictures, and to the reason where there is none.

Words at the end of a prompt that are cut off, because a CLIP text encoder reads 77 tokens and no more.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from askew.errors import ModelError
from askew.models.base import Request, Setting, pictures_made
from askew.models.device import AUTO, choose_device, choose_dtype, dtype_name
from askew.models.diffusers.components import LIBRARY, quiet
from askew.models.diffusers.families import BATCHED, MULTIPLES, call_arguments, parameters, pipeline_class
from askew.models.diffusers.loading import all_sources, identity, load
from askew.models.diffusers.noise import global_noise, noise_per_picture
from askew.models.diffusers.repository import Repository, find_repository
from askew.models.diffusers.settings import (
    batch,
    call_settings,
    check_heard,
    check_size,
    fitting,
    offload_mode,
    scheduler_class,
)
from askew.models.hub import explained, is_out_of_memory
from askew.store.imagefile import is_blank
from askew.types import Missing

Watch = Callable[[Any, Sequence[Request]], AbstractContextManager[object]]
"""A context, given the pipeline and what is asked of it, that is entered while the pipeline makes these pictures."""

SMALLER = "use -M offload=model on a GPU, a smaller -M height and -M width, or -M dtype=bfloat16"


class DiffusersModel:
    """Pictures by a diffusers pipeline; the same whatever the batch.

    location    a folder, or a repository's ID on the Hugging Face Hub
    name        what the model is called in results; by default diffusers/LOCATION
    defaults    settings that hold unless others are given, such as its makers' recommendations
    revision    branch, tag or commit of a repository
    variant     which weights to take where there are several, such as fp16
    scheduler   class that replaces the model's own, with or without "Scheduler" at its end
    device      auto, cuda, cuda:1, mps or cpu
    dtype       auto, float32, bfloat16 or float16
    offload     none, model or sequential: what waits in main memory while it does not work (on a GPU alone)
    batch_size  pictures made at once; 0 chooses for the device. Halved as often as memory runs out
    settings    whatever else the pipeline takes when it is called: num_inference_steps, guidance_scale,
                negative_prompt, height, width, …

    `watch` looks on while pictures are made, and must not change them; `steer` may: a mitigation, which is then among
    the settings. None for nobody.

    The weights are loaded when the first picture, or `pipeline`, is asked for. Raises UsageError for what cannot be
    met, and ModelError where network or memory do not suffice.
    """

    def __init__(
        self,
        location: str | Path,
        *,
        name: str = "",
        defaults: Mapping[str, Setting] | None = None,
        revision: Setting = "",
        variant: Setting = "",
        scheduler: Setting = "",
        device: Setting = AUTO,
        dtype: Setting = AUTO,
        offload: Setting = "none",
        batch_size: Setting = 0,
        **settings: Setting,
    ) -> None:
        self.name = name or f"diffusers/{location}"
        self.repository = find_repository(str(location), str(revision) or None)
        self._class = pipeline_class(self.repository)
        self._variant = str(variant)
        self._sources = all_sources(self.repository, self._class, self._variant)
        known = parameters(self._class)
        self._call = call_settings(known, defaults or {}, settings, self.name)
        check_size(self._call, MULTIPLES.get(self._class.__name__, 1), self.name)
        self.scheduler = scheduler_class(self.repository, str(scheduler))
        check_heard(self.repository, known, self._call, settings, self.scheduler, self.name)
        self._device = choose_device(str(device))
        self._dtype = choose_dtype(str(dtype), self._device)
        self._offload = offload_mode(offload, self._device)
        self.revision = identity(self._sources)
        self.batch_size = batch(batch_size, self._device, self.name)
        others = {"scheduler": self.scheduler.__name__ if self.scheduler else "", "variant": self._variant}
        self.settings: Mapping[str, Setting] = {**self._call, **{name: one for name, one in others.items() if one}}
        self.watch: Watch | None = None
        self.steer: Watch | None = None
        self._at_once = self.batch_size if self._class.__name__ in BATCHED else 1

    @property
    def device(self) -> str:
        """Where the pictures are made."""
        return str(self._device)

    @property
    def dtype(self) -> str:
        """In which number format they are made."""
        return dtype_name(self._dtype)

    @property
    def pipeline_class(self) -> type:
        """The class of the pipeline, known before it is loaded."""
        return self._class  # type: ignore[no-any-return]

    @cached_property
    def pipeline(self) -> Any:
        """The diffusers pipeline itself, loaded."""
        return load(
            self._sources,
            self._class,
            device=self._device,
            dtype=self._dtype,
            offload=self._offload,
            scheduler=self.scheduler,
            variant=self._variant,
        )

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """One RGB picture per request, or `Missing("blank_image")`. It depends on the request alone.

        When memory runs out, the batch is halved and tried again. Raises ModelError when one picture is too much.
        """
        made: list[Image.Image | Missing] = []
        while len(made) < len(requests):
            part = requests[len(made) : len(made) + self._at_once]
            found = self._try(part)
            if found is None:
                self._halve(len(part))
            else:
                made += found
                pictures_made(len(found))
        return made

    def unknown_words(self, prompt: str) -> list[str]:
        """Words that a text encoder of limited length never sees."""
        return words_cut_off(prompt, self.repository)

    def _try(self, requests: Sequence[Request]) -> list[Image.Image | Missing] | None:
        """The pictures of a part of a batch, or of the first ones of it; None if memory ran out."""
        try:
            return self._make(requests)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return None

    def _make(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        pipeline, seeds = self.pipeline, [request.seed for request in requests]
        prompts = [request.prompt for request in requests]
        with (
            quiet(),
            fitting(self._call, self.name),
            global_noise(seeds[0], self._device) as stray,
            noise_per_picture(pipeline, seeds) as generators,
            self.steer(pipeline, requests) if self.steer else nullcontext(),
            self.watch(pipeline, requests) if self.watch else nullcontext(),
        ):
            output = pipeline(**call_arguments(self._class, prompts, generators, self._call))
        if stray.used and len(requests) > 1:
            self._at_once = 1  # it draws noise that no seed of a picture reaches, except alone
            return self._make(requests[:1])
        return pictures(output, len(requests))

    def _halve(self, tried: int) -> None:
        if tried == 1:
            raise ModelError(f"there is not enough memory on {self.device} for one picture by {self.name}: {SMALLER}")
        self._at_once = tried // 2
        gc.collect()
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        elif self._device.type == "mps":
            torch.mps.empty_cache()


HIDDEN = "the model's own safety checker hid the picture"
NOT_A_NUMBER = "the picture holds values that are no numbers; another dtype, such as float32, may help"
FLAT = "the picture shows a single colour"


def pictures(output: Any, count: int) -> list[Image.Image | Missing]:
    """One RGB picture, or `Missing("blank_image")`, per request. `output` is what the pipeline returned for `count`."""
    images = getattr(output, "images", None)
    if images is None or len(images) != count:
        raise ModelError(f"the pipeline returned {type(output).__name__} where {count} pictures were asked for")
    flags: Sequence[bool] = getattr(output, "nsfw_content_detected", None) or [False] * count
    return [
        Missing("blank_image", HIDDEN) if hidden else _picture(image)
        for image, hidden in zip(images, flags, strict=True)
    ]


def _picture(image: Any) -> Image.Image | Missing:
    if not isinstance(image, Image.Image):
        values: NDArray[np.float32] = np.asarray(image, dtype=np.float32)
        if not np.isfinite(values).all():
            return Missing("blank_image", NOT_A_NUMBER)
        image = Image.fromarray((values.clip(0, 1) * 255).round().astype(np.uint8).squeeze())
    return Missing("blank_image", FLAT) if is_blank(image) else image.convert("RGB")


CLIP = "CLIPTokenizer"
HARMLESS = 75
"""A prompt of so few characters has no more tokens than characters."""


def words_cut_off(prompt: str, repository: Repository) -> list[str]:
    """The words that no text encoder sees, in their order; empty if any of them takes prompts of other lengths."""
    names = [name for name in repository.components if "tokenizer" in name]
    kinds = {repository.components[name][1].removesuffix("Fast") for name in names}
    if len(prompt) <= HARMLESS or kinds != {CLIP}:
        return []
    unseen: list[list[str]] = []  # the first cut word of each may be seen in part
    for name in names:
        with explained(repository.name, LIBRARY, name):
            tokenizer = _tokenizer(repository.network.folder / name)
        ids = tokenizer(prompt, add_special_tokens=False, verbose=False).input_ids
        unseen.append(tokenizer.decode(ids[tokenizer.model_max_length - 2 :]).split())
    return min(unseen, key=len)


@lru_cache(maxsize=4)
def _tokenizer(folder: Path) -> Any:
    from transformers import CLIPTokenizer

    with quiet():
        return CLIPTokenizer.from_pretrained(folder, local_files_only=True)
