"""Method `classify`: measure which classes a diffusion model assigns to images of people."""

from functools import partial

from askew.method import Method
from askew.methods.classify.findings import (
    ClassificationFindings,
    ClassificationResult,
    changes_of,
    scores_of,
)
from askew.methods.classify.gather import gather
from askew.methods.classify.page import page
from askew.methods.classify.plan import ClassificationPlan
from askew.methods.classify.score import score

PARTS = ("association", "differential", "accuracy")
"""Scores that a run reports for each number of noise samples, in addition to their changes."""

METHOD = Method(
    name="classify",
    plan=ClassificationPlan,
    findings=ClassificationFindings,
    gather=gather,
    score=score,
    page=page,
    result=ClassificationResult,
    label=lambda plan: plan.groups[0],
    scores={
        **{part: partial(scores_of, part) for part in PARTS},
        **{f"{part}_change": partial(changes_of, part) for part in PARTS},
    },
)
