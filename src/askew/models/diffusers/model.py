"""Text-to-image model that askew can audit, based on a pipeline from the diffusers library.

Each image has its own random generator, which supplies the initial noise and any noise that a
sampler adds later.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial, wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from diffusers import DiffusionPipeline, SchedulerMixin
from numpy.typing import NDArray
from PIL import Image

from askew.errors import ModelError, UsageError
from askew.messages import report_message
from askew.models.base import EditRequest, Request, Setting, report_images
from askew.models.device import AUTO, dtype_name, free_memory
from askew.models.diffusers.adapters import Adapters
from askew.models.diffusers.encoder_input import EncoderInput, encoders_by_tokenizer
from askew.models.diffusers.families import call_signature, pipeline_class
from askew.models.diffusers.loading import DeviceSetup, all_sources, load
from askew.models.diffusers.recommended import distilled_word, recommended_settings
from askew.models.diffusers.repository import LIBRARY, find_repository, quiet
from askew.models.diffusers.settings import (
    MULTIPLES,
    ChosenSettings,
    Parameter,
    call_arguments,
    call_settings,
    check_size,
    fitting,
    parameters,
    scheduler_class,
)
from askew.models.diffusers.text_limits import TextLimit, text_limits
from askew.models.diffusers.weights import TOKEN_EMBEDDINGS, find_weight
from askew.models.hub import explain_errors, is_out_of_memory
from askew.models.pipeline_constants import SHORT_PROMPT
from askew.types import Missing

Watch = Callable[[Any, Sequence[Request]], AbstractContextManager[object]]
"""Function that takes the pipeline and a batch of requests, and returns a context manager.

The context is active while the pipeline makes the images for these requests.
"""

ImageOrMissing = Image.Image | Missing
R = TypeVar("R", Request, EditRequest)

BATCHED = frozenset(
    (
        "FluxPipeline",
        "FluxImg2ImgPipeline",
        "KandinskyV22CombinedPipeline",
        "PixArtAlphaPipeline",
        "PixArtSigmaPipeline",
        "QwenImagePipeline",
        "SanaPipeline",
        "StableDiffusion3Pipeline",
        "StableDiffusion3Img2ImgPipeline",
        "StableDiffusionPipeline",
        "StableDiffusionImg2ImgPipeline",
        "StableDiffusionXLPipeline",
        "StableDiffusionXLImg2ImgPipeline",
    )
)
"""Pipelines in which an image does not depend on the other images in its batch.

Other pipelines generate one image at a time.
"""

LEFT_ON_DEVICE = BATCHED - {"KandinskyV22CombinedPipeline"}
"""Pipelines whose images are rounded to 8 bits on the device, so that less data is transferred.

Kandinsky is not in this set, because its decoder returns tensors that are not scaled to [0, 1].
"""

BATCH = {"cuda": 8, "mps": 4, "cpu": 4}
"""Default number of images that a pipeline generates at a time on each kind of device."""

OF_PIPELINE: Mapping[str, Setting] = {}
"""Empty settings, which leave all of the pipeline's defaults unchanged."""

DISTILLED_SETTINGS = ("num_inference_steps", "guidance_scale")
"""Settings for which a distilled model needs values other than the pipeline's defaults."""

HIDDEN = "the model's own safety checker hid the image"
NOT_A_NUMBER = "the image contains values that are not numbers (NaN); try -M dtype=float32"


@dataclass(frozen=True, slots=True)
class CallInput:
    """Arguments of one call to a pipeline, except prompts and generators.

    Attributes
    ----------
    settings
        Settings for the call.
    others
        Further arguments, such as images.
    """

    settings: Mapping[str, Setting]
    others: Mapping[str, Any]


