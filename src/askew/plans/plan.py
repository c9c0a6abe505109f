"""The validated plan of a run: everything that decides its results, from TOML or from the command line."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from askew.errors import UsageError
from askew.types import Axis, Kind, Prompt, Question, Scale

PLAN_FILE = "plan.toml"
DEFAULT_MODEL = "studio"
SLASH = "/"

Text = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class QuestionPlan(_Part):
    """A question, with the answers to choose from unless it is open."""

    text: Text
    options: tuple[str, ...] = ()


class AxisPlan(_Part):
    """An axis for one prompt: its questions, and a counterfactual prompt per value."""

    name: Text
    kind: Kind = "societal"
    scale: Scale = "nominal"
    values: tuple[str, ...] = ()
    questions: tuple[QuestionPlan, ...] = Field(min_length=1)
    counterfactuals: dict[str, Text] = Field(default_factory=dict)
    ideal: dict[str, float] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> AxisPlan:
        if len(self.counterfactuals) == 1:
            raise ValueError(f"axis {self.name!r} has one counterfactual; it needs none or at least two")
        if self.ideal is not None:
            _check_ideal(self.name, self.values, self.ideal)
        return self

    @classmethod
    def of(cls, axis: Axis, counterfactuals: Mapping[str, str] | None = None) -> AxisPlan:
        """The plan of an axis, with a writer's counterfactual prompts by value."""
        return cls(
            name=axis.name,
            kind=axis.kind,
            scale=axis.scale,
            values=axis.values,
            questions=tuple(QuestionPlan(text=q.text, options=q.options) for q in axis.questions),
            counterfactuals=dict(counterfactuals or {}),
        )

    def axis(self) -> Axis:
        """The axis as a record."""
        questions = tuple(Question(q.text, q.options, self.name) for q in self.questions)
        return Axis(self.name, self.values, self.kind, self.scale, questions)

    def prompts(self) -> list[Prompt]:
        """The counterfactual prompts in order."""
        return [Prompt(text, self.name, value) for value, text in self.counterfactuals.items()]


