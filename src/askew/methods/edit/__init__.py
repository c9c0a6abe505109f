"""Method `edit`: measure how editing images changes perceived gender, skin tone and similarity."""

from functools import partial

from askew.method import Method
from askew.methods.edit.findings import SCORES, EditFindings, EditingResult, scores_of
from askew.methods.edit.gather import gather
from askew.methods.edit.page import page
from askew.methods.edit.plan import EditPlan
from askew.methods.edit.score import score

METHOD = Method(
    name="edit",
    plan=EditPlan,
    findings=EditFindings,
    gather=gather,
    score=score,
    page=page,
    result=EditingResult,
    label=lambda plan: plan.groups[0],
    scores={name: partial(scores_of, name) for name in SCORES}
    | {"axis_change": partial(scores_of, "other_axes")},
)
