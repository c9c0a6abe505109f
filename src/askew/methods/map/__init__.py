"""Method `map`: map a model's attention to concepts while it generates images (BiasMap)."""

from askew.method import Method
from askew.methods.map.findings import MapFindings, MapResult
from askew.methods.map.gather import gather
from askew.methods.map.page import page
from askew.methods.map.plan import MapPlan
from askew.methods.map.score import score

METHOD = Method(
    name="map",
    plan=MapPlan,
    findings=MapFindings,
    gather=gather,
    score=score,
    page=page,
    result=MapResult,
    label=lambda plan: plan.prompts[0].text,
)
