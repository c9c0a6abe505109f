"""The validated plan of a run, which contains everything that determines the results."""

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from askew import registry
from askew.addresses import check_addresses
from askew.errors import UsageError
from askew.models.base import Setting
from askew.store.files import read_text, sha256
from askew.store.foreign import toml_head, toml_table
from askew.types import Axis, Kind, Prompt, Question, Scale

PLAN_FILE = "plan.toml"
DEFAULT_MODEL = "studio"

NonEmptyText = Annotated[str, Field(min_length=1)]


def _checked_settings(settings: dict[str, Setting]) -> dict[str, Setting]:
    """Return the settings. Raise ValueError if an address contains a password or a key."""
    try:
        check_addresses(settings)
    except UsageError as error:
        raise ValueError(str(error)) from error
    return settings


Settings = Annotated[dict[str, Setting], AfterValidator(_checked_settings)]

CONNECTION_SETTINGS = frozenset(("url", "timeout", "concurrency"))
"""Names of settings that cannot affect the answers of instruments or language models."""


def deciding_settings(
    settings: Mapping[str, Setting], undeciding: AbstractSet[str] = CONNECTION_SETTINGS
) -> dict[str, Setting]:
    """Return the settings that can change an answer.

    A setting can change an answer unless `undeciding` contains its name. The name may be preceded
    by an instrument's name and a colon.
    """
    return {
        name: value for name, value in settings.items() if name.rpartition(":")[2] not in undeciding
    }


class PlanPart(BaseModel):
    """An immutable part of a plan, which rejects unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    @classmethod
    def checked(cls, data: Mapping[str, Any], source: str = "the plan") -> Self:
        """Validate the fields, and return the plan.

        Parameters
        ----------
        data
            The fields.
        source
            Description of the data, for error messages.

        Raises
        ------
        UsageError
            If the data are invalid. The message lists all errors and their locations.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            faults = error.errors()
            inner_places = {fault["loc"][:-1] for fault in faults}
            texts = [
                _described(fault)
                for fault in faults
                if fault["type"] != "too_short" or fault["loc"] not in inner_places
            ]
            raise UsageError(f"{source} cannot be used: {'; '.join(texts)}") from error


def _described(fault: ErrorDetails) -> str:
    """Describe an error that pydantic reports, and its location."""
    place = ".".join(map(str, fault["loc"]))
    text = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "too_short":
        text = f"{fault['ctx']['min_length']} or more must be given"
    return f"{place}: {text}" if place else text


class QuestionPlan(PlanPart):
    """A question and its possible answers. An open question has no possible answers."""

    text: NonEmptyText
    options: tuple[str, ...] = ()


