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
    from askew.audit_result import AuditResult
    from askew.comparing import Comparison
    from askew.errors import AskewError
    from askew.plan import Plan, read_plan
    from askew.types import Axis, Estimate, Missing, Observation, Picture, Prompt, Question

__version__ = version("askew")

__all__ = [
    "AskewError",
    "AuditResult",
    "Axis",
    "Comparison",
    "Estimate",
    "Missing",
    "Observation",
    "Picture",
    "Plan",
    "Prompt",
    "Question",
    "__version__",
    "audit",
    "compare",
    "read_plan",
]

_HOMES = {
    "askew.api": ("audit", "compare"),
    "askew.audit_result": ("AuditResult",),
    "askew.comparing": ("Comparison",),
    "askew.errors": ("AskewError",),
    "askew.plan": ("Plan", "read_plan"),
    "askew.types": ("Axis", "Estimate", "Missing", "Observation", "Picture", "Prompt", "Question"),
}


def __getattr__(name: str) -> object:
    """Public names are loaded when they are first asked for, so that `import askew` is quick."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'askew' has no attribute {name!r}")
