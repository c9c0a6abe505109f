"""Where a model attends to concepts while it makes pictures (BiasMap)."""

from askew.method import Method
from askew.methods.map.findings import MapFindings, MapResult
from askew.methods.map.gather import gather
from askew.methods.map.page import page
from askew.methods.map.plan import MapPlan
from askew.methods.map.score import score

METHOD = Method(
    "map",
    MapPlan,
    MapFindings,
    gather,
    score,
    page,
    MapResult,
    label=lambda plan: plan.prompts[0].text,
)
