"""Method `interact`: measure how axes would change if another axis were uniform (BiasConnect)."""

from functools import partial

from askew import conditions
from askew.method import Method
from askew.methods.interact.findings import InteractionFindings, InteractionResult
from askew.methods.interact.gather import gather
from askew.methods.interact.page import page
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.score import edge_sensitivities, score

METHOD = Method(
    name="interact",
    plan=InteractionPlan,
    findings=InteractionFindings,
    gather=gather,
    score=score,
    page=page,
    result=InteractionResult,
    label=lambda plan: plan.prompts[0].text,
    scores={
        "sensitivity": edge_sensitivities,
        "amplification": partial(conditions.estimates_of, "amplification"),
        "negative_share": partial(conditions.estimates_of, "negative_share"),
        "distance": partial(conditions.estimates_of, "distance"),
    },
)
