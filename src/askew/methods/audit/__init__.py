"""Which way a model leans: what its pictures of a prompt show, and which counterfactuals they
resemble (TIBET).
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from askew.conditions import of
from askew.findings import LocatedEstimate
from askew.method import Method
from askew.methods.audit.findings import AuditFindings, AuditResult
from askew.methods.audit.gather import gather
from askew.methods.audit.page import page
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.score import score
from askew.types import Estimate


def _leans(found: AuditFindings) -> Iterator[LocatedEstimate]:
    """The distances of the prompts' own pictures and of conditions, with the p and q of the verdict
    on them.
    """
    for k, one in enumerate(found.shares):
        if one.verdict and isinstance(one.distance, Estimate):
            names = {
                "prompt": one.prompt,
                "set": one.set,
                "axis": one.axis,
                "instrument": one.instrument,
            }
            lean = replace(one.distance, p=one.verdict.p, q=one.verdict.q)
            yield LocatedEstimate("lean", ("shares", k, "verdict"), names, lean)


METHOD = Method(
    "audit",
    AuditPlan,
    AuditFindings,
    gather,
    score,
    page,
    AuditResult,
    label=lambda plan: plan.prompts[0].text,
    scores={
        "mad": partial(of, "mad"),
        "mad_clip": partial(of, "mad_clip"),
        "distance": lambda found: (
            one for one in of("distance", found) if one.names.get("set") == "initial"
        ),
        "lean": _leans,
    },
)
