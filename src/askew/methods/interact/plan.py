"""The plan of how biases pull on each other, and how a request becomes one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.options import ProposalContext
from askew.parts.references import is_run
from askew.parts.survey.propose import survey_plan
from askew.plan import NonEmptyText, Plan, Settings
from askew.prompts.axes import table_question
from askew.prompts.given import asked_as_in_biasconnect
from askew.types import Axis, Question

AXIS = "{axis}"
"""Stands for the name of the mitigated axis in the name and the settings of a mitigated model or
run.
"""


class InteractionPlan(Plan):
    """A plan of how biases pull on each other (BiasConnect); its thresholds are those of the paper.

    distance          how an axis's shares are held against the ideal; "auto" by the axis's scale
    alpha             p below which an axis depends on another; of axes with open answers `open_threshold`
    global_threshold  the same in tables over all prompts, where |IS| must exceed `least_sensitivity` too
    as_read           whether to leave the instrument's known errors uncorrected
    mitigated         by axis, the model or the folder of the finished run in which it is mitigated
    mitigated_args    settings of those models, {axis} standing for the axis
    """

    method: Literal["interact"] = "interact"
    distance: Literal["auto", "ordinal", "nominal", "values"] = "auto"
    alpha: float = Field(default=1e-4, gt=0, lt=1)
    open_threshold: float = Field(default=0.05, gt=0, lt=1)
    global_threshold: float = Field(default=5e-5, gt=0, lt=1)
    least_sensitivity: float = Field(default=0.03, ge=0, lt=1)
    no_error_correction: bool = False
    mitigated: dict[str, NonEmptyText] = Field(default_factory=dict)
    mitigated_args: Settings = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_axes(self) -> Self:
        if self.distance == "values" and any(
            axis.reference for prompt in self.prompts for axis in prompt.axes
        ):
            raise ValueError(
                "the distance 'values' forgets which value has which share; it needs a uniform ideal"
            )
        known = {axis.name for prompt in self.prompts for axis in prompt.axes}
        if not known >= set(self.mitigated):
            raise ValueError(
                f"mitigated axes must be among those of the plan: {', '.join(sorted(known))}"
            )
        return self


def plan_interactions(
    prompts: Sequence[str],
    *,
    axes: Sequence[str] | None = None,
    reference: Sequence[str] = (),
    open_answers: bool = False,
    mitigated: Sequence[str] = (),
    desk: ProposalContext | None = None,
    **settings: object,
) -> InteractionPlan:
    """A plan for `prompts`; `settings` are those of `survey_plan`. `open_answers` asks for any
    answer instead of the axes' values, as TIBET does. `mitigated` names a model or a finished run
    for an axis, AXIS=NAME, or with {axis} in it, or in `mitigated_args`, for every axis (of runs,
    those that are there). Raises UsageError.
    """

    def any_answer(axis: Axis) -> Axis:
        return replace(
            axis, values=(), questions=(Question(table_question(axis.name), (), axis.name),)
        )

    if open_answers and reference:
        raise UsageError(
            "open answers have no values that --reference could give shares to; leave one of them out"
        )
    asked = any_answer if open_answers else asked_as_in_biasconnect
    settings["embedder"] = "none"
    made = survey_plan(
        InteractionPlan,
        prompts,
        axes=axes,
        reference=reference,
        asked=asked,
        desk=desk,
        draft=None,
        **settings,
    )
    axes = list(dict.fromkeys(axis.name for prompt in made.prompts for axis in prompt.axes))
    found: dict[str, str] = {}
    for text in mitigated:
        axis, equals, name = text.partition("=")
        if equals and axis in axes:
            found[axis] = name
        elif AXIS in text or any(AXIS in str(value) for value in made.mitigated_args.values()):
            names = {axis: text.replace(AXIS, axis) for axis in axes}
            found |= {axis: name for axis, name in names.items() if is_run(name)} or names
        else:
            raise UsageError(
                f"{text!r} does not say which axis is mitigated: write AXIS={text}, or {AXIS} in the name or in "
                f"--mitigated-arg; the axes are: {', '.join(axes)}"
            )
    return InteractionPlan.checked({**made.model_dump(), "mitigated": found}, "this request")
