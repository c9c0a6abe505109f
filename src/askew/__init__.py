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
    from askew.api.classify import classify
    from askew.api.edit import edit
    from askew.api.interact import interact
    from askew.api.runs import compare
    from askew.errors import AskewError
    from askew.jobs.compare import Comparison
    from askew.methods.map.command import map
    from askew.methods.map.result import MapResult
    from askew.methods.mine.command import mine
    from askew.methods.mine.result import MiningResult
    from askew.plan import Plan
    from askew.plans.reading import read_plan
    from askew.results.audit import AuditResult
    from askew.results.classification import ClassificationResult
    from askew.results.editing import EditingResult
    from askew.results.interactions import InteractionResult
    from askew.studies.mine_compare.command import mine_compare
    from askew.studies.mine_compare.result import MiningComparisonResult
    from askew.studies.mine_study.command import MiningStudy, mine_study
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
    "askew.api.edit": ("edit",),
    "askew.api.interact": ("interact",),
    "askew.api.classify": ("classify",),
    "askew.results.audit": ("AuditResult",),
    "askew.results.classification": ("ClassificationResult",),
    "askew.jobs.compare": ("Comparison",),
    "askew.results.editing": ("EditingResult",),
    "askew.errors": ("AskewError",),
    "askew.results.interactions": ("InteractionResult",),
    "askew.methods.map.result": ("MapResult",),
    "askew.methods.mine.result": ("MiningResult",),
    "askew.studies.mine_compare.result": ("MiningComparisonResult",),
    "askew.studies.mine_study.command": ("MiningStudy", "mine_study"),
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
