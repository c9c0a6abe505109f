"""askew measures which way text-to-image models lean.

>>> import askew
>>> result = askew.audit("a photo of a nurse", model="studio/planted", images=48)  # doctest: +SKIP
>>> result.mad("gender")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askew.api.audit import audit
    from askew.api.interact import interact
    from askew.api.mine import mine
    from askew.api.mine_compare import mine_compare
    from askew.api.mine_study import MiningStudy, mine_study
    from askew.api.runs import compare
    from askew.errors import AskewError
    from askew.jobs.compare import Comparison
    from askew.methods.classify.command import classify
    from askew.methods.classify.result import ClassificationResult
    from askew.methods.edit.command import edit
    from askew.methods.edit.result import EditingResult
    from askew.methods.map.command import map
    from askew.methods.map.result import MapResult
    from askew.plan import Plan
    from askew.plans.reading import read_plan
    from askew.results.audit import AuditResult
    from askew.results.interactions import InteractionResult
    from askew.results.mining import MiningResult
    from askew.results.mining_comparison import MiningComparisonResult
    from askew.types import Axis, Estimate, Missing, Observation, Picture, Prompt, Question

__version__ = version("askew")

__all__ = [
    "AskewError",
    "AuditResult",
    "Axis",
    "ClassificationResult",
    "Comparison",
    "EditingResult",
    "Estimate",
    "InteractionResult",
    "MapResult",
    "MiningComparisonResult",
    "MiningResult",
    "MiningStudy",
    "Missing",
    "Observation",
    "Picture",
    "Plan",
    "Prompt",
    "Question",
    "__version__",
    "audit",
    "classify",
    "compare",
    "edit",
    "interact",
    "map",
    "mine",
    "mine_compare",
    "mine_study",
    "read_plan",
]

_HOMES = {
    "askew.api.audit": ("audit",),
    "askew.api.runs": ("compare",),
    "askew.methods.edit.command": ("edit",),
    "askew.methods.edit.result": ("EditingResult",),
    "askew.api.interact": ("interact",),
    "askew.methods.classify.command": ("classify",),
    "askew.methods.classify.result": ("ClassificationResult",),
    "askew.results.audit": ("AuditResult",),
    "askew.jobs.compare": ("Comparison",),
    "askew.errors": ("AskewError",),
    "askew.results.interactions": ("InteractionResult",),
    "askew.api.mine": ("mine",),
    "askew.api.mine_compare": ("mine_compare",),
    "askew.api.mine_study": ("MiningStudy", "mine_study"),
    "askew.methods.map.result": ("MapResult",),
    "askew.results.mining": ("MiningResult",),
    "askew.results.mining_comparison": ("MiningComparisonResult",),
    "askew.plan": ("Plan",),
    "askew.plans.reading": ("read_plan",),
    "askew.types": ("Axis", "Estimate", "Missing", "Observation", "Picture", "Prompt", "Question"),
}


def __getattr__(name: str) -> object:
    """Public names are loaded when they are first asked for, so that `import askew` is quick."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    for point in entry_points(group="askew.methods", name=name.replace("_", "-")):
        return getattr(import_module(f"{point.module}.command"), name)
    raise AttributeError(f"module 'askew' has no attribute {name!r}")
