"""What a run of edits found, in Python."""

from __future__ import annotations

from dataclasses import dataclass

from askew.errors import UsageError
from askew.method import Result
from askew.methods.edit.findings import EditFindings, Editing
from askew.methods.edit.plan import EditPlan
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class EditingResult(Result[EditPlan, EditFindings]):
    """A finished run of `askew edit`."""

    def gender_change(self, group: str, targets: str, strength: float) -> Estimate | Missing:
        """Share of a group's edits whose perceived gender is not that of their source."""
        return self.cell(group, targets, strength).gender_change

    def ita_change(self, group: str, targets: str, strength: float) -> Estimate | Missing:
        """Mean change of the individual typology angle, in degrees; positive = lighter skin."""
        return self.cell(group, targets, strength).ita_change

    def cell(self, group: str, targets: str, strength: float) -> Editing:
        """What was found of a group, a set of targets and a strength. Raises UsageError if there is none."""
        for one in self.found.editing:
            if (one.group, one.targets, one.strength) == (group, targets, strength):
                return one
        raise UsageError(
            f"this run has no edits of {group!r} towards {targets!r} at {strength:g}; its groups are "
            f"{', '.join(self.plan.groups)}; its targets {', '.join(self.plan.targets)}; its strengths "
            f"{', '.join(f'{one:g}' for one in self.plan.strengths)}"
        )
