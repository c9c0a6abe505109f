"""Frozen records that every layer of askew shares, and ways to part a sequence."""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, dataclass_transform, get_args

MissingReason = Literal[
    "no_person",
    "no_face",
    "several_people",
    "other_group",
    "refused",
    "unparseable",
    "blank_image",
    "corrupt_file",
    "absent_file",
    "not_asked",
    "error",
]
MISSING_REASONS: tuple[str, ...] = get_args(MissingReason)

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """A frozen dataclass that is written to JSON and read back by its types: no unknown field, no
    number not finite.
    """
    made = dataclass(frozen=True, slots=True)(cls)
    config = {"extra": "forbid", "allow_inf_nan": False, "ser_json_inf_nan": "constants"}
    made.__pydantic_config__ = config  # type: ignore[attr-defined]
    return made


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Items by what `key` says of them, all in their order."""
    found: dict[K, list[T]] = {}
    for one in items:
        found.setdefault(key(one), []).append(one)
    return found


def slices(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Consecutive parts of `size` items, the last one shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]


Scale = Literal["nominal", "ordinal"]
Kind = Literal["societal", "incidental"]


@record
class Missing:
    """A measurement that could not be made, and why. Never counted as an answer."""

    reason: MissingReason
    detail: str = ""

    def __post_init__(self) -> None:
        if self.reason not in MISSING_REASONS:
            raise ValueError(f"unknown reason {self.reason!r}; known: {', '.join(MISSING_REASONS)}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text for the model under audit. `axis` and `value` are None for an initial prompt."""

    text: str
    axis: str | None = None
    value: str | None = None

    @property
    def set_name(self) -> str:
        """The name of this prompt's picture set within its audit: "initial" or "AXIS: VALUE"."""
        return "initial" if self.axis is None else f"{self.axis}: {self.value}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one picture. With `options` the answer is one of them, without it is free
    text.

    `axis` names the axis that the question reads, None for a general one.
    """

    text: str
    options: tuple[str, ...] = ()
    axis: str | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of bias and how to read it from a picture.

    `values` may be empty for an axis that a language model proposed with open answers. One question
    reads the value directly. Several yes/no questions read `values[1:]` in order: the first "yes"
    decides, none means `values[0]` (BiasConnect, appendix A.3, on disability).
    """

    name: str
    values: tuple[str, ...]
    kind: Kind = "societal"
    scale: Scale = "nominal"
    questions: tuple[Question, ...] = ()

    @property
    def label(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ")

    def read(self, answers: Sequence[str | Missing]) -> str | Missing:
        """The value that answers to `self.questions`, in their order, add up to."""
        missing = next((answer for answer in answers if isinstance(answer, Missing)), None)
        if missing:
            return missing
        if len(self.questions) == 1:
            return answers[0]
        return next(
            (v for v, answer in zip(self.values[1:], answers, strict=True) if answer == "yes"),
            self.values[0],
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """A stored picture. `id` is the SHA-256 of the encoded file, `path` where that file lies.

    `source` is the file it was read from, for pictures that askew did not make.
    """

    id: str
    path: str
    prompt: str
    seed: int | None = None
    source: str | None = None


CorrectedForm = Literal["(value - null) / (max - null)", "value - null", "null - value"]


@record
class Estimate:
    """A number with everything needed to trust it or not.

    value       the score on the data, on the score's own scale
    low, high   interval for the population score at `level`, by the method named in `interval`
    n, missing  pictures that gave an answer, and pictures that did not
    null        mean of the score under no bias at this n; None where it has none. `max`: None if unbounded
    corrected   the score corrected for chance, in the form named by `corrected_form`
    debiased    the (median-)unbiased estimate of the population score, else `value`, held within the interval
    p, q        p-value against the null, and its Benjamini-Hochberg q-value in its family
    """

    value: float
    low: float | None = None
    high: float | None = None
    level: float | None = None
    interval: str | None = None
    n: int | None = None
    missing: int = 0
    null: float | None = None
    max: float | None = None
    corrected: float | None = None
    corrected_form: CorrectedForm | None = None
    debiased: float | None = None
    p: float | None = None
    q: float | None = None

    def __post_init__(self) -> None:
        if self.n == 0:
            raise ValueError(
                "an Estimate needs at least one picture; use Missing where there is none"
            )
        for name in (
            "value",
            "low",
            "high",
            "level",
            "null",
            "max",
            "corrected",
            "debiased",
            "p",
            "q",
        ):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(
                    f"Estimate.{name} is {number}; a score that is not a number must be Missing"
                )
        if self.low is not None and self.high is not None:
            inside = min(
                max(self.value if self.debiased is None else self.debiased, self.low), self.high
            )
            object.__setattr__(self, "debiased", inside)

    @property
    def mark(self) -> float:
        """What is drawn and told of the population: `debiased`, or the value of a score that has no
        interval.
        """
        return self.value if self.debiased is None else self.debiased
