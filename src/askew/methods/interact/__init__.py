"""How biases pull on each other: which axes move when one is made equal (BiasConnect)."""

from functools import partial

from askew import conditions
from askew.method import Method
from askew.methods.interact.findings import InteractionFindings, InteractionResult
from askew.methods.interact.gather import gather
from askew.methods.interact.page import page
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.score import pulls, score

METHOD = Method(
    "interact",
    InteractionPlan,
    InteractionFindings,
    gather,
    score,
    page,
    InteractionResult,
    label=lambda plan: plan.prompts[0].text,
    scores={"sensitivity": pulls}
    | {
        name: partial(conditions.estimates_of, name)
        for name in ("amplification", "negative_share", "distance")
    },
)
