"""Plan of an audit."""

from typing import Literal

from askew.plan import Plan


class AuditPlan(Plan):
    """A plan to label images of prompts and counterfactuals, or of a collection (TIBET).

    Attributes
    ----------
    concepts : "all" or "axis"
        Concepts of CAS and MAD: from all answers (the paper's), or from the answers about the axis.
    """

    method: str = "audit"
    concepts: Literal["all", "axis"] = "all"
