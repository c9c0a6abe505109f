"""From what was gathered to the findings of an audit: shares, their differences, reading errors,
TIBET's scores.
"""

from askew.findings import Head
from askew.methods.audit.findings import AuditFindings, Tibet
from askew.methods.audit.gather import AuditGathered
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.tibet import domain, paired, tibet, with_q
from askew.parts.scoring import Scoring
from askew.parts.survey.missing_pictures import missing_pictures
from askew.parts.survey.shares import SetShares, differences, shares, with_q_of_differences
from askew.parts.survey.verdicts import with_verdicts
from askew.types import Estimate


def score(plan: AuditPlan, found: AuditGathered, head: Head) -> AuditFindings:
    """The findings of a run. The q of a distance and of MAD are those of the verdict on their axis.
    Shares are those of every axis in initial sets and conditions, and in the counterfactuals of an
    axis of that axis alone; differences are those between the initial set and conditions.
    """
    readers = dict.fromkeys(plan.vqa)
    entries = list[Tibet]()
    counted = list[SetShares]()
    moved = []
    for prompt in plan.prompts:
        sets = found.observed[prompt.text]
        text = prompt.text
        if found.captioner and (own := paired(prompt, sets)):
            axes = [axis.axis() for axis in prompt.axes]
            vectors = (found.vectors or {}).get(text)
            scoring = Scoring.of(plan, found.captioner)
            entries.append(tibet(own[0], own[1:], axes, scoring, vectors, plan.concepts == "axis"))
        free = [one for one in sets if not prompt.has(one.prompt.axis)]
        counted += [
            shares(one, axis, text, Scoring.of(plan, name), found.errors.get((name, axis.name)))
            for one in sets
            for axis in prompt.closed
            for name in readers
            if one.prompt.axis == axis.name or not prompt.has(one.prompt.axis)
        ]
        moved += [
            one
            for axis in prompt.closed
            for name in readers
            for one in differences(free, axis, text, Scoring.of(plan, name))
        ]
    mads = {
        (entry.prompt, name): axis.mad.p
        for entry in entries
        for name, axis in entry.axes.items()
        if isinstance(axis.mad, Estimate) and axis.mad.p is not None
    }
    judged, qs = with_verdicts(counted, mads, found.captioner)
    scores = with_q(entries, qs)
    return head.into(
        AuditFindings,
        missing_pictures=missing_pictures(found.observed, Scoring.of(plan)),
        shares=judged,
        differences=with_q_of_differences(moved),
        confusion=found.confusion,
        tibet=scores,
        domain=domain(scores, plan.confidence),
    )
