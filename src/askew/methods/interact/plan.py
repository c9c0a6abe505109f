"""The plan of how biases pull on each other, and how a request becomes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.parts.references import Reference, is_run, named_references, with_ideal
from askew.parts.survey.propose import survey_plan
from askew.plan import AxisPlan, Part, Plan, PromptPlan, Settings, Text
from askew.prompts.axes import table_question
from askew.prompts.given import asked_as_in_biasconnect
from askew.types import Question

SLASH = "/"
AXIS = "{axis}"
"""Stands for the name of the mitigated axis in the name and the settings of a mitigated model or run."""


class JointIdeal(Part):
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
    mitigated_args: Settings = Field(default_factory=dict)

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


def plan_interactions(
    prompts: Sequence[str],
    *,
    axes: Sequence[str] | None = None,
    vqa: Sequence[str] | None = None,
    ideal: Sequence[str] = (),
    open_answers: bool = False,
    joint_ideal: Sequence[str] = (),
    mitigated: Sequence[str] = (),
    **settings: Any,
) -> InteractionPlan:
    """A plan for `prompts`, with axes and counterfactuals by the writer `llm`.

    `ideal` names the shares that pictures should have (`named_references`), later ones before earlier ones.
    `open_answers` asks for any answer instead of the axes' values, as TIBET does.
    `joint_ideal` names joint shares: a CSV file, or AXIS,AXIS=VALUE/VALUE:SHARE,… . `mitigated` names a model or a
    finished run for an axis, AXIS=NAME, or with {axis} in it for every axis. `settings` are the other fields of
    `InteractionPlan`. Raises UsageError.
    """
    own = {name: settings.pop(name) for name in InteractionPlan.model_fields.keys() - Plan.model_fields.keys()
           if name in settings}  # fmt: skip
    survey = survey_plan(prompts, axes=axes, vqa=vqa, **settings, embedder="none")
    references = named_references(ideal)
    planned = [
        PromptPlan(text=one.text, axes=tuple(_axis(one.text, axis, references, open_answers) for axis in one.axes))
        for one in survey.prompts
    ]
    own["joint_ideal"] = [one for name in joint_ideal for one in _joint_ideals(name, planned)]
    own["mitigated"] = _mitigated(mitigated, planned, own.get("mitigated_args", {}))
    data = survey.model_dump() | own | {"method": "interact", "prompts": [prompt.model_dump() for prompt in planned]}
    return InteractionPlan.checked(data, "this request")


def _axis(prompt: str, planned: AxisPlan, references: Sequence[Reference], open_answers: bool) -> AxisPlan:
    axis = planned.axis()
    if open_answers:  # as TIBET asks
        asked = replace(axis, values=(), questions=(Question(table_question(axis.name), (), axis.name),))
    else:
        asked = asked_as_in_biasconnect(axis)
    return with_ideal(AxisPlan.of(asked, planned.counterfactuals), prompt, references)


def _joint_ideals(name: str, prompts: Sequence[PromptPlan]) -> list[JointIdeal]:
    """What a reference says about combinations of axes, for each prompt."""
    found = [
        JointIdeal(prompt=prompt.text, axes=axes, source=reference.name, shares=shares)
        for reference in named_references([name])
        for prompt in prompts
        for axes, shares in reference.joint(prompt.text).items()
    ]
    if not found:
        raise UsageError(f"--joint-ideal {name} says nothing about combinations of axes, such as gender,age")
    return found


def _mitigated(named: Sequence[str], prompts: Sequence[PromptPlan], settings: Mapping[str, object]) -> dict[str, str]:
    """By axis the model or run in which it is mitigated, from names that are AXIS=NAME or hold {axis}."""
    axes = list(dict.fromkeys(a.name for p in prompts for a in p.axes))
    found: dict[str, str] = {}
    for text in named:
        axis, equals, name = text.partition("=")
        if equals and axis in axes:
            found[axis] = name
        elif AXIS in text or any(AXIS in str(value) for value in settings.values()):
            names = {axis: text.replace(AXIS, axis) for axis in axes}
            runs = {axis: name for axis, name in names.items() if is_run(name)}  # axes that have one, if any do
            found |= runs or names
        else:
            raise UsageError(
                f"{text!r} does not say which axis is mitigated: write AXIS={text}, or {AXIS} in the name or in "
                f"--mitigated-arg; the axes are: {', '.join(axes)}"
            )
    return found
