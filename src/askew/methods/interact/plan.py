"""The plan of how biases pull on each other, and how a request becomes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.parts.references import Reference, is_run, named_references, with_ideal
from askew.parts.survey.propose import survey_plan
from askew.plan import AxisPlan, Plan, PromptPlan, Settings, Text
from askew.prompts.axes import table_question
from askew.prompts.given import asked_as_in_biasconnect
from askew.types import Question

AXIS = "{axis}"
"""Stands for the name of the mitigated axis in the name and the settings of a mitigated model or run."""


class InteractionPlan(Plan):
    """A plan of how biases pull on each other (BiasConnect); its thresholds are those of the paper.

    distance          how an axis's shares are held against the ideal; "auto" by the axis's scale
    threshold         p below which an axis depends on another; of axes with open answers `open_threshold`
    global_threshold  the same in tables over all prompts, where |IS| must exceed `least_sensitivity` too
    as_read           whether to leave the instrument's known errors uncorrected
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
    mitigated: dict[str, Text] = Field(default_factory=dict)
    mitigated_args: Settings = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_axes(self) -> InteractionPlan:
        if self.distance == "values" and any(axis.ideal for prompt in self.prompts for axis in prompt.axes):
            raise ValueError("the distance 'values' forgets which value has which share; it needs a uniform ideal")
        known = {axis.name for prompt in self.prompts for axis in prompt.axes}
        if not known >= set(self.mitigated):
            raise ValueError(f"mitigated axes must be among those of the plan: {', '.join(sorted(known))}")
        return self


def plan_interactions(
    prompts: Sequence[str],
    *,
    axes: Sequence[str] | None = None,
    vqa: Sequence[str] | None = None,
    ideal: Sequence[str] = (),
    open_answers: bool = False,
    mitigated: Sequence[str] = (),
    **settings: Any,
) -> InteractionPlan:
    """A plan for `prompts`, with axes and counterfactuals by the writer `llm`.

    `ideal` names the shares that pictures should have (`named_references`), later ones before earlier ones.
    `open_answers` asks for any answer instead of the axes' values, as TIBET does.
    `mitigated` names a model or a finished run for an axis, AXIS=NAME, or with {axis} in it for every axis. `settings`
    are the other fields of `InteractionPlan`. Raises UsageError.
    """
    own = {name: settings.pop(name) for name in InteractionPlan.model_fields.keys() - Plan.model_fields.keys()
           if name in settings}  # fmt: skip
    survey = survey_plan(prompts, axes=axes, vqa=vqa, **settings, embedder="none")
    references = named_references(ideal)
    planned = [
        PromptPlan(text=one.text, axes=tuple(_axis(one.text, axis, references, open_answers) for axis in one.axes))
        for one in survey.prompts
    ]
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
