"""A text-to-image pipeline of the diffusers library as a model under audit.

One random generator per picture, for its initial noise and for all that a sampler adds later;
pictures, or the reason where there is none.
"""

import gc
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property, lru_cache, wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from diffusers import DiffusionPipeline, SchedulerMixin
from numpy.typing import NDArray
from PIL import Image

from askew.errors import ModelError, UsageError
from askew.models.base import EditRequest, Request, Setting, report_images
from askew.models.device import AUTO, dtype_name
from askew.models.diffusers.loading import DeviceSetup, all_sources, load
from askew.models.diffusers.repository import LIBRARY, find_repository, quiet
from askew.models.diffusers.settings import (
    MULTIPLES,
    ChosenSettings,
    call_arguments,
    call_settings,
    check_size,
    fitting,
    parameters,
    pipeline_class,
    scheduler_class,
)
from askew.models.hub import explain_errors, is_out_of_memory
from askew.models.pipeline_constants import SHORT_PROMPT
from askew.store.imagefile import is_blank
from askew.types import Missing

Watch = Callable[[Any, Sequence[Request]], AbstractContextManager[object]]
"""A context, given the pipeline and what is asked of it, that is entered while the pipeline makes
these pictures.
"""

Made = Image.Image | Missing
R = TypeVar("R", Request, EditRequest)

BATCHED = frozenset(
    "FluxPipeline FluxImg2ImgPipeline KandinskyV22CombinedPipeline PixArtAlphaPipeline PixArtSigmaPipeline "
    "QwenImagePipeline SanaPipeline StableDiffusion3Pipeline StableDiffusion3Img2ImgPipeline StableDiffusionPipeline "
    "StableDiffusionImg2ImgPipeline StableDiffusionXLPipeline StableDiffusionXLImg2ImgPipeline".split()
)
"""Pipelines whose pictures are known not to depend on the rest of their batch; others are made one
at a time.
"""

CLIP = "CLIPTokenizer"
"""Of text encoders that read 77 tokens alone."""
BATCH = {"cuda": 8, "mps": 4, "cpu": 4}


class PipelineMaker(ABC, Generic[R]):
    """What makes pictures with a pipeline, each with noise of its own, as many at once as memory
    allows.

    what     a picture, or an edit
    smaller  what to do where one of them is too much for the memory
    """

    name: str
    what: str
    smaller: str
    place: DeviceSetup

    def __init__(self, family: type, batch_size: int) -> None:
        self._class: Any = family
        self.batch_size = batch_size
        self._at_once = batch_size if family.__name__ in BATCHED else 1

    @property
    def device(self) -> str:
        """Where the pictures are made."""
        return str(self.place.device)

    @property
    def dtype(self) -> str:
        """In which number format they are made."""
        return dtype_name(self.place.dtype)

    @cached_property
    @abstractmethod
    def pipeline(self) -> Any:
        """The diffusers pipeline itself, loaded."""

    @abstractmethod
    def _beside(self, requests: Sequence[R]) -> tuple[Mapping[str, Setting], Mapping[str, Any]]:
        """What the pipeline is called with beside prompts, for requests that one call serves:
        settings, and others.
        """

    def _watched(self, requests: Sequence[R]) -> AbstractContextManager[object]:
        """A context within which it is called."""
        return nullcontext()

    def _made(self, requests: Sequence[R]) -> list[Made]:
        """Pictures of requests that one call could serve. When memory runs out, the batch is halved
        and tried again. Raises ModelError when one picture is too much.
        """
        made: list[Made] = []
        while len(made) < len(requests):
            part = requests[len(made) : len(made) + self._at_once]
            found: list[Made] = []
            try:
                found = self._call(part)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            if not found:  # what failed holds no memory from here on
                if len(part) == 1:
                    one = f"one {self.what} by {self.name}"
                    raise ModelError(
                        f"there is not enough memory on {self.device} for {one}: {self.smaller}"
                    )
                self._at_once = len(part) // 2
                gc.collect()
                if self.place.device.type in ("cuda", "mps"):
                    getattr(torch, self.place.device.type).empty_cache()
            made += found
            report_images(len(found))
        return made

    def _call(self, requests: Sequence[R]) -> list[Made]:
        pipeline, seeds, (settings, others) = (
            self.pipeline,
            [one.seed for one in requests],
            self._beside(requests),
        )
        with (
            quiet(),
            fitting(settings, self.name),
            global_noise(seeds[0], self.place.device) as stray,
            noise_per_picture(pipeline, seeds) as generators,
            self._watched(requests),
        ):
            arguments = call_arguments(
                self._class, [one.prompt for one in requests], generators, settings
            )
            output = pipeline(**arguments, **others)
        if stray.used and len(requests) > 1:
            self._at_once = 1  # it draws noise that no seed of a picture reaches, except alone
            return self._call(requests[:1])
        return pictures(output, len(requests))