class PipelineMaker(ABC, Generic[R]):
    """Base class for models and editors that run a pipeline in batches that fit into memory.

    Each image has its own noise.

    Attributes
    ----------
    product
        Word for the pipeline's output: "image" or "edit".
    smaller
        Advice for users when one image or edit needs too much memory.
    """

    name: str
    product: str
    smaller: str
    place: DeviceSetup

    def __init__(self, family: type, batch_size: int) -> None:
        self._class: Any = family
        self.batch_size = batch_size
        self._at_once = batch_size if family.__name__ in BATCHED else 1

    @property
    def device(self) -> str:
        """Device on which the pipeline generates images."""
        return str(self.place.device)

    @property
    def dtype(self) -> str:
        """Number format of the pipeline's networks."""
        return dtype_name(self.place.dtype)

    @cached_property
    @abstractmethod
    def pipeline(self) -> Any:
        """Loaded diffusers pipeline."""

    @abstractmethod
    def _call_input(self, requests: Sequence[R]) -> CallInput:
        """Return the arguments, except prompts, of one call that serves all requests."""

    def _watched(self, requests: Sequence[R]) -> AbstractContextManager[object]:
        """Return the context manager in which the pipeline is called."""
        return nullcontext()

    def _make(self, requests: Sequence[R]) -> list[ImageOrMissing]:
        """Generate images for requests that could be served by a single pipeline call.

        If memory runs out, the method halves the batch and tries again. The method raises
        ModelError if a single image needs too much memory.
        """
        images: list[ImageOrMissing] = []
        while len(images) < len(requests):
            part = requests[len(images) : len(images) + self._at_once]
            batch: list[ImageOrMissing] = []
            try:
                batch = self._call(part)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            # Outside of the handler, the failed call no longer occupies memory.
            if not batch:
                self._halve_batch(len(part))
            images += batch
            report_images(len(batch))
        return images

    def _halve_batch(self, size: int) -> None:
        """Halve the batch size after a batch of `size` requests needed too much memory."""
        if size == 1:
            raise ModelError(
                f"{self.name} needs more memory for one {self.product} than {self.device} has: "
                f"{self.smaller}"
            )
        self._at_once = size // 2
        free_memory(self.place.device)

    def _call(self, requests: Sequence[R]) -> list[ImageOrMissing]:
        """Call the pipeline once, and return its images.

        Some pipelines draw noise from the global generator instead of the images' own generators.
        In this case, this method returns only the image for the first request, and from then on,
        the pipeline generates one image at a time.
        """
        pipeline = self.pipeline
        seeds = [request.seed for request in requests]
        call = self._call_input(requests)
        with (
            quiet(),
            fitting(call.settings, self.name),
            global_noise(seeds[0], self.place.device) as stray,
            noise_per_picture(pipeline, seeds) as generators,
            self._watched(requests),
        ):
            prompts = [request.prompt for request in requests]
            kind = "pt" if self._class.__name__ in LEFT_ON_DEVICE else "np"
            arguments = call_arguments(self._class, prompts, generators, call.settings, kind)
            output = pipeline(**arguments, **call.others)
        if stray.used and len(requests) > 1:
            self._at_once = 1
            return self._call(requests[:1])
        return pictures(output, len(requests))


