"""Plans from data and from files, whatever their method."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askew import registry
from askew.errors import UsageError
from askew.plan import Plan, RunPlan, read_toml
from askew.plans.classification import ClassificationPlan
from askew.plans.editing import EditPlan
from askew.plans.interactions import InteractionPlan

PLANS: Mapping[str, type[Plan]] = {"audit": Plan, "interact": InteractionPlan, "edit": EditPlan}
"""The kind of plan by its method."""

OTHERS: Mapping[str, type[RunPlan]] = {"classify": ClassificationPlan}
"""The kinds without prompts and axes, by their method; only their own commands run them."""


def read_plan(path: Path) -> Plan:
    """The plan in a TOML file. Raises UsageError that names the file, the place and what would be right."""
    return make_plan(read_toml(path), f"the plan {path}")


def make_plan(data: Mapping[str, Any], source: str = "the plan") -> Plan:
    """A validated plan of the method that it names.

    Raises UsageError listing every fault by its place, and for one of `OTHERS`.
    """
    method = str(data.get("method", "audit"))
    if method in OTHERS or (method not in PLANS and method in registry.providers("method")):
        raise UsageError(f"{source} is one of the method {method!r}, which `askew {method}` runs")
    return PLANS.get(method, Plan).checked(data, source)


def recorded_hash(path: Path) -> str:
    """The hash of the plan in a TOML file, of whatever method. Raises UsageError."""
    data = read_toml(path)
    if str(data.get("method")) in registry.providers("method"):
        plan: RunPlan = registry.method(str(data["method"])).plan.checked(data, f"the plan {path}")
        return plan.hash
    kind = OTHERS.get(str(data.get("method", "audit")))
    return read_plan(path).hash if kind is None else kind.checked(data, f"the plan {path}").hash
