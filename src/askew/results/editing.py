"""What a run of edits found, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from askew.errors import UsageError
from askew.plans.editing import EditPlan
from askew.report.editing_page import write_editing
from askew.report.editing_table import editing_table
from askew.results.file import estimate_of
from askew.results.run import RunResult
from askew.store.store import Store
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class EditingResult(RunResult):
    """A plan of edits, its run folder, and the store that holds its pictures."""

    plan: EditPlan

    def gender_change(self, group: str, targets: str, strength: float) -> Estimate | Missing:
        """Share of a group's edits whose perceived gender is not that of their source."""
        return estimate_of(self.cell(group, targets, strength)["gender_change"])

    def ita_change(self, group: str, targets: str, strength: float) -> Estimate | Missing:
        """Mean change of the individual typology angle, in degrees; positive = lighter skin."""
        return estimate_of(self.cell(group, targets, strength)["ita_change"])

    def cell(self, group: str, targets: str, strength: float) -> Mapping[str, Any]:
        """The entry of `editing` for a group, a set of targets and a strength. Raises UsageError if there is none."""
        for entry in self.results["editing"]:
            if (entry["group"], entry["targets"], entry["strength"]) == (group, targets, strength):
                found: Mapping[str, Any] = entry
                return found
        raise UsageError(
            f"this run has no edits of {group!r} towards {targets!r} at {strength:g}; its groups are "
            f"{', '.join(self.plan.groups)}; its targets {', '.join(self.plan.targets)}; its strengths "
            f"{', '.join(f'{one:g}' for one in self.plan.strengths)}"
        )

    def table(self) -> RenderableType:
        """The main results as a table for a terminal, to print with rich."""
        return editing_table(self.results)

    def write_report(self) -> Path:
        """Write report.html into the run folder and return its path."""
        return write_editing(self.results, self.open_picture, self.report)

    @cached_property
    def _files(self) -> Mapping[str, Path]:
        """Sources, edits and average faces."""
        ids = [picture for entry in self.results["sets"] for picture in entry["pictures"] if picture]
        ids += [entry["picture"] for entry in self.results["average_faces"] if entry["picture"]]
        with Store(self.store, create=False) as store:
            return store.known_files(ids)
