"""Method that measures how many colors a model shows."""

from askew.method import Method, Result
from askew_stripes.variety.steps import VarietyFindings, VarietyPlan, gather, page, score

METHOD = Method(
    name="variety",
    plan=VarietyPlan,
    findings=VarietyFindings,
    gather=gather,
    score=score,
    page=page,
    result=Result,
    label=lambda plan: plan.prompt,
)
