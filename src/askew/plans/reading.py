"""Plans from data and from files, whatever their method."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askew.plans.editing import EditPlan
from askew.plans.interactions import InteractionPlan
from askew.plans.maps import MapPlan
from askew.plans.plan import Plan, read_toml

PLANS: Mapping[str, type[Plan]] = {"audit": Plan, "interact": InteractionPlan, "edit": EditPlan, "map": MapPlan}
"""The kind of plan by its method."""


def read_plan(path: Path) -> Plan:
    """The plan in a TOML file. Raises UsageError that names the file, the place and what would be right."""
    return make_plan(read_toml(path), f"the plan {path}")


def make_plan(data: Mapping[str, Any], source: str = "the plan") -> Plan:
    """A validated plan of the method that it names. Raises UsageError listing every fault by its place."""
    return PLANS.get(str(data.get("method", "audit")), Plan).checked(data, source)