class PromptPlan(_Part):
    """An initial prompt and its axes."""

    text: Text
    axes: tuple[AxisPlan, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _unique(self) -> PromptPlan:
        names = [axis.name for axis in self.axes]
        if len(set(names)) < len(names):
            raise ValueError(f"prompt {self.text!r} names an axis twice: {', '.join(names)}")
        return self

    def prompts(self) -> list[Prompt]:
        """The initial prompt and every counterfactual, in order."""
        return [Prompt(self.text), *(prompt for axis in self.axes for prompt in axis.prompts())]


class RunPlan(_Part):
    """What a run needs of its plan, whatever its method: an identity, and a form to keep."""

    @property
    def hash(self) -> str:
        """SHA-256 of the plan's canonical JSON."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def to_toml(self) -> str:
        """The plan as TOML, to read, edit and run again."""
        return tomli_w.dumps(_without_none(self.model_dump(mode="json")))


class Plan(RunPlan):
    """Everything that decides the results of a run."""

    method: Literal["audit", "interact", "edit", "map"] = "audit"
    model: Text = DEFAULT_MODEL
    model_args: dict[str, str | int | float | bool] = Field(default_factory=dict)
    images: int = Field(default=48, ge=1, le=100_000)
    vqa: tuple[Text, ...] = Field(default=("studio",), min_length=1)
    vqa_args: dict[str, str | int | float | bool] = Field(default_factory=dict)
    aliases: dict[str, str] = Field(default_factory=dict)
    values: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    embedder: Text = "studio"
    embedder_args: dict[str, str | int | float | bool] = Field(default_factory=dict)
    llm: Text = "lexicon"
    seed: int = 0
    level: float = Field(default=0.95, gt=0.5, lt=1)
    draws: int = Field(default=1000, ge=100, le=1_000_000)
    variant: Literal["paper", "code"] = "paper"
    prompts: tuple[PromptPlan, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> Plan:
        texts = [prompt.text for prompt in self.prompts]
        twice = sorted({text for text in texts if texts.count(text) > 1})
        if twice:
            raise ValueError(f"the plan holds a prompt twice: {twice[0]!r}")
        return self

    def texts(self) -> list[str]:
        """Every distinct prompt text of the plan, in order of first appearance."""
        return list(dict.fromkeys(p.text for prompt in self.prompts for p in prompt.prompts()))


class JointIdeal(_Part):
    """Shares that the combinations of values of some axes should have.

    prompt  the prompt that they are about; "" for every prompt
    shares  by combination, values joined by "/" in the order of `axes`; combinations that are not named have none
    source  where they come from
    """

    prompt: str = ""
    axes: tuple[Text, ...]
    shares: dict[str, float]
    source: str

    def by_values(self) -> dict[tuple[str, ...], float]:
        """The shares by the combination's values."""
        return {tuple(name.split(SLASH)): share for name, share in self.shares.items()}


class InteractionPlan(Plan):
    """A plan of how biases pull on each other (BiasConnect); its thresholds are those of the paper.

    distance          how an axis's shares are held against the ideal; "auto" by the axis's scale
    threshold         p below which an axis depends on another; of axes with open answers `open_threshold`
    global_threshold  the same in tables over all prompts, where |IS| must exceed `least_sensitivity` too
    as_read           whether to leave the instrument's known errors uncorrected
    joint             groups of axes whose joint shares are wanted
    joint_ideal       the shares that they are held against; groups without are held against independence
    mitigated         by axis, the model or the folder of the finished run in which it is mitigated
    mitigated_args    settings of those models, {axis} standing for the axis
    mixture           whether to plan the mixture of prompts that mitigates all axes at once
    mixture_prompts   the most prompts of that mixture; 0 is no limit
    mixture_worsening how much further any axis may be from its ideal than it is; None is no limit
    mixture_images    pictures of it to draw, so that what was predicted can be measured; 0 draws none
    """

    method: Literal["interact"] = "interact"
    distance: Literal["auto", "ordinal", "nominal", "values"] = "auto"
    threshold: float = Field(default=1e-4, gt=0, lt=1)
    open_threshold: float = Field(default=0.05, gt=0, lt=1)
    global_threshold: float = Field(default=5e-5, gt=0, lt=1)
    least_sensitivity: float = Field(default=0.03, ge=0, lt=1)
    as_read: bool = False
    joint: tuple[tuple[Text, ...], ...] = ()
    joint_ideal: tuple[JointIdeal, ...] = ()
    mitigated: dict[str, Text] = Field(default_factory=dict)
    mitigated_args: dict[str, str | int | float | bool] = Field(default_factory=dict)
    mixture: bool = False
    mixture_prompts: int = Field(default=0, ge=0)
    mixture_worsening: float | None = Field(default=None, ge=0, le=1)
    mixture_images: int = Field(default=0, ge=0, le=100_000)

    @model_validator(mode="after")
    def _fits_axes(self) -> InteractionPlan:
        if self.distance == "values" and any(axis.ideal for prompt in self.prompts for axis in prompt.axes):
            raise ValueError("the distance 'values' forgets which value has which share; it needs a uniform ideal")
        known = {axis.name for prompt in self.prompts for axis in prompt.axes}
        for group in self.joint:
            if not 2 <= len(set(group)) == len(group) <= 3 or not known >= set(group):
                raise ValueError(f"joint shares are of two or three different axes of the plan, not {', '.join(group)}")
        if not known >= set(self.mitigated):
            raise ValueError(f"mitigated axes must be among those of the plan: {', '.join(sorted(known))}")
        for ideal in self.joint_ideal:
            _check_joint_ideal(ideal, self.prompts)
        return self

    def joint_ideal_of(self, prompt: str, axes: Sequence[str]) -> JointIdeal | None:
        """The shares that combinations of these axes should have; the last that fits, those of the prompt first."""
        fitting = [i for i in self.joint_ideal if set(i.axes) == set(axes) and i.prompt in ("", prompt)]
        return max(reversed(fitting), key=lambda ideal: bool(ideal.prompt), default=None)


class EditPlan(Plan):
    """A plan of what editing does to pictures of social groups (Saravanan et al., "downstream").

    `images` are the pictures of each group that are edited; every prompt is a group's, its axes are what is read.

    groups       the groups' names, in the order of the prompts
    sources      where their pictures come from: a model, or a collection such as folder/PATH; "" is the model itself
    sources_args its settings
    targets      prompts' words to edit towards, by the name of their set
    strengths    how much is redrawn: 0 nothing, 1 everything
    edit_args    settings of the model while it edits; where absent, as while it makes pictures
    side         crop pictures to a square and resize them to so many pixels; 0 takes them as they are
    landmarks    who finds faces for average faces: faces, studio or none
    alignment    how faces are laid on each other: similarity, or piecewise affine
    skin         which pixels are skin: rule (by colour) or geometry (by landmarks)
    """

    method: Literal["edit"] = "edit"
    images: int = Field(default=25, ge=2, le=100_000)
    groups: tuple[Text, ...] = Field(min_length=1)
    sources: str = ""
    sources_args: dict[str, str | int | float | bool] = Field(default_factory=dict)
    targets: dict[str, tuple[Text, ...]] = Field(min_length=1)
    strengths: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(default=(0.6, 0.8, 1.0), min_length=1)
    edit_args: dict[str, str | int | float | bool] = Field(default_factory=dict)
    side: int = Field(default=0, ge=0, le=8192)
    landmarks: Literal["faces", "studio", "none"] = "none"
    alignment: Literal["similarity", "piecewise"] = "similarity"
    skin: Literal["rule", "geometry"] = "rule"

    @model_validator(mode="after")
    def _fits(self) -> EditPlan:
        if len(self.groups) != len(self.prompts):
            raise ValueError(f"{len(self.groups)} groups need as many prompts, not {len(self.prompts)}")
        for name, words in self.targets.items():
            if len(set(words)) < 2:
                raise ValueError(
                    f"the target set {name!r} holds {len(set(words))} target; a set needs two or more, so that what is "
                    f"found holds for more than one word: {name}=doctor,ceo"
                )
        if len(set(self.strengths)) < len(self.strengths):
            raise ValueError("a strength is named twice")
        if self.skin == "geometry" and self.landmarks == "none":
            raise ValueError("skin by geometry needs landmarks: faces or studio")
        return self


class MapPlan(Plan):
    """A plan of where a model attends to concepts (BiasMap); mask and branch are those of the paper.

    `images` pictures of each prompt are made; the axes of a prompt are what the instruments read in them.

    concepts    words to look for, such as gender and race
    against     by prompt, the word of it whose place in the picture theirs is held against, such as its occupation
    compared    further models, with the same settings, whose pictures of the same seeds are held against the first's
    baseline    folder of a finished run of maps, whose first model all models are held against instead
    definition  ovam: any concept, as if it stood in the prompt; daam: words of the prompt itself
    branch      whose image is listened to where there is guidance: cond or uncond
    threshold   where a map is high: percentile, max or minmax, at `tau`
    """

    method: Literal["map"] = "map"
    embedder: Text = "none"
    concepts: tuple[Text, ...] = Field(min_length=1)
    against: tuple[Text, ...] = Field(min_length=1)
    compared: tuple[Text, ...] = ()
    baseline: str = ""
    definition: Literal["ovam", "daam"] = "ovam"
    branch: Literal["cond", "uncond"] = "cond"
    threshold: Literal["percentile", "max", "minmax"] = "percentile"
    tau: float = Field(default=70.0, ge=0, le=100)

    @model_validator(mode="after")
    def _fits_prompts(self) -> MapPlan:
        if len(self.against) != len(self.prompts):
            raise ValueError(f"{len(self.prompts)} prompts need as many words to hold concepts against")
        if len(set(self.concepts)) < len(self.concepts):
            raise ValueError(f"a concept is named twice: {', '.join(self.concepts)}")
        if len({self.model, *self.compared}) <= len(self.compared):
            raise ValueError(f"a model is named twice: {', '.join((self.model, *self.compared))}")
        return self


PLANS: dict[str, type[Plan]] = {"audit": Plan, "interact": InteractionPlan, "edit": EditPlan, "map": MapPlan}
"""The kind of plan by its method."""


def read_toml(path: Path) -> dict[str, Any]:
    """What the TOML file of a plan holds. Raises UsageError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the plan {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the plan {path} is not valid TOML: {error}") from error


def read_plan(path: Path) -> Plan:
    """The plan in a TOML file. Raises UsageError that names the file, the place and what would be right."""
    return make_plan(read_toml(path), f"the plan {path}")


def make_plan(data: dict[str, Any], source: str = "the plan") -> Plan:
    """A validated plan. Raises UsageError listing every fault by its place."""
    try:
        return PLANS.get(str(data.get("method", "audit")), Plan).model_validate(data)
    except ValidationError as error:
        raise UsageError(f"{source} cannot be used: {faults(error)}") from error


def faults(error: ValidationError) -> str:
    """Every fault of a plan by its place, in one line."""
    return "; ".join(f"{_place(e['loc'])}{e['msg'].removeprefix('Value error, ')}" for e in error.errors())


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) + ": " if location else ""


def _check_ideal(axis: str, values: tuple[str, ...], ideal: dict[str, float]) -> None:
    if set(ideal) != set(values):
        raise ValueError(f"the ideal of axis {axis!r} must give a share to each of: {', '.join(values)}")
    if any(share < 0 for share in ideal.values()) or abs(sum(ideal.values()) - 1) > 1e-6:
        raise ValueError(f"the ideal shares of axis {axis!r} must be at least 0 and sum to 1")


def _check_joint_ideal(ideal: JointIdeal, prompts: Sequence[PromptPlan]) -> None:
    """The values of a joint ideal are those of the axes, wherever it is about a prompt that has them all."""
    for prompt in prompts:
        values = [axis.values for name in ideal.axes for axis in prompt.axes if axis.name == name]
        if ideal.prompt not in ("", prompt.text) or len(values) < len(ideal.axes):
            continue
        for combination in ideal.by_values():
            fits = len(combination) == len(values)
            if not fits or any(v not in known for v, known in zip(combination, values, strict=True)):
                raise ValueError(f"{ideal.source} names {SLASH.join(combination)!r}; {SLASH.join(ideal.axes)} have: "
                                 f"{'; '.join(', '.join(known) for known in values)}")  # fmt: skip
    if min(ideal.shares.values(), default=-1) < 0 or abs(sum(ideal.shares.values()) - 1) > 1e-6:
        raise ValueError(f"the joint shares of {ideal.source} must be at least 0 and sum to 1")


def _without_none(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_none(value) for key, value in node.items() if value is not None}
    if isinstance(node, list):
        return [_without_none(value) for value in node]
    return node
