"""Method `audit`: measure shares of perceived values and concept association (TIBET)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from askew.conditions import estimates_of
from askew.findings import LocatedEstimate
from askew.method import Method
from askew.methods.audit.findings import AuditFindings, AuditResult
from askew.methods.audit.gather import gather
from askew.methods.audit.page import page
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.score import score
from askew.parts.survey.shares import SetShares
from askew.types import Estimate


def _verdicts(findings: AuditFindings) -> Iterator[LocatedEstimate]:
    """Yield all deviations from the reference, for each image set and pooled over all prompts."""
    yield from _verdicts_of("shares", findings.shares)
    yield from _verdicts_of("shares_over_prompts", findings.shares_over_prompts)


def _verdicts_of(field: str, entries: Sequence[SetShares]) -> Iterator[LocatedEstimate]:
    for place, entry in enumerate(entries):
        if entry.verdict and isinstance(entry.distance, Estimate):
            names = {
                "prompt": entry.prompt,
                "set": entry.set,
                "axis": entry.axis,
                "instrument": entry.instrument,
            }
            deviation = replace(entry.distance, p=entry.verdict.p, q=entry.verdict.q)
            yield LocatedEstimate("verdict", (field, place, "verdict"), names, deviation)


def _distances(findings: AuditFindings) -> Iterator[LocatedEstimate]:
    """Yield the deviation of each baseline set from the reference."""
    for located in estimates_of("distance", findings):
        if located.names.get("set") == "initial":
            yield located


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
        "mad": partial(estimates_of, "mad"),
        "mad_clip": partial(estimates_of, "mad_clip"),
        "distance": _distances,
        "verdict": _verdicts,
    },
)