class DiffusersModel(PipelineMaker[Request]):
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

    `watch` looks on while pictures are made, and must not change them; `steer` may: a mitigation,
    which is then among the settings. None for nobody.

    The weights are loaded when the first picture, or `pipeline`, is asked for. Raises UsageError
    for what cannot be met, and ModelError where network or memory do not suffice.
    """

    has_pipeline = True
    what = "picture"
    smaller = (
        "use -M offload=model on a GPU, a smaller -M height and -M width, or -M dtype=bfloat16"
    )

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
        family = pipeline_class(self.repository)
        self._variant = str(variant)
        self._sources = all_sources(self.repository, family, self._variant)
        known = parameters(family)
        self._call_settings = call_settings(known, defaults or {}, settings, self.name)
        check_size(self._call_settings, MULTIPLES.get(family.__name__, 1), self.name)
        self.scheduler = scheduler_class(self.repository, str(scheduler))
        effects = ChosenSettings(
            repository=self.repository,
            known=known,
            chosen=self._call_settings,
            scheduler=self.scheduler,
        )
        effects.check_effects(settings, self.name)
        self.place = DeviceSetup.of(str(device), str(dtype), offload)
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 0:
            wanted = "a whole number, 0 to have it chosen"
            raise UsageError(f"{self.name}: batch_size is {batch_size!r}; it must be {wanted}")
        super().__init__(family, batch_size or BATCH[self.place.device.type])
        self.revision = "+".join(source.network.identity for source in self._sources)
        others = {
            "scheduler": self.scheduler.__name__ if self.scheduler else "",
            "variant": self._variant,
        }
        self.settings: Mapping[str, Setting] = {
            **self._call_settings,
            **{k: one for k, one in others.items() if one},
        }
        self.watch: Watch | None = None
        self.steer: Watch | None = None

    @property
    def pipeline_class(self) -> type:
        """The class of the pipeline, known before it is loaded."""
        return self._class  # type: ignore[no-any-return]

    @cached_property
    def pipeline(self) -> Any:
        """The diffusers pipeline itself, loaded."""
        return load(self._sources, self._class, self.place, self.scheduler, self._variant)

    def generate(self, requests: Sequence[Request]) -> list[Made]:
        """One RGB picture per request, or `Missing("blank_image")`; it depends on the request
        alone. As `_made`.
        """
        return self._made(requests)

    def _beside(
        self, requests: Sequence[Request]
    ) -> tuple[Mapping[str, Setting], Mapping[str, Any]]:
        return self._call_settings, {}

    @contextmanager
    def _watched(self, requests: Sequence[Request]) -> Iterator[None]:
        with ExitStack() as stack:
            for enter in filter(None, (self.steer, self.watch)):
                stack.enter_context(enter(self.pipeline, requests))
            yield

    def unknown_words(self, prompt: str) -> list[str]:
        """Words that no text encoder sees, in their order; none if any of them takes prompts of
        other lengths.
        """
        names = [name for name in self.repository.components if "tokenizer" in name]
        kinds = {self.repository.components[name][1].removesuffix("Fast") for name in names}
        if len(prompt) <= SHORT_PROMPT or kinds != {CLIP}:
            return []
        unseen: list[list[str]] = []  # the first cut word of each may be seen in part
        for name in names:
            with explain_errors(self.repository.name, LIBRARY, name):
                tokenizer = _tokenizer(self.repository.network.folder / name)
            ids = tokenizer(prompt, add_special_tokens=False, verbose=False).input_ids
            unseen.append(tokenizer.decode(ids[tokenizer.model_max_length - 2 :]).split())
        return min(unseen, key=len)


@contextmanager
def noise_per_picture(
    pipeline: DiffusionPipeline, seeds: Sequence[int]
) -> Iterator[list[torch.Generator]]:
    """CPU generators, one per picture, to be given to the pipeline; its schedulers draw from them
    too.

    Some pipelines give their generators to the initial noise alone. A scheduler that adds noise at
    every step would then draw it from the global generator, for the whole batch at once.
    """
    generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]

    def with_generators(step: Callable[..., Any]) -> Callable[..., Any]:
        known = inspect.signature(step)

        @wraps(step)
        def fed(*arguments: Any, **named: Any) -> Any:
            bound = known.bind(*arguments, **named)
            bound.arguments["generator"] = bound.arguments.get("generator") or generators
            return step(*bound.args, **bound.kwargs)

        return fed

    fed = [part for part in pipeline.components.values() if _draws_noise(part)]
    for scheduler in fed:
        scheduler.step = with_generators(scheduler.step)
    try:
        yield generators
    finally:
        for scheduler in fed:
            scheduler.__dict__.pop("step", None)


def _draws_noise(part: object) -> bool:
    return (
        isinstance(part, SchedulerMixin) and "generator" in inspect.signature(part.step).parameters
    )


@contextmanager
def global_noise(seed: int, device: torch.device) -> Iterator[SimpleNamespace]:
    """Seeds the global generators, and tells afterwards whether they were `used`; they are then as
    they were before.
    """

    def states() -> list[torch.Tensor]:
        own = (
            [getattr(torch, device.type).get_rng_state()] if device.type in ("cuda", "mps") else []
        )
        return [torch.get_rng_state(), *own]

    noise = SimpleNamespace(used=False)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        before = states()
        try:
            yield noise
        finally:
            noise.used = any(not torch.equal(a, b) for a, b in zip(before, states(), strict=True))


HIDDEN = "the model's own safety checker hid the picture"
NOT_A_NUMBER = (
    "the picture holds values that are no numbers; another dtype, such as float32, may help"
)
FLAT = "the picture shows a single colour"


def pictures(output: Any, count: int) -> list[Made]:
    """One RGB picture, or `Missing("blank_image")`, per request. `output` is what the pipeline
    returned for `count`.
    """
    images = getattr(output, "images", None)
    if images is None or len(images) != count:
        raise ModelError(
            f"the pipeline returned {type(output).__name__} where {count} pictures were asked for"
        )
    flags: Sequence[bool] = getattr(output, "nsfw_content_detected", None) or [False] * count
    made: list[Made] = []
    for image, hidden in zip(images, flags, strict=True):
        fault = HIDDEN if hidden else ""
        if not isinstance(image, Image.Image):
            values: NDArray[np.float32] = np.asarray(image, dtype=np.float32)
            fault = fault or ("" if np.isfinite(values).all() else NOT_A_NUMBER)
            image = Image.fromarray(
                (np.nan_to_num(values).clip(0, 1) * 255).round().astype(np.uint8).squeeze()
            )
        fault = fault or (FLAT if is_blank(image) else "")
        made.append(Missing("blank_image", fault) if fault else image.convert("RGB"))
    return made


@lru_cache(maxsize=4)
def _tokenizer(folder: Path) -> Any:
    from transformers import CLIPTokenizer

    with quiet():
        return CLIPTokenizer.from_pretrained(folder, local_files_only=True)
