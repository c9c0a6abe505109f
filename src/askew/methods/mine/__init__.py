"""Method `mine`: search for the prompts on which a model is most biased (MineTheGap)."""

from collections.abc import Iterator
from functools import partial

from askew import conditions
from askew.findings import LocatedEstimate
from askew.method import Method
from askew.methods.mine.findings import MineFindings, MiningResult
from askew.methods.mine.gather import gather
from askew.methods.mine.page import page
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.score import score


def _held_out_scores(findings: MineFindings) -> Iterator[LocatedEstimate]:
    """Yield the held-out scores of mined prompts, but not of prompts from random search."""
    for estimate in conditions.estimates_of("held_out_score", findings):
        if "random" not in estimate.address:
            yield estimate


METHOD = Method(
    name="mine",
    plan=MinePlan,
    findings=MineFindings,
    gather=gather,
    score=score,
    page=page,
    result=MiningResult,
    label=lambda plan: plan.model,
    scores={
        "held_out_score": _held_out_scores,
        "score": lambda findings: conditions.estimates_of("score", findings.minethegap.best),
        "difference": partial(conditions.estimates_of, "difference"),
    },
)
