"""Frozen records that all layers of askew use, and helpers that divide sequences."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os.path import basename, isabs
from typing import Literal, TypeVar, dataclass_transform, get_args

MissingReason = Literal[
    "no_person",
    "no_face",
    "too_small",
    "several_people",
    "other_group",
    "refused",
    "cannot_tell",
    "no_majority",
    "unparseable",
    "blank_image",
    "corrupt_file",
    "absent_file",
    "copy",
    "not_asked",
    "error",
]
MISSING_REASONS: tuple[str, ...] = get_args(MissingReason)

REASON_TEXTS: Mapping[str, str] = {
    "no_person": "no person detected",
    "several_people": "several people detected",
    "refused": "the model or instrument refused",
    "cannot_tell": "the instrument cannot tell",
    "no_majority": "raters disagree, without a majority",
    "unparseable": "answer could not be parsed",
    "blank_image": "image is blank",
    "corrupt_file": "file cannot be opened",
    "absent_file": "file does not exist",
    "copy": "identical to an earlier image",
    "other_group": "shows another group",
    "no_face": "no face detected",
    "too_small": "face is too small",
    "not_asked": "not asked",
    "error": "an error occurred",
}
"""Reasons in words."""

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Turn a class into a frozen dataclass that can be written to and read from JSON.

    When records are read, unknown fields and numbers that are not finite are rejected.
    """
    frozen_class = dataclass(frozen=True, slots=True)(cls)
    config = {"extra": "forbid", "allow_inf_nan": False, "ser_json_inf_nan": "constants"}
    frozen_class.__pydantic_config__ = config  # type: ignore[attr-defined]
    return frozen_class


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Group items by their key. Groups, and items within a group, keep the original order."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def slices(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Divide a sequence into consecutive parts of `size` items. The last part may be shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def plain(value: float, digits: int = 2) -> str:
    """Format a number with a fixed number of decimals; omit the sign if it rounds to zero."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _compared(probability: float) -> str:
    """Format a p-value or q-value, such as "= 0.002" or "< 0.001"."""
    return "< 0.001" if probability < 0.001 else f"= {probability:.3f}"


Scale = Literal["nominal", "ordinal"]
Kind = Literal["societal", "incidental"]


@record
class Missing:
    """A measurement that could not be taken. A missing measurement never counts as an answer.

    Attributes
    ----------
    reason : str
        One of `MISSING_REASONS`.
    detail : str
        Explanation in words, which may be empty.
    """

    reason: MissingReason
    detail: str = ""

    def __post_init__(self) -> None:
        if self.reason not in MISSING_REASONS:
            raise ValueError(f"unknown reason {self.reason!r}; known: {', '.join(MISSING_REASONS)}")

    def __repr__(self) -> str:
        """Return a short text such as "missing (no_face)"."""
        detail = f": {self.detail}" if self.detail else ""
        return f"missing ({self.reason}{detail})"


COPY = Missing("copy", "identical to an earlier image of its set")
"""Placeholder for a repeated image.

