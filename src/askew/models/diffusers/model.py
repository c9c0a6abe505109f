"""A text-to-image pipeline of the diffusers library as a model under audit."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from askew.errors import ModelError
from askew.models.base import Request, Setting
from askew.models.device import AUTO, choose_device, choose_dtype, dtype_name
from askew.models.diffusers.families import BATCHED, MULTIPLES, call_arguments, parameters, pipeline_class
from askew.models.diffusers.loading import all_sources, identity, load
from askew.models.diffusers.noise import global_noise, noise_per_picture
from askew.models.diffusers.pictures import pictures
from askew.models.diffusers.prompt_length import words_cut_off
from askew.models.diffusers.quiet import quiet
from askew.models.diffusers.repository import find_repository
from askew.models.diffusers.settings import batch, call_settings, check_size, fitting, offload_mode, scheduler_class
from askew.models.hub import is_out_of_memory
from askew.models.telling import pictures_made
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

    `watch` looks on while pictures are made, and must not change them; None for nobody.

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
        self._repository = find_repository(str(location), str(revision) or None)
        self._class = pipeline_class(self._repository)
        self._variant = str(variant)
        self._sources = all_sources(self._repository, self._class, self._variant)
        self._call = call_settings(parameters(self._class), defaults or {}, settings, self.name)
        check_size(self._call, MULTIPLES.get(self._class.__name__, 1), self.name)
        self._scheduler = scheduler_class(self._repository, str(scheduler))
        self._device = choose_device(str(device))
        self._dtype = choose_dtype(str(dtype), self._device)
        self._offload = offload_mode(offload, self._device)
        self.revision = identity(self._sources)
        self.batch_size = batch(batch_size, self._device, self.name)
        self.watch: Watch | None = None
        self._at_once = self.batch_size if self._class.__name__ in BATCHED else 1

    @property
    def settings(self) -> Mapping[str, Setting]:
        """All that changes the pictures, but for the weights: what the pipeline is called with, and its scheduler."""
        chosen: dict[str, Setting] = {**self._call}
        if self._scheduler:
            chosen["scheduler"] = self._scheduler.__name__
        if self._variant:
            chosen["variant"] = self._variant
        return chosen

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
        found: type = self._class
        return found

    @cached_property
    def pipeline(self) -> Any:
        """The diffusers pipeline itself, loaded."""
        return load(
            self._sources,
            self._class,
            device=self._device,
            dtype=self._dtype,
            offload=self._offload,
            scheduler=self._scheduler,
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
        return words_cut_off(prompt, self._repository)

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