class DiffusersModel(PipelineMaker[Request]):
    """Model that generates images with a diffusers pipeline.

    An image does not depend on the other images in its batch.

    The weights are loaded when the first image is requested or `pipeline` is accessed.

    Parameters
    ----------
    location
        A folder, a repository's ID on the Hugging Face Hub, or a single checkpoint file.
    name
        Name of the model in results. By default diffusers/LOCATION.
    defaults
        Settings that replace the pipeline's own defaults. If None, askew uses the settings that the
        developers of the model recommend. See `recommended_settings`.
    revision
        Branch, tag or commit of a repository.
    variant
        Variant of the weights, such as fp16, if the repository has several.
    scheduler
        Name of the class that replaces the model's scheduler. The ending "Scheduler" is optional.
    device
        auto, cuda, cuda:1, mps or cpu.
    dtype
        auto, float32, bfloat16 or float16.
    offload
        Parts of the pipeline that are moved to main memory while the GPU does not need them: none,
        model (whole networks) or sequential (parts of networks).
    batch_size
        Number of images that the pipeline generates at a time. If 0, askew chooses a number that
        suits the device. When memory runs out, askew halves this number.
    config
        For a single file: folder or ID of a pipeline with the same layout. By default, askew
        recognizes the layout by the names of the weights.
    lora
        LoRA weights to add, as "PATH:WEIGHT,PATH:WEIGHT".
    textual_inversion
        Learned words, as "PATH:WORD,PATH:WORD".
    **settings
        Other parameters of the pipeline's call: num_inference_steps, guidance_scale,
        negative_prompt, height, width, …

    Attributes
    ----------
    watch, steer
        Functions that return a context manager, which is active while the pipeline generates
        images; None for no function. `watch` must not change the images. `steer` may change the
        images, as a mitigation does; `settings` must then contain the mitigation.

    Raises
    ------
    UsageError
        If a setting cannot be used, or if the pipeline does not exist or is incomplete.
    ModelError
        If the download fails, or if there is not enough memory.
    """

    has_pipeline = True
    cuts_prompts = True
    product = "image"
    smaller = (
        "use -M offload=model on a GPU, a smaller -M height and -M width, or -M dtype=bfloat16"
    )

    def __init__(
        self,
        location: str | Path,
        *,
        name: str = "",
        defaults: Mapping[str, Setting] | None = OF_PIPELINE,
        revision: Setting = "",
        variant: Setting = "",
        scheduler: Setting = "",
        device: Setting = AUTO,
        dtype: Setting = AUTO,
        offload: Setting = "none",
        batch_size: Setting = 0,
        config: Setting = "",
        lora: Setting = "",
        textual_inversion: Setting = "",
        **settings: Setting,
    ) -> None:
        self.name = name or f"diffusers/{location}"
        self.repository = find_repository(str(location), str(revision) or None, str(config))
        family = pipeline_class(self.repository)
        self._variant = str(variant)
        self._sources = all_sources(self.repository, family, self._variant)
        known = parameters(family)
        if defaults is None:
            defaults = recommended_settings(str(config or location), self.repository.network.folder)
            _report_unknown_recommendation(self.name, {**defaults, **settings}, known)
        self._call_settings = call_settings(known, defaults, settings, self.name)
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
        self._adapters = Adapters.of(str(lora), str(textual_inversion), family, self.name)
        super().__init__(family, self._check_batch_size(batch_size))
        self.revision = "+".join(source.network.identity for source in self._sources)
        all_settings = dict(self._call_settings)
        if self.scheduler:
            all_settings["scheduler"] = self.scheduler.__name__
        if self._variant:
            all_settings["variant"] = self._variant
        all_settings |= self._adapters.settings
        self.settings: Mapping[str, Setting] = all_settings
        self.watch: Watch | None = None
        self.steer: Watch | None = None

    def _check_batch_size(self, batch_size: Setting) -> int:
        """Return the user's batch size; if it is 0, return a size that suits the device."""
        is_number = isinstance(batch_size, int) and not isinstance(batch_size, bool)
        if not is_number or int(batch_size) < 0:
            raise UsageError(
                f"{self.name}: batch_size is {batch_size!r}; it must be a whole number, or 0 to "
                "let askew choose"
            )
        return int(batch_size) or BATCH[self.place.device.type]

    @property
    def pipeline_class(self) -> type:
        """The class of the pipeline, which is known before the pipeline is loaded."""
        return self._class  # type: ignore[no-any-return]

    @cached_property
    def pipeline(self) -> Any:
        """Loaded diffusers pipeline."""
        return load(
            self._sources,
            self._class,
            self.place,
            self.scheduler,
            self._variant,
            partial(self._adapters.apply, name=self.name),
        )

    @property
    def encoder_is_here(self) -> bool:
        """True if the weights of the text encoder are on this machine."""
        repository = self.repository
        if repository.single_file is not None:
            return True
        return repository.network.is_here(repository.weights("text_encoder", self._variant))

    def token_embeddings(self) -> torch.Tensor | None:
        """Return the CLIP text encoder's token embeddings, an array of shape (tokens, width).

        The embeddings are read from the weight files, without loading the pipeline. None if the
        text encoder is not a CLIP text encoder.
        """
        repository = self.repository
        if repository.single_file is not None:
            files = [repository.single_file]
        else:
            names = repository.weights("text_encoder", self._variant)
            folder = repository.network.fetch(names)
            files = [folder / name for name in names]
        with explain_errors(self.name, LIBRARY, "text_encoder"):
            rows = find_weight(files, TOKEN_EMBEDDINGS)
        return None if rows is None else rows.to(self.place.dtype)

    def generate(self, requests: Sequence[Request]) -> list[ImageOrMissing]:
        """Return an RGB image for each request.

        Each image depends only on its request. `Missing("blank_image")` replaces images that the
        safety checker hid, and images with values that are not finite. `encode` later detects
        single-color images.

        Raises
        ------
        ModelError
            If one image needs more memory than the device has.
        """
        return self._make(requests)

    def _call_input(self, requests: Sequence[Request]) -> CallInput:
        return CallInput(settings=self._call_settings, others={})

    @contextmanager
    def _watched(self, requests: Sequence[Request]) -> Iterator[None]:
        with ExitStack() as stack:
            for enter in (self.steer, self.watch):
                if enter is not None:
                    stack.enter_context(enter(self.pipeline, requests))
            yield

    def unknown_words(self, prompt: str) -> list[str]:
        """Return the words that every text encoder cuts off from the end of a prompt, in order.

        Text encoders cut off the end of long prompts. The list is empty if askew cannot determine
        which tokens the text encoders receive.
        """
        if len(prompt) <= SHORT_PROMPT:
            return []
        tokenizers = text_limits(
            self.repository, self._call_settings, call_signature(self.pipeline_class)
        )
        if tokenizers:
            return min((self._cut_words(prompt, limit) for limit in tokenizers), key=len)
        return [] if self._encoder_input is None else self._encoder_input.cut_words(prompt)

    @cached_property
    def _encoder_input(self) -> EncoderInput | None:
        """Input of the pipeline's text encoders; None if the input cannot be determined."""
        pairs = encoders_by_tokenizer(self.repository)
        if not pairs:
            return None
        kinds = {name: self.repository.components[name][1] for name in pairs.values()}
        try:
            return EncoderInput(
                self.pipeline_class,
                tokenizers={name: self._tokenizer(name) for name in pairs},
                encoders=kinds,
                settings=self._call_settings,
                call=call_signature(self.pipeline_class),
            )
        except (AttributeError, TypeError):  # some pipelines cannot be built without networks
            return None

    def _tokenizer(self, component: str) -> Any:
        """Return a tokenizer of the pipeline."""
        with explain_errors(self.repository.name, LIBRARY, component):
            folder = self.repository.network.folder / component
            return _tokenizer(self.repository.kind(component), folder)

    def _cut_words(self, prompt: str, limit: TextLimit) -> list[str]:
        """Return the words that a tokenizer cuts off.

        The first item may contain only the end of a word.
        """
        tokenizer = self._tokenizer(limit.tokenizer)
        ids = tokenizer(prompt, add_special_tokens=False, verbose=False).input_ids
        most = limit.tokens if limit.tokens is not None else tokenizer.model_max_length
        words: list[str] = tokenizer.decode(ids[most - limit.special :]).split()
        return words


