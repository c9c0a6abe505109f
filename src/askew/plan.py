"""The validated plan of a run: everything that decides its results, from TOML or from the command
line.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from askew import registry
from askew.errors import UsageError
from askew.models.base import Setting
from askew.store.files import read_text, sha256
from askew.types import Axis, Kind, Prompt, Question, Scale

PLAN_FILE = "plan.toml"
DEFAULT_MODEL = "studio"

NonEmptyText = Annotated[str, Field(min_length=1)]
Settings = dict[str, Setting]


class PlanPart(BaseModel):
    """Of any plan: no unknown fields, and no changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    @classmethod
    def checked(cls, data: Mapping[str, Any], source: str = "the plan") -> Self:
        """A validated plan. Raises UsageError listing every fault by its place."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            faults = error.errors()
            below = {fault["loc"][:-1] for fault in faults}
            told = [
                _told(one)
                for one in faults
                if one["type"] != "too_short" or one["loc"] not in below
            ]
            raise UsageError(f"{source} cannot be used: {'; '.join(told)}") from error


def _told(fault: ErrorDetails) -> str:
    """What pydantic found, with its place."""
    place = ".".join(map(str, fault["loc"]))
    told = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "too_short":
        told = f"{fault['ctx']['min_length']} or more must be given"
    return f"{place}: {told}" if place else told


class QuestionPlan(PlanPart):
    """A question, with the answers to choose from unless it is open."""

    text: NonEmptyText
    options: tuple[str, ...] = ()


class AxisPlan(PlanPart):
    """An axis for one prompt: its questions, and a counterfactual prompt per value.

    `reference` are the shares that pictures should have, uniform if None, `reference_images` in how many
    of a reference they were counted, exact if None.
    """

    name: NonEmptyText
    kind: Kind = "societal"
    scale: Scale = "nominal"
    values: tuple[str, ...] = ()
    questions: tuple[QuestionPlan, ...] = Field(min_length=1)
    counterfactuals: dict[str, NonEmptyText] = Field(default_factory=dict)
    reference: dict[str, float] | None = None
    reference_images: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.counterfactuals) == 1:
            raise ValueError(
                f"axis {self.name!r} has one counterfactual; it needs none or at least two"
            )
        if self.reference is not None and self.reference.keys() != {*self.values}:
            raise ValueError(
                f"the ideal of axis {self.name!r} must give a share to each of: {', '.join(self.values)}"
            )
        if self.reference is not None and (
            min(self.reference.values()) < 0 or abs(sum(self.reference.values()) - 1) > 1e-6
        ):
            raise ValueError(
                f"the ideal shares of axis {self.name!r} must be at least 0 and sum to 1"
            )
        return self

    @classmethod
    def of(cls, axis: Axis, counterfactuals: Mapping[str, str] | None = None) -> Self:
        """The plan of an axis, with a writer's counterfactual prompts by value."""
        told = {name: getattr(axis, name) for name in ("name", "kind", "scale", "values")}
        told["questions"] = [{"text": q.text, "options": q.options} for q in axis.questions]
        return cls.checked(
            {**told, "counterfactuals": dict(counterfactuals or {})}, f"the axis {axis.name!a}"
        )

    def axis(self) -> Axis:
        """The axis as a record."""
        questions = tuple(Question(q.text, q.options, self.name) for q in self.questions)
        return Axis(self.name, self.values, self.kind, self.scale, questions)

    def prompts(self) -> list[Prompt]:
        """The counterfactual prompts in order."""
        return [Prompt(text, self.name, value) for value, text in self.counterfactuals.items()]


