"""Given prompts on some models, by how one-sided their pictures are, and against a table of shares."""

from askew.method import Method, Result
from askew.studies.rank.page import page
from askew.studies.rank.steps import RankFindings, RankPlan, gather, score


class RankResult(Result[RankPlan, RankFindings]):
    """A finished run of `askew rank`."""


METHOD = Method(
    "rank",
    RankPlan,
    RankFindings,
    gather,
    score,
    page,
    RankResult,
    label=lambda plan: plan.models[0].name,
)
