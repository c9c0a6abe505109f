"""Base class of mitigations.

A mitigation is stored as a TOML file and wraps a model. Every command that measures a model can
also measure the mitigated model.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import tomli_w
from PIL import Image
from pydantic import Field, model_validator

from askew import registry
from askew.errors import UsageError
from askew.models.base import MITIGATION_SETTING, Collection, Model, Request, Setting
from askew.plan import PlanPart, parse_toml
from askew.store.files import digest_of, read_text
from askew.types import Missing

DIGEST = "digest"
"""Key of the digest in a mitigation file. Files that are written by hand need no digest."""

TOLERANCE = 1e-6
"""Maximum permitted rounding error in a sum of shares that should be 1."""


class Mitigation(PlanPart):
    """A change to a model that is intended to reduce the model's bias.

    Each technique is a subclass. The name of its entry point in the group `askew.mitigations` is
    `method`.

    Attributes
    ----------
    method
        Name of the entry point.
    targets
        For each axis, the target share of each value. The mapping is empty if the technique has no
        target shares.
    repeatable
        True if several mitigations that use this technique can change the same model.
    """

    repeatable: ClassVar[bool] = False
    method: str
    targets: dict[str, dict[str, float]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_targets(self) -> "Mitigation":
        for axis, shares in self.targets.items():
            if len(shares) < 2:
                raise ValueError(
                    f"the target shares of {axis!r} contain only {len(shares)} value; "
                    "give shares of at least two values"
                )
            total = sum(shares.values())
            if min(shares.values()) < 0 or abs(total - 1) > TOLERANCE:
                raise ValueError(
                    f"the target shares of {axis!r} sum to {total:g}; "
                    "shares must be at least 0 and sum to 1"
                )
        return self

    @property
    def cost(self) -> float:
        """Number of network evaluations per image, relative to an unmitigated model."""
        return 1.0

    def wrap(self, model: Model) -> Model:
        """Return the mitigated model. Mitigations that were already applied to the model are kept.

        Raises
        ------
        UsageError
            If the technique cannot be applied to this model, or cannot be combined with the model's
            mitigations. The message names both techniques.
        """
        if isinstance(model, MitigatedModel):
            return MitigatedModel(model.stack.with_mitigation(self), model.model)
        return MitigatedModel(MitigationStack((self,)), model)

    def apply(self, pipeline: Any) -> "MitigatedPipeline":
        """Return a pipeline that generates mitigated images and is called like the original.

        Raises
        ------
        UsageError
            If the technique cannot be combined with the pipeline's other mitigations.
        """
        if isinstance(pipeline, MitigatedPipeline):
            return MitigatedPipeline(pipeline.stack.with_mitigation(self), pipeline.pipeline)
        return MitigatedPipeline(MitigationStack((self,)), pipeline)

    @property
    def requested_axes(self) -> set[str]:
        """Names of the axes for which the mitigation requests a value in each image."""
        return set()

    def conflict_with(self, other: "Mitigation") -> str | None:
        """Return the reason why this and another mitigation cannot change the same model, if any.

        Parameters
        ----------
        other
            A mitigation that was already applied to the model.

        Returns
        -------
        str or None
            Reason and remedy, as clauses of a sentence.
        """
        if self.method == other.method and not self.repeatable:
            return "a model can have only one mitigation with this technique; omit the other files"
        axes = sorted(self.requested_axes & other.requested_axes)
        if not axes:
            return None
        return (
            f"both mitigations request values of {', '.join(axes)}, and the requested values may "
            "differ for the same image; omit one of the files, or let each technique mitigate "
            "different axes"
        )

    def prompt_for(self, request: Request) -> str:
        """Return the prompt that the model receives for a requested image."""
        return request.prompt

    def possible_prompts(self, prompt: str) -> list[str]:
        """Return all prompts that the model may receive in place of the user's prompt."""
        return [prompt]

    def steer(
        self, pipeline: Any, requests: Sequence[Request], prompts: Sequence[str] | None = None
    ) -> AbstractContextManager[None]:
        """Return a context manager in which a pipeline generates mitigated images.

        The contexts of several mitigations may be nested. The mitigations of all nested contexts
        then affect the images.

        Parameters
        ----------
        pipeline
            Diffusers pipeline that is called within the context.
        requests
            Requests for the images of one call of the pipeline, with the user's prompts.
        prompts
            Prompts that the pipeline receives. A policy may have changed these prompts. By default,
            the prompts in `requests`.
        """
        return nullcontext()

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """Return the values requested for an image in addition to its prompt, keyed by axis."""
        return {}

    @property
    def fingerprint(self) -> str:
        """Digest of everything in the mitigation that affects images."""
        return digest_of(self.model_dump(mode="json"))[:16]

    def fingerprint_on(self, model: Model) -> str:
        """Digest of everything in the mitigation that affects the images of a given model.

        The digest differs from `fingerprint` if earlier versions of askew generated different
        images with the same mitigation and model.
        """
        return self.fingerprint

    def with_digest(self) -> Self:
        """Return the mitigation with a digest of its learned content, to detect damage later."""
        return self

    def extra_files(self) -> Mapping[str, bytes]:
        """Return the contents of the files to write next to the TOML file, keyed by file suffix."""
        return {}

    def to_toml(self) -> str:
        """Return the content of the mitigation's file, including its digest."""
        content = self.model_dump(mode="json", exclude_none=True)
        return tomli_w.dumps({DIGEST: digest_of(content), **content})


