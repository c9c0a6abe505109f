"""The prompts that a model is most one-sided on, found by a search (MineTheGap)."""

from functools import partial

from askew import conditions
from askew.method import Method
from askew.methods.mine.findings import MineFindings, MiningResult
from askew.methods.mine.gather import gather
from askew.methods.mine.page import page
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.score import score

METHOD = Method(
    "mine",
    MinePlan,
    MineFindings,
    gather,
    score,
    page,
    MiningResult,
    label=lambda plan: plan.model,
    scores={
        "fresh_score": lambda found: (
            one
            for one in conditions.estimates_of("fresh_score", found)
            if "random" not in one.address
        ),
        "score": lambda found: conditions.estimates_of("score", found.minethegap.best),
        "difference": partial(conditions.estimates_of, "difference"),
    },
)