class AxisPlan(PlanPart):
    """An axis of a prompt, with the axis's questions and one counterfactual prompt per value.

    Attributes
    ----------
    name, kind, scale, values
        As in `askew.types.Axis`.
    questions
        One or more questions about the axis.
    counterfactuals
        Counterfactual prompts, keyed by value. There are either no counterfactual prompts or at
        least two.
    reference
        Reference shares, keyed by value; None for a uniform reference.
    reference_images
        Number of images from which the reference was computed; None if the reference is exact.
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
                f"axis {self.name!r} has one counterfactual prompt; it needs none or at least two"
            )
        if self.reference is not None:
            self._check_reference(self.reference)
        return self

    def _check_reference(self, shares: Mapping[str, float]) -> None:
        if shares.keys() != {*self.values}:
            raise ValueError(
                f"the reference of axis {self.name!r} must have a share for each of: "
                f"{', '.join(self.values)}"
            )
        if min(shares.values()) < 0 or abs(sum(shares.values()) - 1) > 1e-6:
            raise ValueError(
                f"the reference shares of axis {self.name!r} must be at least 0 and sum to 1"
            )

    @classmethod
    def of(cls, axis: Axis, counterfactuals: Mapping[str, str] | None = None) -> Self:
        """Return the plan for an axis, with counterfactual prompts keyed by value."""
        data: dict[str, object] = {
            "name": axis.name,
            "kind": axis.kind,
            "scale": axis.scale,
            "values": axis.values,
            "questions": [{"text": q.text, "options": q.options} for q in axis.questions],
            "counterfactuals": dict(counterfactuals or {}),
        }
        return cls.checked(data, f"the axis {axis.name!a}")

    def axis(self) -> Axis:
        """Return the axis as a record."""
        questions = tuple(Question(q.text, q.options, self.name) for q in self.questions)
        return Axis(self.name, self.values, self.kind, self.scale, questions)

    def prompts(self) -> list[Prompt]:
        """Return the counterfactual prompts in order."""
        return [Prompt(text, self.name, value) for value, text in self.counterfactuals.items()]


class PromptPlan(PlanPart):
    """A prompt and its axes."""

    text: NonEmptyText
    axes: tuple[AxisPlan, ...] = Field(min_length=1)

    @classmethod
    def of(cls, text: str, axes: Iterable[AxisPlan]) -> Self:
        """Return the plan for a prompt, or raise UsageError."""
        return cls.checked({"text": text, "axes": tuple(axes)}, f"the prompt {text!r}")

    @model_validator(mode="after")
    def _unique(self) -> Self:
        names = [axis.name for axis in self.axes]
        if len(set(names)) < len(names):
            raise ValueError(f"an axis is named twice: {', '.join(names)}")
        return self

    @property
    def closed(self) -> tuple[AxisPlan, ...]:
        """Axes with known values, for which askew can compute shares."""
        return tuple(axis for axis in self.axes if len(axis.values) > 1)

    def has(self, axis: str | None) -> bool:
        """Check whether the prompt has an axis with this name."""
        return any(axis == planned.name for planned in self.axes)

    def prompts(self) -> list[Prompt]:
        """Return the prompt and its counterfactual prompts, in order."""
        return [Prompt(self.text), *(prompt for axis in self.axes for prompt in axis.prompts())]


class RunPlan(PlanPart):
    """Base class for the plans of all methods. It defines the hash and the file format."""

    @classmethod
    def read(cls, path: Path, *, follow: bool = True) -> Self:
        """Read a plan from a TOML file.

        Parameters
        ----------
        path
            The file.
        follow
            If False, refuse a symbolic link. Links are refused in run folders, which may come from
            other people.

        Raises
        ------
        UsageError
            If the file cannot be read, is invalid, or contains a plan for another method.
        """
        data = read_toml(path, follow=follow)
        method = str(data.get("method", "audit"))
        field = cls.model_fields.get("method")
        if field and method != field.default:
            raise UsageError(f"{path} is a plan for `askew {method}`, not for {field.default!r}")
        return cls.checked(data, f"the plan {path}")

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON of the fields that determine the results."""
        return sha256(json.dumps(self.deciding(), sort_keys=True, separators=(",", ":")).encode())

    def deciding(self) -> dict[str, object]:
        """Return the fields that determine the results."""
        return self.model_dump(mode="json")

    def to_toml(self) -> str:
        """Return the plan as TOML text, which people can read, edit and run again."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


class Plan(RunPlan):
    """A plan for a method that labels the images of prompts."""

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
            raise ValueError(f"the plan contains a prompt twice: {twice[0]!r}")
        return self

    def deciding(self) -> dict[str, object]:
        """Return the fields that determine the results, excluding server addresses."""
        return super().deciding() | {"vqa_args": deciding_settings(self.vqa_args)}

    def texts(self) -> list[str]:
        """Return all distinct prompts in the plan, in order of first appearance."""
        return list(dict.fromkeys(p.text for prompt in self.prompts for p in prompt.prompts()))


class PlanFields(TypedDict, total=False):
    """Plan fields that a request sets. All other fields keep the plan's defaults."""

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


def read_toml(path: Path, title: str = "the plan", *, follow: bool = True) -> dict[str, object]:
    """Read a TOML file, or raise UsageError. A link is an error unless `follow` is True."""
    return parse_toml(read_text(path, title, follow=follow), f"{title} {path}")


def parse_toml(text: str, source: str) -> dict[str, object]:
    """Parse TOML text, or raise a UsageError that names the `source` of the text."""
    try:
        return toml_table(text)
    except ValueError as error:
        raise UsageError(f"{source} cannot be read as TOML: {error}") from error


def plan_head(path: Path) -> dict[str, object]:
    """Return the fields that precede the first table in a run's plan file, without validating them.

    Raises
    ------
    UsageError
        If the fields cannot be read, or the file is a link.
    """
    text = read_text(path, "the plan", follow=False)
    try:
        return toml_head(text)
    except ValueError as error:
        raise UsageError(f"the plan {path} cannot be read as TOML: {error}") from error


def read_plan(path: str | Path, *, follow: bool = True) -> RunPlan:
    """Read a plan from a TOML file. The file's `method` field determines the type of the plan.

    Parameters
    ----------
    path
        The file.
    follow
        If False, refuse a symbolic link. Links are refused in run folders, which may come from
        other people.

    Raises
    ------
    UsageError
        If the file cannot be read or is invalid. The message lists all errors and their locations.
    """
    data = read_toml(Path(path), follow=follow)
    kind: type[RunPlan] = registry.named("method", str(data.get("method", "audit"))).plan
    return kind.checked(data, f"the plan {path}")


def check_distinct(noun: str, names: Sequence[str]) -> None:
    """Raise ValueError if two names are equal, ignoring case."""
    folded = [name.lower() for name in names]
    twice = [name for name in names if folded.count(name.lower()) > 1]
    if twice:
        raise ValueError(f"the {noun} {twice[0]!r} is named twice")