@dataclass(frozen=True, slots=True)
class MitigationStack:
    """Mitigations that change the same model.

    First, prompt policies change the prompts, in the order of the mitigations. Techniques that work
    inside the network then steer how the network generates images from the changed prompts.

    Attributes
    ----------
    mitigations
        One or more mitigations, in the order in which they were given.
    """

    mitigations: tuple[Mitigation, ...]

    def with_mitigation(self, mitigation: Mitigation) -> "MitigationStack":
        """Return a stack that contains an additional mitigation.

        Raises
        ------
        UsageError
            If the mitigation conflicts with a mitigation that is already in the stack.
        """
        for earlier in self.mitigations:
            reason = mitigation.conflict_with(earlier)
            if reason is not None:
                raise UsageError(
                    f"the mitigations {earlier.method} and {mitigation.method} cannot be "
                    f"combined: {reason}"
                )
        return MitigationStack((*self.mitigations, mitigation))

    def fingerprint_on(self, model: Model) -> str:
        """Return a digest of everything in the mitigations that affects a model's images."""
        fingerprints = [mitigation.fingerprint_on(model) for mitigation in self.mitigations]
        if len(fingerprints) == 1:
            return fingerprints[0]
        return digest_of(fingerprints)[:16]

    def prompt_for(self, request: Request) -> str:
        """Return the prompt that the model receives for a requested image."""
        for mitigation in self.mitigations:
            request = replace(request, prompt=mitigation.prompt_for(request))
        return request.prompt

    def possible_prompts(self, prompt: str) -> list[str]:
        """Return all prompts that the model may receive in place of the user's prompt."""
        prompts = [prompt]
        for mitigation in self.mitigations:
            prompts = [sent for text in prompts for sent in mitigation.possible_prompts(text)]
        return prompts

    def requested_values(self, request: Request) -> dict[str, str]:
        """Return the values that the mitigations request for an image, keyed by axis."""
        values: dict[str, str] = {}
        for mitigation in self.mitigations:
            values.update(mitigation.requested_values(request))
        return values

    @contextmanager
    def steer(
        self, pipeline: Any, requests: Sequence[Request], prompts: Sequence[str]
    ) -> Iterator[None]:
        """Provide a context in which all mitigations steer a pipeline."""
        with ExitStack() as contexts:
            for mitigation in self.mitigations:
                contexts.enter_context(mitigation.steer(pipeline, requests, prompts))
            yield


