"""Compute the findings of an audit: shares, differences, labeling errors and TIBET's scores."""

from askew.findings import Head
from askew.methods.audit.compared import paired_verdicts
from askew.methods.audit.depth import without_tests
from askew.methods.audit.findings import AuditFindings, Tibet
from askew.methods.audit.gather import AuditGathered
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.stopping import sequential_shares
from askew.methods.audit.tibet import domain, paired, tibet, with_q
from askew.parts.scoring import Scoring
from askew.parts.survey.agreement import agreement
from askew.parts.survey.missing_labels import missing_labels
from askew.parts.survey.missing_pictures import missing_pictures
from askew.parts.survey.over_prompts import differences_over_prompts
from askew.parts.survey.rewriting import rewriting
from askew.parts.survey.shares import (
    SharesDifference,
    differences,
    with_q_of_differences,
)
from askew.parts.survey.verdicts import survey_shares, with_counterfactual_sets
from askew.plan import PromptPlan


def score(plan: AuditPlan, gathered: AuditGathered, head: Head) -> AuditFindings:
    """Return the findings of an audit.

    Shares in baseline sets and conditions are computed for all axes. Shares in a counterfactual set
    are computed only for the axis that the set varies. Differences are computed between baseline
    sets and conditions.

    Parameters
    ----------
    plan, gathered
        Plan and gathered data of the run.
    head
        Fields that the findings of all methods share.
    """
    scores: list[Tibet] = []
    changes: list[SharesDifference] = []
    for prompt in plan.prompts:
        of_prompt = _tibet(plan, gathered, prompt)
        if of_prompt is not None:
            scores.append(without_tests(of_prompt, plan))
        changes += _differences(plan, gathered, prompt)
    scores_with_q = with_q(scores)
    if plan.until:
        judged = sequential_shares(plan, gathered.observed, gathered.errors)
    elif gathered.baseline is not None:
        judged = with_counterfactual_sets(
            gathered.baseline, plan, gathered.observed, gathered.errors
        )
    else:
        judged = survey_shares(plan, gathered.observed, gathered.errors, counterfactuals=True)
    together = differences_over_prompts(judged.of_sets, Scoring.of(plan))
    all_changes = with_q_of_differences([*changes, *together])
    return head.into(
        AuditFindings,
        missing_pictures=missing_pictures(gathered.observed, Scoring.of(plan)),
        shares=judged.of_sets,
        differences=all_changes[: len(changes)],
        confusion=gathered.confusion,
        tibet=scores_with_q,
        domain=domain(scores_with_q, plan.confidence),
        shares_over_prompts=judged.over_prompts,
        differences_over_prompts=all_changes[len(changes) :],
        following=gathered.following,
        rewriting=rewriting(plan, gathered.sent, gathered.observed),
        missing_labels=missing_labels(gathered.observed, gathered.confusion, Scoring.of(plan)),
        compared=paired_verdicts(plan, gathered.observed, gathered.compared),
        agreement=tuple(agreement(entry, Scoring.of(plan)) for entry in gathered.ratings),
    )


def _tibet(plan: AuditPlan, gathered: AuditGathered, prompt: PromptPlan) -> Tibet | None:
    """Compute TIBET's scores for a prompt; return None if it has no counterfactuals.

    The scores need an instrument that describes images.
    """
    sets = paired(prompt, gathered.observed[prompt.text])
    if not gathered.captioner or not sets:
        return None
    return tibet(
        initial=sets[0],
        counterfactuals=sets[1:],
        axes=[axis.axis() for axis in prompt.axes],
        scoring=Scoring.of(plan, gathered.captioner),
        vectors=(gathered.vectors or {}).get(prompt.text),
        own_concepts=plan.concepts == "axis",
    )


def _differences(
    plan: AuditPlan, gathered: AuditGathered, prompt: PromptPlan
) -> list[SharesDifference]:
    """Return the differences in shares between the baseline set and the conditions of a prompt."""
    conditions = [
        observed
        for observed in gathered.observed[prompt.text]
        if not prompt.has(observed.prompt.axis)
    ]
    entries = []
    for axis in prompt.closed:
        for instrument in dict.fromkeys(plan.vqa):
            scoring = Scoring.of(plan, instrument)
            entries += differences(conditions, axis, prompt.text, scoring)
    return entries
