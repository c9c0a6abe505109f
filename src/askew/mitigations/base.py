"""A mitigation: a value, kept as a file, that wraps a model, so that every command measures the
mitigated model.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
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


class Mitigation(PlanPart):
    """What is done to a model. A kind is a subclass, with an entry point in `askew.mitigations` by
    its method's name.

    method   the entry point's name
    targets  by axis the wanted share of each value; empty for a method that aims at nothing in particular
    """

    method: str
    targets: dict[str, dict[str, float]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _shares(self) -> "Mitigation":
        for axis, wanted in self.targets.items():
            if len(wanted) < 2:
                raise ValueError(
                    f"the target of {axis!r} names {len(wanted)} value; shares need at least two"
                )
            if min(wanted.values()) < 0 or abs(sum(wanted.values()) - 1) > 1e-6:
                raise ValueError(
                    f"the target of {axis!r} sums to {sum(wanted.values()):g}; shares sum to 1"
                )
        return self

    @property
    def cost(self) -> float:
        """Evaluations of the network for a picture, as a multiple of those without the mitigation."""
        return 1.0

    def wrap(self, model: Model) -> Model:
        """The mitigated model. Raises UsageError, naming both, for a model that this method cannot
        work on.
        """
        return MitigatedModel(self, model)

    def apply(self, pipeline: Any) -> "MitigatedPipeline":
        """A diffusers pipeline of one's own, called as before: its pictures are mitigated."""
        return MitigatedPipeline(self, pipeline)

    def prompt_for(self, request: Request) -> str:
        """The prompt that is sent for a picture."""
        return request.prompt

    def possible_prompts(self, prompt: str) -> list[str]:
        """All that may be sent for a prompt."""
        return [prompt]

    def steer(self, pipeline: Any, requests: Sequence[Request]) -> AbstractContextManager[None]:
        """A context within which a pipeline makes the pictures of `requests` under this mitigation."""
        return nullcontext()

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """By axis the value that was asked of this picture beyond what its prompt says; empty where
        nothing was.
        """
        return {}

    @property
    def fingerprint(self) -> str:
        """A digest of all that decides pictures."""
        return digest_of(self.model_dump(mode="json"))[:16]

    def extra_files(self) -> Mapping[str, bytes]:
        """What else is written beside its file, by suffix, for others to use."""
        return {}

    def to_toml(self) -> str:
        """The content of its file."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


class MitigatedModel:
    """A model under a mitigation: it is sent what the mitigation sends, and steered by it. All else
    is its own.
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
        """The model's: its device, its pipeline and the like."""
        if name.startswith("_") or name == "model":  # what pickles it is its own
            raise AttributeError(name)
        return getattr(self.model, name)

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        """The model's pictures under the mitigation."""
        sent = [replace(one, prompt=self.mitigation.prompt_for(one)) for one in requests]
        asked = dict(zip(sent, requests, strict=True))
        watch = self.watch
        inside = getattr(self.model, "has_pipeline", False)
        if inside:
            self.model.steer = lambda pipeline, some: self.mitigation.steer(
                pipeline, [asked[one] for one in some]
            )
            self.model.watch = watch and (
                lambda pipeline, some: watch(pipeline, [asked[one] for one in some])
            )
        try:
            made: list[Image.Image | Missing] = self.model.generate(sent)
        finally:
            if inside:
                self.model.steer = self.model.watch = None
        return made

    def unknown_words(self, prompt: str) -> list[str]:
        """Words of what may be sent for a prompt that the model does not know."""
        return sorted(
            {
                word
                for text in self.mitigation.possible_prompts(prompt)
                for word in self.model.unknown_words(text)
            }
        )


class MitigatedPipeline:
    """A pipeline under a mitigation. The pictures of a prompt are counted from 0, call by call."""

    def __init__(self, mitigation: Mitigation, pipeline: Any) -> None:
        self.mitigation = mitigation
        self.pipeline = pipeline
        self._made = Counter[str]()

    def __getattr__(self, name: str) -> Any:
        """All else is the pipeline's own."""
        return getattr(self.__dict__["pipeline"], name)

    def __call__(
        self, prompt: str | Sequence[str], *, num_images_per_prompt: int = 1, **named: Any
    ) -> Any:
        """What the pipeline returns. Other arguments are the pipeline's; pass them by name."""
        given = [prompt] if isinstance(prompt, str) else list(prompt)
        prompts = [one for one in given for _ in range(num_images_per_prompt)]
        generator = named.get("generator")
        several = generator if isinstance(generator, list) else [generator] * len(prompts)
        requests = []
        for text, one in zip(prompts, several, strict=True):
            requests.append(
                Request(text, one.initial_seed() if one is not None else 0, self._made[text])
            )
            self._made[text] += 1
        with self.mitigation.steer(self.pipeline, requests):
            return self.pipeline([self.mitigation.prompt_for(one) for one in requests], **named)


def load_mitigation(path: str | Path) -> Mitigation:
    """The mitigation in a TOML file. Raises UsageError that says what is wrong and where."""
    return parse_mitigation(read_toml(Path(path), "the mitigation"), f"the mitigation {path}")


def parse_mitigation(data: Mapping[str, object], source: str) -> Mitigation:
    """The mitigation that `data` describes. Raises UsageError, which names the source."""
    if "method" not in data:
        raise UsageError(f'{source} does not name its method, such as: method = "prompts"')
    kind: type[Mitigation] = registry.named("mitigation", str(data["method"]))
    return kind.checked(data, source)


def wrap_model(model: Model | Collection, path: str | Path) -> Model:
    """The model under the mitigation in a file. Raises UsageError for pictures that exist already."""
    found = load_mitigation(path)
    if not isinstance(model, Model):
        raise UsageError(
            f"{model.name} holds pictures that exist already; the mitigation {path} needs a model"
        )
    return found.wrap(model)


BASES = (2, 3, 5, 7, 11, 13)
"""Of Halton's sequence: one for every axis that is asked by itself."""

Rule = Literal["quota", "independent"]
"""How it is decided what is asked of a picture: "quota" gives each part its share of n pictures to
within a few, whatever n; by "independent" every picture draws by its seed, as a service would.
"""


def choose_part(
    shares: Sequence[float], prompt: str, request: Request, rule: Rule = "quota", axis: int = 0
) -> int:
    """Which of several parts, with these shares, a picture gets of those that its prompt is parted
    into.

    By quota the `number`-th point of Halton's sequence decides, shifted by the prompt: halves of an
    even n are exact at `axis` 0, and points of several axes fill the square evenly. Without a
    number the picture's seed decides.
    """
    if request.number is None or rule == "independent":
        at = _uniform(f"{prompt} {axis} {request.seed}")
    else:
        base = BASES[axis % len(BASES)]
        left = request.number
        unit = 1.0
        at = _uniform(prompt)
        while left:
            left, digit = divmod(left, base)
            unit /= base
            at += digit * unit
    return min(bisect_right([*accumulate(shares)], at % 1.0), len(shares) - 1)


def _uniform(text: str) -> float:
    return int(sha256(text.encode())[:13], 16) / 16**13
