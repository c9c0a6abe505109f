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
    from askew.errors import AskewError
    from askew.method import Result, load, read_plan
    from askew.methods.audit.command import audit
    from askew.methods.audit.findings import AuditResult
    from askew.methods.classify.command import classify
    from askew.methods.classify.findings import ClassificationResult
    from askew.methods.edit.command import edit
    from askew.methods.edit.findings import EditingResult
    from askew.methods.interact.command import interact
    from askew.methods.interact.findings import InteractionResult
    from askew.methods.map.command import map
    from askew.methods.map.findings import MapResult
    from askew.methods.mine.command import mine
    from askew.methods.mine.findings import MiningResult
    from askew.methods.mitigate.command import mitigate
    from askew.methods.mitigate.findings import MitigationResult
    from askew.mitigation import load_mitigation
    from askew.plan import Plan
    from askew.studies.compare.command import compare
    from askew.studies.compare.result import Comparison
    from askew.studies.rank import RankResult
    from askew.studies.rank.command import rank
    from askew.types import Axis, Estimate, Missing, Picture, Prompt, Question

__version__: str

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
    "MiningResult",
    "Missing",
    "MitigationResult",
    "Picture",
    "Plan",
    "Prompt",
    "Question",
    "RankResult",
    "Result",
    "__version__",
    "audit",
    "classify",
    "compare",
    "edit",
    "interact",
    "load",
    "load_mitigation",
    "map",
    "mine",
    "mitigate",
    "rank",
    "read_plan",
]

_HOMES = {
    "askew.studies.compare.command": ("compare",),
    "askew.errors": ("AskewError",),
    "askew.studies.compare.result": ("Comparison",),
    "askew.method": ("Result", "load", "read_plan"),
    "askew.methods.audit.findings": ("AuditResult",),
    "askew.methods.classify.findings": ("ClassificationResult",),
    "askew.methods.edit.findings": ("EditingResult",),
    "askew.methods.interact.findings": ("InteractionResult",),
    "askew.methods.map.findings": ("MapResult",),
    "askew.methods.mine.findings": ("MiningResult",),
    "askew.methods.mitigate.findings": ("MitigationResult",),
    "askew.mitigation": ("load_mitigation",),
    "askew.plan": ("Plan",),
    "askew.studies.rank": ("RankResult",),
    "askew.types": ("Axis", "Estimate", "Missing", "Picture", "Prompt", "Question"),
}


def __getattr__(name: str) -> object:
    """Public names are loaded when they are first asked for, so that `import askew` is quick.

    Every method that is installed, also by other packages, is a function of its name.
    """
    if name == "__version__":
        return version("askew")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    for point in entry_points(group="askew.methods", name=name.replace("_", "-")):
        return getattr(import_module(f"{point.module}.command"), name)
    raise AttributeError(f"module 'askew' has no attribute {name!r}")
