"""The plan of an audit."""

from typing import Literal

from askew.plan import Plan


class AuditPlan(Plan):
    """Pictures of prompts and of their counterfactuals, or a collection's, and what is read in them
    (TIBET).
    """

    method: Literal["audit"] = "audit"
    concepts: Literal["all", "axis"] = "all"
    """Whether CAS and MAD of an axis come from all answers (the paper's), or from those about the
    axis alone.
    """