A repeated image is counted neither as an observation nor as missing.
"""


def is_copy(outcome: object) -> bool:
    """Check whether an image or answer is only the placeholder for a repeated image."""
    return isinstance(outcome, Missing) and outcome.reason == COPY.reason


@record
class MissingItem:
    """Example of a missing image or a missing label.

    Attributes
    ----------
    reason : str
        One of `MISSING_REASONS`.
    name : str
        Name of the image file, or number of the image in its set.
    sentence : str
        Reason in words, with details.
    """

    reason: MissingReason
    name: str
    sentence: str


MOST_EXAMPLES = 5
"""Maximum number of examples that are kept for each reason."""


def missing_items(named: Iterable[tuple[str, object]]) -> tuple[MissingItem, ...]:
    """Return up to `MOST_EXAMPLES` examples of missing images or labels for each reason.

    Parameters
    ----------
    named
        Pairs of a name and an image or label. If the detail of a missing file begins with a path,
        the file name is taken from this path.
    """
    examples: dict[str, list[MissingItem]] = {}
    for name, outcome in named:
        if not isinstance(outcome, Missing) or is_copy(outcome):
            continue
        of_reason = examples.setdefault(outcome.reason, [])
        if len(of_reason) < MOST_EXAMPLES:
            of_reason.append(_missing_item(name, outcome))
    return tuple(item for of_reason in examples.values() for item in of_reason)


def _missing_item(name: str, missing: Missing) -> MissingItem:
    sentence = missing.detail
    path, _, fault = missing.detail.partition(": ")
    if isabs(path):
        name = basename(path)
        sentence = fault
    return MissingItem(
        reason=missing.reason, name=name, sentence=sentence or REASON_TEXTS[missing.reason]
    )


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt for the model under audit.

    Attributes
    ----------
    text : str
        The text.
    axis, value : str, optional
        Axis and value that a counterfactual prompt states. None for a baseline prompt.
    """

    text: str
    axis: str | None = None
    value: str | None = None

    @property
    def set_name(self) -> str:
        """Name of the prompt's image set within its audit: "initial" or "AXIS: VALUE"."""
        return "initial" if self.axis is None else f"{self.axis}: {self.value}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one image.

    Attributes
    ----------
    text : str
        The question.
    options : tuple of str
        Possible answers. Without options, the answer is free text.
    axis : str, optional
        Axis to which the question belongs. None for a general question.
    """

    text: str
    options: tuple[str, ...] = ()
    axis: str | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of bias, with the questions that determine an image's value on this dimension.

    If an axis has a single question, the answer is the value. If an axis has several yes/no
    questions, they concern `values[1:]`, in this order, and the first "yes" determines the value.
    If no answer is "yes", the value is `values[0]` (BiasConnect, appendix A.3, on disability).

    Attributes
    ----------
    name : str
        Name of the axis.
    values : tuple of str
        Values of the axis. The tuple is empty for some axes that a language model proposed with
        open answers.
    kind : str
        "societal" or "incidental".
    scale : str
        "nominal" or "ordinal".
    questions : tuple of Question
        Questions whose answers determine the value.
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
        """Return an image's value from the answers, which are in the order of `self.questions`."""
        for answer in answers:
            if isinstance(answer, Missing):
                return answer
        if len(self.questions) == 1:
            return answers[0]
        for value, answer in zip(self.values[1:], answers, strict=True):
            if answer == "yes":
                return value
        return self.values[0]


@dataclass(frozen=True, slots=True)
class Picture:
    """A stored image.

    Attributes
    ----------
    id : str
        SHA-256 of the encoded file.
    path : str
        Path of the encoded file.
    prompt : str
        Prompt of the image.
    seed : int, optional
        Seed of the image.
    source : str, optional
        Original file of an image that askew did not generate.
    """

    id: str
    path: str
    prompt: str
    seed: int | None = None
    source: str | None = None


FINITE_FIELDS = (
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
)
CorrectedForm = Literal["(value - null) / (max - null)", "value - null", "null - value"]


@record
class Estimate:
    """A score, with its confidence interval, the value expected by chance (null), and a test.

    Attributes
    ----------
    value : float
        The observed score.
    low, high, level : float, optional
        Confidence interval for the population score, and its level.
    interval : str, optional
        Method that computed the interval.
    n, missing : int
        Numbers of images with and without an answer.
    null : float, optional
        Mean of the score for sets of n images if there is no bias; None if this mean is not defined
        for the score.
    max : float, optional
        Largest possible score. None if it is unbounded.
    corrected : float, optional
        The score after correction for chance with the formula in `corrected_form`.
    debiased : float, optional
        Unbiased or median-unbiased estimate of the population score, or `value` if no such estimate
        exists. The estimate is clipped to the interval.
    p, q : float, optional
        p-value of the test against the null, and its Benjamini-Hochberg q-value within a family of
        tests.
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
            raise ValueError("an Estimate needs at least one image; use Missing if there is none")
        for name in FINITE_FIELDS:
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(
                    f"Estimate.{name} is {number}; a score that is not a number must be Missing"
                )
        if self.low is not None and self.high is not None:
            point = self.value if self.debiased is None else self.debiased
            object.__setattr__(self, "debiased", min(max(point, self.low), self.high))

    @property
    def mark(self) -> float:
        """Estimate of the population value that charts and text show.

        The estimate is `debiased`, or `value` if the score has no interval.
        """
        return self.value if self.debiased is None else self.debiased

    def __repr__(self) -> str:
        """Return a short text such as "0.58 [0.50, 0.70], q = 0.002"."""
        text = plain(self.value)
        if self.low is not None and self.high is not None:
            text += f" [{plain(self.low)}, {plain(self.high)}]"
        for name, probability in (("q", self.q), ("p", self.p)):
            if probability is not None:
                return f"{text}, {name} {_compared(probability)}"
        return text