def _report_unknown_recommendation(
    name: str, chosen: Mapping[str, Setting], known: Mapping[str, Parameter]
) -> None:
    """Warn if a model's name suggests distillation, but the pipeline's defaults would be used."""
    word = distilled_word(name)
    usual = {setting: known[setting].default for setting in DISTILLED_SETTINGS if setting in known}
    if word and usual and not chosen.keys() & usual.keys():
        listed = " and ".join(f"{setting}={value}" for setting, value in usual.items())
        report_message(
            f"the name {name} contains {word!r}, which suggests a distilled model, but askew does "
            f"not know the settings that the model's developers recommend. askew uses {listed}. "
            "Look up the recommended settings on the model's page, and set -M num_inference_steps"
        )


@contextmanager
def noise_per_picture(
    pipeline: DiffusionPipeline, seeds: Sequence[int]
) -> Iterator[list[torch.Generator]]:
    """Yield one CPU generator per image, and make the pipeline's schedulers draw from them.

    Some pipelines use the images' generators only for the initial noise. A scheduler that adds
    noise at every step would then draw the noise for all images in the batch from the global
    generator.
    """
    generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]

    def with_generators(step: Callable[..., Any]) -> Callable[..., Any]:
        known = inspect.signature(step)

        @wraps(step)
        def step_with_generators(*arguments: Any, **named: Any) -> Any:
            bound = known.bind(*arguments, **named)
            bound.arguments["generator"] = bound.arguments.get("generator") or generators
            return step(*bound.args, **bound.kwargs)

        return step_with_generators

    schedulers = [part for part in pipeline.components.values() if _draws_noise(part)]
    for scheduler in schedulers:
        scheduler.step = with_generators(scheduler.step)
    try:
        yield generators
    finally:
        for scheduler in schedulers:
            scheduler.__dict__.pop("step", None)


