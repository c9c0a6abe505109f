"""Rank prompts by bias on one or more models, and compare the bias with real-world shares."""

from askew.method import Method, Result
from askew.studies.rank.page import page
from askew.studies.rank.plan import RankPlan
from askew.studies.rank.steps import RankFindings, gather, score


class RankResult(Result[RankPlan, RankFindings]):
    """A finished run of `askew rank`."""


METHOD = Method(
    name="rank",
    plan=RankPlan,
    findings=RankFindings,
    gather=gather,
    score=score,
    page=page,
    result=RankResult,
    label=lambda plan: plan.models[0].name,
)
