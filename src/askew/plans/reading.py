"""Plans from data and from files, whatever their method."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askew import registry
from askew.errors import UsageError
from askew.plan import Plan, RunPlan, read_toml
from askew.plans.interactions import InteractionPlan
from askew.plans.mining import MinePlan
from askew.plans.mining_comparison import MiningComparisonPlan

PLANS: Mapping[str, type[Plan]] = {"audit": Plan, "interact": InteractionPlan}
"""The kind of plan by its method."""

OTHERS: Mapping[str, type[RunPlan]] = {
    "mine": MinePlan,
    "mine-compare": MiningComparisonPlan,
}
"""The kinds without prompts and axes, by their method; only their own commands run them."""


def read_plan(path: Path) -> Plan:
    """The plan in a TOML file. Raises UsageError that names the file, the place and what would be right."""
    return make_plan(read_toml(path), f"the plan {path}")


def make_plan(data: Mapping[str, Any], source: str = "the plan") -> Plan:
    """A validated plan of the method that it names.

    Raises UsageError listing every fault by its place, and for one of `OTHERS`.
    """
    method = str(data.get("method", "audit"))
    kind = _kind(method)
    if not issubclass(kind, Plan):
        raise UsageError(f"{source} is one of the method {method!r}, which `askew {method}` runs")
    return kind.checked(data, source)


def _kind(method: str) -> type[RunPlan]:
    if method in registry.providers("method"):
        kind: type[RunPlan] = registry.method(method).plan
        return kind
    return OTHERS.get(method) or PLANS.get(method, Plan)


def recorded_hash(path: Path) -> str:
    """The hash of the plan in a TOML file, of whatever method. Raises UsageError."""
    data = read_toml(path)
    return _kind(str(data.get("method", "audit"))).checked(data, f"the plan {path}").hash