class PromptPlan(PlanPart):
    """An initial prompt and its axes."""

    text: NonEmptyText
    axes: tuple[AxisPlan, ...] = Field(min_length=1)

    @classmethod
    def of(cls, text: str, axes: Iterable[AxisPlan]) -> Self:
        """The plan of a prompt. Raises UsageError."""
        return cls.checked({"text": text, "axes": tuple(axes)}, f"the prompt {text!r}")

    @model_validator(mode="after")
    def _unique(self) -> Self:
        names = [axis.name for axis in self.axes]
        if len(set(names)) < len(names):
            raise ValueError(f"an axis is named twice: {', '.join(names)}")
        return self

    @property
    def closed(self) -> tuple[AxisPlan, ...]:
        """Axes whose values are known, so that shares can be counted."""
        return tuple(axis for axis in self.axes if len(axis.values) > 1)

    def has(self, axis: str | None) -> bool:
        """Whether this is one of the axes."""
        return any(axis == own.name for own in self.axes)

    def prompts(self) -> list[Prompt]:
        """The initial prompt and every counterfactual, in order."""
        return [Prompt(self.text), *(prompt for axis in self.axes for prompt in axis.prompts())]


class RunPlan(PlanPart):
    """What a run needs of its plan, whatever its method: an identity, and a form to keep."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """The plan in a TOML file. Raises UsageError that names the file, the place and what would
        be right.
        """
        data = read_toml(path)
        method = str(data.get("method", "audit"))
        field = cls.model_fields.get("method")
        if field and method != field.default:
            raise UsageError(f"{path} is a plan for `askew {method}`, not for {field.default!r}")
        return cls.checked(data, f"the plan {path}")

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON of what decides the results."""
        return sha256(json.dumps(self.deciding(), sort_keys=True, separators=(",", ":")).encode())

    def deciding(self) -> dict[str, object]:
        """The fields that results depend on."""
        return self.model_dump(mode="json")

    def to_toml(self) -> str:
        """The plan as TOML, to read, edit and run again."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


class Plan(RunPlan):
    """Everything that decides the results of a run."""

    method: str = "audit"
    model: NonEmptyText = DEFAULT_MODEL
    model_args: Settings = Field(default_factory=dict)
    images: int = Field(default=48, ge=1, le=100_000)
    vqa: tuple[NonEmptyText, ...] = Field(default=("studio",), min_length=1)
    vqa_args: Settings = Field(default_factory=dict)
    aliases: dict[str, str] = Field(default_factory=dict)
    values: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    embedder: NonEmptyText = "studio"
    embedder_args: Settings = Field(default_factory=dict)
    llm: NonEmptyText = "lexicon"
    seed: int = 0
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    bootstrap_samples: int = Field(default=1000, ge=100, le=1_000_000)
    variant: Literal["paper", "code"] = "paper"
    prompts: tuple[PromptPlan, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        texts = [prompt.text for prompt in self.prompts]
        twice = sorted({text for text in texts if texts.count(text) > 1})
        if twice:
            raise ValueError(f"the plan holds a prompt twice: {twice[0]!r}")
        return self

    def texts(self) -> list[str]:
        """Every distinct prompt text of the plan, in order of first appearance."""
        return list(dict.fromkeys(p.text for prompt in self.prompts for p in prompt.prompts()))


class PlanFields(TypedDict, total=False):
    """Fields of a plan that a request decides; those not given are left out, for the plan has the
    defaults.
    """

    model: str
    model_args: Settings
    images: int
    vqa: Sequence[str]
    vqa_args: Settings
    aliases: dict[str, str]
    values: dict[str, tuple[str, ...]]
    embedder: str
    embedder_args: Settings
    llm: str
    sources: str
    sources_args: Settings
    seed: int
    confidence: float
    bootstrap_samples: int
    variant: Literal["paper", "code"]


def read_toml(path: Path, what: str = "the plan") -> dict[str, object]:
    """What the TOML file of a plan holds. Raises UsageError."""
    try:
        return tomllib.loads(read_text(path, what))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{what} {path} is not valid TOML: {error}") from error


def read_plan(path: str | Path) -> RunPlan:
    """The plan in a TOML file, of the method that it names. Raises UsageError that says what is
    wrong and where.
    """
    data = read_toml(Path(path))
    kind: type[RunPlan] = registry.named("method", str(data.get("method", "audit"))).plan
    return kind.checked(data, f"the plan {path}")


def check_distinct(what: str, names: Sequence[str]) -> None:
    """Raises ValueError for a name that stands among them twice, in whatever case."""
    folded = [name.lower() for name in names]
    twice = [name for name in names if folded.count(name.lower()) > 1]
    if twice:
        raise ValueError(f"the {what} {twice[0]!r} is named twice")
