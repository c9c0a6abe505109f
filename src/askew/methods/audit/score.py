"""From what was gathered to the findings of an audit: shares, their differences, reading errors, TIBET's scores."""

from __future__ import annotations

from askew.findings import Head
from askew.methods.audit.findings import AuditFindings, Tibet
from askew.methods.audit.gather import AuditGathered
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.tibet import domain, paired, tibet, with_q
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import missing_pictures
from askew.parts.survey.reader import Errors, confusions, known_errors
from askew.parts.survey.shares import (
    SetShares,
    SharesDifference,
    differences,
    shares,
    with_q_of_differences,
    with_verdicts,
)
from askew.types import Estimate


def score(plan: AuditPlan, found: AuditGathered, head: Head) -> AuditFindings:
    """The findings of a run. The q of a distance and of MAD are those of the verdict on their axis."""
    confused = confusions(plan.prompts, found.observed, plan.vqa)
    scores = _tibet(plan, found)
    mads = {(entry.prompt, name): axis.mad.p for entry in scores for name, axis in entry.axes.items()
            if isinstance(axis.mad, Estimate) and axis.mad.p is not None}  # fmt: skip
    counted, qs = with_verdicts(_shares(plan, found, known_errors(found.errors, confused)), plan.prompts, mads,
                                found.captioner)  # fmt: skip
    scores = with_q(scores, qs)
    return head.into(
        AuditFindings,
        missing_pictures=missing_pictures(found.observed, _scoring(plan, plan.vqa[0])),
        shares=counted,
        differences=with_q_of_differences(_differences(plan, found)),
        confusion=confused,
        tibet=scores,
        domain=domain(scores, plan.level),
    )


def _shares(plan: AuditPlan, found: AuditGathered, known: Errors) -> list[SetShares]:
    """Every axis in initial sets and conditions, and in the counterfactuals of an axis that axis alone."""
    return [
        shares(observed, axis, prompt.text, _scoring(plan, name), known.get((name, axis.name)))
        for prompt in plan.prompts
        for observed in found.observed[prompt.text]
        for axis in prompt.closed
        for name in dict.fromkeys(plan.vqa)
        if observed.prompt.axis == axis.name or not prompt.has(observed.prompt.axis)
    ]


def _differences(plan: AuditPlan, found: AuditGathered) -> list[SharesDifference]:
    """Between the initial set and conditions that are no counterfactuals."""
    return [
        entry
        for prompt in plan.prompts
        for axis in prompt.closed
        for name in dict.fromkeys(plan.vqa)
        for entry in differences([one for one in found.observed[prompt.text] if not prompt.has(one.prompt.axis)],
                                 axis, prompt.text, _scoring(plan, name))
    ]  # fmt: skip


def _tibet(plan: AuditPlan, found: AuditGathered) -> tuple[Tibet, ...]:
    """One entry per prompt that has an initial set and counterfactuals."""
    if found.captioner is None:
        return ()
    scoring = _scoring(plan, found.captioner)
    entries = []
    for prompt in plan.prompts:
        if sets := paired(prompt, found.observed[prompt.text]):
            axes, vectors = [axis.axis() for axis in prompt.axes], (found.vectors or {}).get(prompt.text)
            entries.append(tibet(sets[0], sets[1:], axes, scoring, vectors, plan.concepts == "axis"))
    return tuple(entries)


def _scoring(plan: AuditPlan, instrument: str) -> Scoring:
    return Scoring(instrument, plan.seed, plan.draws, plan.level, plan.variant)
