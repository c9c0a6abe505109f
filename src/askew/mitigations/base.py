"""Base of mitigations: values that are kept as TOML files and wrap a model.

Every command that measures a model then measures the mitigated model.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import tomli_w
from PIL import Image
from pydantic import Field, model_validator

from askew import registry
from askew.errors import UsageError
from askew.models.base import MITIGATION_SETTING, Collection, Model, Request, Setting
from askew.plan import PlanPart, read_toml
from askew.store.files import digest_of, sha256
from askew.types import Missing

TOLERANCE = 1e-6
"""Difference from 1 up to which shares are taken to sum to 1."""

HALTON_BASES = (2, 3, 5, 7, 11, 13)
"""Bases of Halton's sequence, a base for every axis whose values are requested separately."""

HASH_DIGITS = 13
HASH_VALUES = 16**13
"""Hexadecimal digits of a hash that become a number in [0, 1): 52 bits, which a float holds."""

Rule = Literal["quota", "independent"]
"""Rule by which a value or prompt is assigned to an image.

"quota" gives each part its share of n images to within a few, for every n. With "independent" each
image draws by its seed, as a service would.
"""


class Mitigation(PlanPart):
    """Change of a model that is meant to reduce its bias.

    A technique is a subclass with an entry point in `askew.mitigations` under its method's name.

    Attributes
    ----------
    method
        Name of the entry point.
    targets
        Wanted share of each value, by axis. Empty for a technique without target shares.
    """

    method: str
    targets: dict[str, dict[str, float]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_targets(self) -> "Mitigation":
        for axis, shares in self.targets.items():
            if len(shares) < 2:
                raise ValueError(
                    f"the target shares of {axis!r} name {len(shares)} value; "
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
        """Network evaluations per image, as a multiple of those without the mitigation."""
        return 1.0

    def wrap(self, model: Model) -> Model:
        """Return the mitigated model.

        Raises
        ------
        UsageError
            If the technique cannot work on this model. The message names both.
        """
        return MitigatedModel(self, model)

    def apply(self, pipeline: Any) -> "MitigatedPipeline":
        """Return a diffusers pipeline that is called as before and makes mitigated images."""
        return MitigatedPipeline(self, pipeline)

    def prompt_for(self, request: Request) -> str:
        """Return the prompt that is sent to the model for a requested image."""
        return request.prompt

    def possible_prompts(self, prompt: str) -> list[str]:
        """Return all prompts that may be sent in place of a prompt."""
        return [prompt]

    def steer(self, pipeline: Any, requests: Sequence[Request]) -> AbstractContextManager[None]:
        """Return a context within which a pipeline makes mitigated images.

        Parameters
        ----------
        pipeline
            Diffusers pipeline that is called within the context.
        requests
            Requests of the images that the pipeline makes in one call, as the user sees them.
        """
        return nullcontext()

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """Return, by axis, the value requested of an image in addition to what its prompt says."""
        return {}

    @property
    def fingerprint(self) -> str:
        """Digest of everything in the mitigation that affects images."""
        return digest_of(self.model_dump(mode="json"))[:16]

    def extra_files(self) -> Mapping[str, bytes]:
        """Return the contents of files written next to the TOML file, by suffix."""
        return {}

    def to_toml(self) -> str:
        """Return the content of the mitigation's file."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


class MitigatedModel:
    """Model under a mitigation, which decides the prompts and steers the network.

    Other attributes, such as the device, are those of the wrapped model.

    Attributes
    ----------
    mitigation, model
        The mitigation and the wrapped model.
    settings
        The model's settings, with the mitigation's fingerprint.
    watch
        Context that is entered while the pipeline makes images, or None. It receives the pipeline
        and the requests before the mitigation changed their prompts.
    """

    watch: Any = None

    def __init__(self, mitigation: Mitigation, model: Any) -> None:
        self.mitigation = mitigation
        self.model = model
        self.name = model.name
        self.revision = model.revision
        self.batch_size = model.batch_size
        self.settings: Mapping[str, Setting] = {
            **model.settings,
            MITIGATION_SETTING: mitigation.fingerprint,
        }

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped model."""
        # Unpickling asks for attributes before `model` exists.
        if name.startswith("_") or name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """Return the model's image under the mitigation, or the reason for none, per request."""
        sent = [
            replace(request, prompt=self.mitigation.prompt_for(request)) for request in requests
        ]
        images: list[Image.Image | Missing]
        if getattr(self.model, "has_pipeline", False):
            originals = dict(zip(sent, requests, strict=True))
            with self._steered_pipeline(originals):
                images = self.model.generate(sent)
        else:
            images = self.model.generate(sent)
        return images

    @contextmanager
    def _steered_pipeline(self, originals: Mapping[Request, Request]) -> Iterator[None]:
        """Let the model call `steer` and `watch` with the original of each sent request."""
        watch = self.watch

        def steer(pipeline: Any, sent: Sequence[Request]) -> AbstractContextManager[None]:
            return self.mitigation.steer(pipeline, [originals[request] for request in sent])

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
        """Return the words of all prompts that may be sent which the model does not know."""
        words: set[str] = set()
        for text in self.mitigation.possible_prompts(prompt):
            words.update(self.model.unknown_words(text))
        return sorted(words)


class MitigatedPipeline:
    """Diffusers pipeline under a mitigation.

    The images of a prompt are numbered from 0, over all calls. Other attributes are those of the
    pipeline.
    """

    def __init__(self, mitigation: Mitigation, pipeline: Any) -> None:
        self.mitigation = mitigation
        self.pipeline = pipeline
        self._image_counts = Counter[str]()

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the pipeline."""
        return getattr(self.__dict__["pipeline"], name)

    def __call__(
        self, prompt: str | Sequence[str], *, num_images_per_prompt: int = 1, **arguments: Any
    ) -> Any:
        """Return what the pipeline returns.

        Parameters
        ----------
        prompt
            A prompt or several prompts.
        num_images_per_prompt
            Number of images of each prompt.
        **arguments
            Other arguments of the pipeline. `generator` is a generator, or a generator per image.
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
        sent = [self.mitigation.prompt_for(request) for request in requests]
        with self.mitigation.steer(self.pipeline, requests):
            return self.pipeline(sent, **arguments)


def load_mitigation(path: str | Path) -> Mitigation:
    """Read a mitigation from a TOML file.

    Raises
    ------
    UsageError
        If the file cannot be read or is not a mitigation. The message says what is wrong, and
        where.
    """
    return parse_mitigation(read_toml(Path(path), "the mitigation"), f"the mitigation {path}")


def parse_mitigation(data: Mapping[str, object], source: str) -> Mitigation:
    """Build the mitigation that `data` describes.

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
        raise UsageError(f'{source} does not name its method; add, for example: method = "prompts"')
    technique: type[Mitigation] = registry.named("mitigation", str(data["method"]))
    return technique.checked(data, source)


def wrap_model(model: Model | Collection, path: str | Path) -> Model:
    """Return a model under the mitigation in a file.

    Raises
    ------
    UsageError
        If `model` is a collection of existing images, or the mitigation cannot work on it.
    """
    mitigation = load_mitigation(path)
    if not isinstance(model, Model):
        raise UsageError(
            f"{model.name} contains existing images, but the mitigation {path} needs a model that "
            "makes images; leave out --mitigation"
        )
    return mitigation.wrap(model)


def choose_part(
    shares: Sequence[float], prompt: str, request: Request, rule: Rule = "quota", axis: int = 0
) -> int:
    """Return the index of the part that is assigned to an image.

    By quota, the `number`-th point of Halton's sequence, shifted by the prompt, decides. Halves of
    an even number of images are then exact at `axis` 0, and the points of several axes fill the
    square evenly. Without a number, or by the rule "independent", the image's seed decides.

    Parameters
    ----------
    shares
        Share of each part. Shares sum to 1.
    prompt
        Text that decides the shift.
    request
        The requested image.
    rule
        Rule of assignment.
    axis
        Position of the axis, for which the sequence has a base.

    Returns
    -------
    int
        Index into `shares`.
    """
    if request.number is None or rule == "independent":
        point = _uniform(f"{prompt} {axis} {request.seed}")
    else:
        base = HALTON_BASES[axis % len(HALTON_BASES)]
        point = _halton_point(request.number, base, shift=_uniform(prompt))
    return min(bisect_right([*accumulate(shares)], point % 1.0), len(shares) - 1)


def _halton_point(number: int, base: int, shift: float) -> float:
    """Return the `number`-th point of Halton's sequence plus `shift`, in [0, 2)."""
    point = shift
    unit = 1.0
    while number:
        number, digit = divmod(number, base)
        unit /= base
        point += digit * unit
    return point


def _uniform(text: str) -> float:
    """Return a number in [0, 1) that depends on a text only."""
    return int(sha256(text.encode())[:HASH_DIGITS], 16) / HASH_VALUES
