"""Every model on the prompts that `askew mine` found for every other one, or one over the values of a setting."""

from askew.method import Method
from askew.studies.mine_compare.findings import MiningComparisonFindings, MiningComparisonResult
from askew.studies.mine_compare.gather import gather
from askew.studies.mine_compare.page import page
from askew.studies.mine_compare.plan import MiningComparisonPlan
from askew.studies.mine_compare.score import score

METHOD = Method(
    name="mine-compare",
    plan=MiningComparisonPlan,
    findings=MiningComparisonFindings,
    gather=gather,
    score=score,
    page=page,
    result=MiningComparisonResult,
    label=lambda plan: f"mine-compare-{plan.vary or plan.conditions[0].name}",
)