def _draws_noise(part: object) -> bool:
    """Check whether a pipeline component is a scheduler that can draw noise in its steps."""
    return (
        isinstance(part, SchedulerMixin) and "generator" in inspect.signature(part.step).parameters
    )


@contextmanager
def global_noise(seed: int, device: torch.device) -> Iterator[SimpleNamespace]:
    """Seed the global generators in this context, and restore their states at the end.

    When the context ends, the attribute `used` of the yielded object is set to true if random
    numbers were drawn from these generators.
    """
    noise = SimpleNamespace(used=False)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        before = _generator_states(device)
        try:
            yield noise
        finally:
            after = _generator_states(device)
            noise.used = any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def _generator_states(device: torch.device) -> list[torch.Tensor]:
    """Return the states of the CPU's global generator and of the device's generator, if any."""
    states = [torch.get_rng_state()]
    if device.type in ("cuda", "mps"):
        states.append(getattr(torch, device.type).get_rng_state())
    return states


def pictures(output: Any, count: int) -> list[ImageOrMissing]:
    """Return an RGB image, or `Missing("blank_image")`, for each request.

    Single-color images are not marked as missing here. `encode` detects them when askew stores the
    images.

    Parameters
    ----------
    output
        Result of a pipeline's call.
    count
        Number of requests in the call.

    Raises
    ------
    ModelError
        If the pipeline did not return `count` images.
    """
    images = getattr(output, "images", None)
    if images is None:
        images = getattr(output, "image", None)
    if images is None or len(images) != count:
        raise ModelError(f"the pipeline returned {type(output).__name__} instead of {count} images")
    if isinstance(images, torch.Tensor):
        images = _rounded(images)
    # IFPipeline has a name of its own.
    names = ("nsfw_content_detected", "nsfw_detected")
    hidden_by = [getattr(output, name, None) for name in names]
    hidden: Sequence[bool] = next(filter(None, hidden_by), [False] * count)
    return [
        _checked_image(image, is_hidden) for image, is_hidden in zip(images, hidden, strict=True)
    ]


def _rounded(images: torch.Tensor) -> list[NDArray[np.uint8] | None]:
    """Convert a tensor of images with values in [0, 1] to arrays with 8 bits per channel.

    The tensor has the shape (images, channels, height, width), and is rounded on its device. An
    image that contains a non-finite value becomes None.
    """
    finite = torch.isfinite(images).flatten(start_dim=1).all(dim=1).tolist()
    scaled = (images.float().clamp(0, 1) * 255).round().to(torch.uint8)
    pixels = scaled.permute(0, 2, 3, 1).cpu().numpy()
    return [image if is_finite else None for image, is_finite in zip(pixels, finite, strict=True)]


def _checked_image(image: Any, is_hidden: bool) -> ImageOrMissing:
    """Convert an image or array to an RGB image, or return the reason why it cannot be used."""
    if is_hidden:
        return Missing("blank_image", HIDDEN)
    if image is None:
        return Missing("blank_image", NOT_A_NUMBER)
    if isinstance(image, np.ndarray) and image.dtype == np.uint8:
        image = Image.fromarray(image.squeeze())
    if not isinstance(image, Image.Image):
        values: NDArray[np.float32] = np.asarray(image, dtype=np.float32)
        if not np.isfinite(values).all():
            return Missing("blank_image", NOT_A_NUMBER)
        image = Image.fromarray((values.clip(0, 1) * 255).round().astype(np.uint8).squeeze())
    converted: Image.Image = image.convert("RGB")
    return converted


@lru_cache(maxsize=4)
def _tokenizer(kind: Any, folder: Path) -> Any:
    """Load a tokenizer of the class `kind` from a folder."""
    with quiet():
        return kind.from_pretrained(folder, local_files_only=True)
