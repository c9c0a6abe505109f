"""Which way a model leans: what its pictures of a prompt show, and which counterfactuals they resemble (TIBET)."""

from collections.abc import Iterator

from askew.conditions import of
from askew.findings import Scored
from askew.method import Method
from askew.methods.audit.findings import AuditFindings, AuditResult
from askew.methods.audit.gather import gather
from askew.methods.audit.page import page
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.score import score


def _distances(found: AuditFindings) -> Iterator[Scored]:
    """Those of the prompts' own pictures."""
    return (one for one in of("distance", found) if one.names.get("set") == "initial")


METHOD = Method(
    name="audit",
    plan=AuditPlan,
    findings=AuditFindings,
    gather=gather,
    score=score,
    page=page,
    result=AuditResult,
    label=lambda plan: plan.prompts[0].text,
    scores={
        "mad": lambda found: of("mad", found),
        "mad_clip": lambda found: of("mad_clip", found),
        "distance": _distances,
    },
)
