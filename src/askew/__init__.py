"""askew measures which way text-to-image models lean.

>>> import askew
>>> result = askew.audit("a photo of a nurse", model="studio/planted", images=48)  # doctest: +SKIP
>>> result.mad("gender")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askew.api import audit, compare
    from askew.api_classify import classify
    from askew.api_edit import edit
    from askew.api_interact import interact
    from askew.api_map import map
    from askew.api_mine import mine
    from askew.audit_result import AuditResult
    from askew.classification_result import ClassificationResult
    from askew.comparing import Comparison
    from askew.editing_result import EditingResult
    from askew.errors import AskewError
    from askew.interaction_result import InteractionResult
    from askew.map_result import MapResult
    from askew.mining_result import MiningResult
    from askew.plan import Plan, read_plan
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
    "MiningResult",
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
    "read_plan",
]

_HOMES = {
    "askew.api": ("audit", "compare"),
    "askew.api_edit": ("edit",),
    "askew.api_interact": ("interact",),
    "askew.api_classify": ("classify",),
    "askew.audit_result": ("AuditResult",),
    "askew.classification_result": ("ClassificationResult",),
    "askew.comparing": ("Comparison",),
    "askew.editing_result": ("EditingResult",),
    "askew.errors": ("AskewError",),
    "askew.interaction_result": ("InteractionResult",),
    "askew.api_map": ("map",),
    "askew.api_mine": ("mine",),
    "askew.map_result": ("MapResult",),
    "askew.mining_result": ("MiningResult",),
    "askew.plan": ("Plan", "read_plan"),
    "askew.types": ("Axis", "Estimate", "Missing", "Observation", "Picture", "Prompt", "Question"),
}


def __getattr__(name: str) -> object:
    """Public names are loaded when they are first asked for, so that `import askew` is quick."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'askew' has no attribute {name!r}")
