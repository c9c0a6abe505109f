"""Method `mitigate`: mitigate several biases together, and evaluate the result."""

from functools import partial

from askew.conditions import estimates_of
from askew.method import Method
from askew.methods.mitigate.findings import MitigationFindings, MitigationResult
from askew.methods.mitigate.gather import gather
from askew.methods.mitigate.page import page
from askew.methods.mitigate.plan import MitigationPlan
from askew.methods.mitigate.score import score

SCORES = ("change", "after", "followed", "rise")
"""Scores that `--fail-if` accepts."""

METHOD = Method(
    name="mitigate",
    plan=MitigationPlan,
    findings=MitigationFindings,
    gather=gather,
    score=score,
    page=page,
    result=MitigationResult,
    label=lambda plan: plan.prompts[0].text,
    scores={name: partial(estimates_of, name) for name in SCORES},
)
