"""From a request to a plan of interactions: an audit's plan with BiasConnect's questions and the ideal shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from askew.errors import UsageError
from askew.parts.survey.propose import survey_plan
from askew.plan import AxisPlan, PromptPlan
from askew.plans.interactions import SLASH, InteractionPlan
from askew.plans.reading import make_plan
from askew.plans.reference import (
    Reference,
    given_shares,
    ideal_shares,
    observed_shares,
    read_joint_reference,
    read_reference,
)
from askew.prompts.axes import table_question
from askew.prompts.biasconnect import asked_as_in_biasconnect
from askew.results.file import RESULTS_FILE, read_results
from askew.types import Axis, Question

UNIFORM = "uniform"
AXIS = "{axis}"
"""Stands for the name of the mitigated axis in the name and the settings of a mitigated model or run."""

OWN = (
    "distance",
    "threshold",
    "open_threshold",
    "global_threshold",
    "least_sensitivity",
    "as_read",
    "joint",
    "mitigated_args",
    "mixture",
    "mixture_prompts",
    "mixture_worsening",
    "mixture_images",
)
"""Fields of `InteractionPlan` that other plans do not have."""


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

    `ideal` names the shares that pictures should have, later ones before earlier ones: "uniform", a table of
    `reference.SHIPPED`, a CSV file, the folder of a finished run whose initial pictures give them, or
    AXIS=VALUE:SHARE,VALUE:SHARE. `open_answers` asks for any answer instead of the axes' values, as TIBET does.
    `joint_ideal` names joint shares: a CSV file, or AXIS,AXIS=VALUE/VALUE:SHARE,… . `mitigated` names a model or a
    finished run for an axis, AXIS=NAME, or with {axis} in it for every axis. `settings` are the other fields of
    `InteractionPlan`. Raises UsageError.
    """
    own = {name: settings.pop(name) for name in OWN if name in settings}
    audit = survey_plan(prompts, axes=axes, vqa=vqa, **settings, embedder="none")
    references = _references(ideal)
    planned = [_prompt(prompt, references, open_answers) for prompt in audit.prompts]
    own["joint_ideal"] = [one for name in joint_ideal for one in _joint_ideals(name, prompts=planned)]
    own["mitigated"] = _mitigated(mitigated, planned, own.get("mitigated_args", {}))
    data = audit.model_dump() | own | {"method": "interact", "prompts": [prompt.model_dump() for prompt in planned]}
    plan = make_plan(data, "this request")
    if not isinstance(plan, InteractionPlan):
        raise TypeError(f"a plan of interactions became a {type(plan).__name__}")
    return plan


def _prompt(prompt: PromptPlan, references: Sequence[Reference], open_answers: bool) -> PromptPlan:
    return PromptPlan(
        text=prompt.text, axes=tuple(_axis(prompt.text, axis, references, open_answers) for axis in prompt.axes)
    )


def _axis(prompt: str, planned: AxisPlan, references: Sequence[Reference], open_answers: bool) -> AxisPlan:
    axis = _opened(planned.axis()) if open_answers else asked_as_in_biasconnect(planned.axis())
    made = AxisPlan.of(axis, planned.counterfactuals)
    return made.model_copy(update={"ideal": ideal_shares(references, prompt, axis)})


def _opened(axis: Axis) -> Axis:
    """The axis with any answer allowed, asked as TIBET asks it."""
    return replace(axis, values=(), questions=(Question(table_question(axis.name), (), axis.name),))


def _joint_ideals(name: str, prompts: Sequence[PromptPlan]) -> list[dict[str, Any]]:
    """What a joint reference says about each prompt, as fields of `JointIdeal`."""
    reference = read_joint_reference(name)
    found = {prompt.text: reference.ideal(prompt.text) for prompt in prompts}
    return [
        {"prompt": text, "axes": reference.axes, "source": reference.name,
         "shares": {SLASH.join(values): share for values, share in shares.items()}}
        for text, shares in found.items()
        if shares is not None
    ]  # fmt: skip


def _mitigated(named: Sequence[str], prompts: Sequence[PromptPlan], settings: Mapping[str, object]) -> dict[str, str]:
    """By axis the model or run in which it is mitigated, from names that are AXIS=NAME or hold {axis}."""
    axes = list(dict.fromkeys(a.name for p in prompts for a in p.axes))
    found: dict[str, str] = {}
    for text in named:
        axis, equals, name = text.partition("=")
        if equals and axis in axes:
            found[axis] = name
        elif AXIS in text or any(AXIS in str(value) for value in settings.values()):
            found |= _of_every_axis(text, axes)
        else:
            raise UsageError(
                f"{text!r} does not say which axis is mitigated: write AXIS={text}, or {AXIS} in the name or in "
                f"--mitigated-arg; the axes are: {', '.join(axes)}"
            )
    return found


def _of_every_axis(text: str, axes: Sequence[str]) -> dict[str, str]:
    """The name with every axis in it; if runs have such names, those of the axes that have one."""
    names = {axis: text.replace(AXIS, axis) for axis in axes}
    runs = {axis: name for axis, name in names.items() if is_run(name)}
    return runs or names


def is_run(name: str) -> bool:
    """Whether this is the folder of a finished run, and not the name of a model or a table."""
    return (Path(name) / RESULTS_FILE).exists()


def _references(ideal: Sequence[str]) -> list[Reference]:
    return [_reference(name) for name in ideal if name != UNIFORM]


def _reference(name: str) -> Reference:
    if is_run(name):
        return observed_shares(name, read_results(Path(name)).get("shares") or ())
    if "=" in name:
        return given_shares(name)
    if Path(name).is_dir():
        raise UsageError(f"{name} holds no {RESULTS_FILE}: name the folder of a finished run, or a CSV file of shares")
    return read_reference(name)
