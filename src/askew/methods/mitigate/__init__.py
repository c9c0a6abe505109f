"""What to do about biases together, and what it really changes: a mitigation chosen, applied and
measured again.
"""

from functools import partial

from askew import conditions
from askew.method import Method
from askew.methods.mitigate.findings import MitigationFindings, MitigationResult
from askew.methods.mitigate.gather import gather
from askew.methods.mitigate.page import page
from askew.methods.mitigate.plan import MitigationPlan
from askew.methods.mitigate.score import score

METHOD = Method(
    "mitigate",
    MitigationPlan,
    MitigationFindings,
    gather,
    score,
    page,
    MitigationResult,
    label=lambda plan: plan.prompts[0].text,
    scores={
        name: partial(conditions.estimates_of, name)
        for name in ("change", "after", "obeyed", "rise")
    },
)