class MitigatedModel:
    """Model whose prompts and network are changed by mitigations.

    All other attributes of the model, such as the device, come from the wrapped model.

    Attributes
    ----------
    stack, model
        The mitigations and the wrapped model.
    settings
        The wrapped model's settings, and the fingerprint of the mitigations.
    watch
        Function, if any, that returns a context manager. The context is open while the pipeline
        generates images. `watch` receives the pipeline and the requests with their original
        prompts.
    """

    watch: Any = None

    def __init__(self, stack: MitigationStack, model: Any) -> None:
        self.stack = stack
        self.model = model
        self.name = model.name
        self.revision = model.revision
        self.batch_size = model.batch_size
        self.settings: Mapping[str, Setting] = {
            **model.settings,
            MITIGATION_SETTING: stack.fingerprint_on(model),
        }

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped model."""
        # Unpickling asks for attributes before `model` exists.
        if name.startswith("_") or name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """For each request, return a mitigated image or the reason why there is no image."""
        sent = [replace(request, prompt=self.stack.prompt_for(request)) for request in requests]
        images: list[Image.Image | Missing]
        if getattr(self.model, "has_pipeline", False):
            originals = dict(zip(sent, requests, strict=True))
            with self._steered_pipeline(originals):
                images = self.model.generate(sent)
        else:
            images = self.model.generate(sent)
        return images

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """Return the values that the mitigations request for an image, keyed by axis."""
        return self.stack.requested_values(request)

    @contextmanager
    def _steered_pipeline(self, originals: Mapping[Request, Request]) -> Iterator[None]:
        """Provide a context in which `steer` and `watch` receive the original requests."""
        watch = self.watch

        def steer(pipeline: Any, sent: Sequence[Request]) -> AbstractContextManager[None]:
            prompts = [request.prompt for request in sent]
            return self.stack.steer(pipeline, [originals[request] for request in sent], prompts)

        def watch_originals(pipeline: Any, sent: Sequence[Request]) -> Any:
            return watch(pipeline, [originals[request] for request in sent])

        self.model.steer = steer
        self.model.watch = None if watch is None else watch_originals
        try:
            yield
        finally:
            self.model.steer = None
            self.model.watch = None

    def unknown_words(self, prompt: str) -> list[str]:
        """Return all unknown words in the prompts that the model may receive."""
        words: set[str] = set()
        for text in self.stack.possible_prompts(prompt):
            words.update(self.model.unknown_words(text))
        return sorted(words)


class MitigatedPipeline:
    """Diffusers pipeline that generates mitigated images.

    For each prompt, image numbers begin at 0 and continue from one call to the next. All other
    attributes come from the original pipeline.
    """

    def __init__(self, stack: MitigationStack, pipeline: Any) -> None:
        self.stack = stack
        self.pipeline = pipeline
        self._image_counts = Counter[str]()

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the pipeline."""
        return getattr(self.__dict__["pipeline"], name)

    def __call__(
        self, prompt: str | Sequence[str], *, num_images_per_prompt: int = 1, **arguments: Any
    ) -> Any:
        """Generate mitigated images, and return the pipeline's output.

        Parameters
        ----------
        prompt
            A prompt, or a list of prompts.
        num_images_per_prompt
            Number of images for each prompt.
        **arguments
            Other arguments of the pipeline. `generator` is a single generator, or a list with one
            generator per image.
        """
        distinct = [prompt] if isinstance(prompt, str) else list(prompt)
        prompts = [text for text in distinct for _ in range(num_images_per_prompt)]
        generator = arguments.get("generator")
        generators = generator if isinstance(generator, list) else [generator] * len(prompts)
        requests = []
        for text, image_generator in zip(prompts, generators, strict=True):
            seed = 0 if image_generator is None else image_generator.initial_seed()
            requests.append(Request(text, seed, self._image_counts[text]))
            self._image_counts[text] += 1
        sent = [self.stack.prompt_for(request) for request in requests]
        with self.stack.steer(self.pipeline, requests, sent):
            return self.pipeline(sent, **arguments)


def load_mitigation(path: str | Path) -> Mitigation:
    """Read a mitigation from a TOML file.

    Raises
    ------
    UsageError
        If the file cannot be read, is not a mitigation, or does not match its digest. The message
        states what is wrong, and where.
    """
    return read_mitigation(read_text(Path(path), "the mitigation"), f"the mitigation {path}")


def read_mitigation(text: str, source: str) -> Mitigation:
    """Read a mitigation from the text of a file.

    Parameters
    ----------
    text
        Content of a mitigation file.
    source
        Name of the file in error messages.

    Raises
    ------
    UsageError
        If the text is not a mitigation, or does not match its digest.
    """
    content = parse_toml(text, source)
    digest = content.pop(DIGEST, None)
    if digest is not None and digest != digest_of(content):
        raise UsageError(
            f"{source} has changed since askew wrote it: its digest differs. To use the file as it "
            f"is now, remove the line {DIGEST!r} from the file"
        )
    return parse_mitigation(content, source)


def parse_mitigation(data: Mapping[str, object], source: str) -> Mitigation:
    """Create the mitigation that `data` describes.

    Parameters
    ----------
    data
        Content of a mitigation file.
    source
        Name of the file in error messages.

    Raises
    ------
    UsageError
        If the technique is unknown or a field is wrong.
    """
    if "method" not in data:
        raise UsageError(
            f'{source} does not state its method; add a line such as method = "prompts"'
        )
    technique: type[Mitigation] = registry.named("mitigation", str(data["method"]))
    return technique.checked(data, source)


def mitigation_files(setting: str) -> list[str]:
    """Return the paths in the setting `mitigation`: one path, or paths separated by commas."""
    if Path(setting).exists():
        return [setting]
    return [path.strip() for path in setting.split(",") if path.strip()]


def wrap_model(model: Model | Collection, setting: str) -> Model:
    """Wrap a model in the mitigations from one or more files, in the order of the files.

    Parameters
    ----------
    model
        The model.
    setting
        Path of a mitigation file, or several paths, separated by commas.

    Raises
    ------
    UsageError
        If `model` is a collection of existing images, if a mitigation cannot be applied to it, or
        if two mitigations cannot be combined.
    """
    mitigations = [load_mitigation(path) for path in mitigation_files(setting)]
    if not isinstance(model, Model):
        raise UsageError(
            f"{model.name} contains existing images, but the mitigation {setting} needs a model "
            "that makes images; omit --mitigation"
        )
    for mitigation in mitigations:
        model = mitigation.wrap(model)
    return model


def requested_values(model: object, request: Request) -> Mapping[str, str]:
    """Return the values that a model's mitigations request for an image, keyed by axis.

    The mapping is empty if the model has no mitigations.
    """
    return model.requested_values(request) if isinstance(model, MitigatedModel) else {}
