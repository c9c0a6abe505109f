"""The plan of an audit, and how a request becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from askew.parts.references import with_ideals
from askew.parts.survey.propose import survey_plan
from askew.plan import Plan


class AuditPlan(Plan):
    """Pictures of prompts and of their counterfactuals, or a collection's, and what is read in them (TIBET)."""

    method: Literal["audit"] = "audit"
    concepts: Literal["all", "axis"] = "all"
    """Whether CAS and MAD of an axis come from all answers (the paper's), or from those about the axis alone."""


def plan_audit(prompts: Sequence[str], *, ideal: Sequence[str] = (), **settings: Any) -> AuditPlan:
    """A plan for `prompts`, with axes and counterfactuals by a writer; `settings` are those of `survey_plan`.

    `ideal` names the shares that pictures should have (`named_references`). Raises UsageError.
    """
    own = {name: settings.pop(name) for name in ("concepts",) if name in settings}
    made = survey_plan(prompts, **settings)
    planned = [prompt.model_dump() for prompt in with_ideals(made.prompts, ideal)]
    return AuditPlan.checked({**made.model_dump(), **own, "prompts": planned}, "this request")
