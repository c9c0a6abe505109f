"""The plan of an audit, and how a request becomes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from askew.parts.survey.propose import survey_plan
from askew.plan import Plan


class AuditPlan(Plan):
    """Pictures of prompts and of their counterfactuals, or a collection's, and what is read in them (TIBET)."""

    method: Literal["audit"] = "audit"


def plan_audit(prompts: Sequence[str], **settings: Any) -> AuditPlan:
    """A plan for `prompts`, with axes and counterfactuals by a writer; `settings` are those of `survey_plan`.

    Raises UsageError.
    """
    return AuditPlan.checked(survey_plan(prompts, **settings).model_dump(), "this request")
