"""From a request to a plan of interactions: an audit's plan with BiasConnect's questions and the ideal shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from askew.errors import UsageError
from askew.planning.audit import plan_audit
from askew.plans.plan import AxisPlan, InteractionPlan, PromptPlan, make_plan
from askew.plans.reference import Reference, given_shares, ideal_shares, observed_shares, read_reference
from askew.prompts.axes import table_question
from askew.prompts.biasconnect import asked_as_in_biasconnect
from askew.results.file import RESULTS_FILE, read_results
from askew.types import Axis, Question

UNIFORM = "uniform"

OWN = (
    "distance",
    "threshold",
    "open_threshold",
    "global_threshold",
    "least_sensitivity",
    "joint",
    "mitigated",
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
    **settings: Any,
) -> InteractionPlan:
    """A plan for `prompts`, with axes and counterfactuals by the writer `llm`.

    `ideal` names the shares that pictures should have, later ones before earlier ones: "uniform", a table of
    `reference.SHIPPED`, a CSV file, the folder of a finished run whose initial pictures give them, or
    AXIS=VALUE:SHARE,VALUE:SHARE. `open_answers` asks for any answer instead of the axes' values, as TIBET does.
    `settings` are the other fields of `InteractionPlan`. Raises UsageError.
    """
    own = {name: settings.pop(name) for name in OWN if name in settings}
    audit = plan_audit(prompts, axes=axes, vqa=vqa, **settings, embedder="none")
    references = _references(ideal)
    planned = [_prompt(prompt, references, open_answers) for prompt in audit.prompts]
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


def _references(ideal: Sequence[str]) -> list[Reference]:
    return [_reference(name) for name in ideal if name != UNIFORM]


def _reference(name: str) -> Reference:
    if (Path(name) / RESULTS_FILE).exists():
        return observed_shares(name, read_results(Path(name)).get("shares") or ())
    if "=" in name:
        return given_shares(name)
    if Path(name).is_dir():
        raise UsageError(f"{name} holds no {RESULTS_FILE}: name the folder of a finished run, or a CSV file of shares")
    return read_reference(name)
