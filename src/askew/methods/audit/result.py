"""What an audit found, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from askew.errors import UnknownName, UsageError
from askew.method import Result
from askew.methods.audit.findings import AuditFindings, AxisScores
from askew.methods.audit.plan import AuditPlan
from askew.types import Estimate, Missing

T = TypeVar("T")


@dataclass(frozen=True)
class AuditResult(Result[AuditPlan, AuditFindings]):
    """A finished audit."""

    def mad(self, axis: str, prompt: str | None = None) -> Estimate | Missing:
        """How one-sided the pictures of a prompt (the first by default) are on an axis, by TIBET's MAD."""
        return self._scores(axis, prompt).mad

    def cas(self, axis: str, value: str, prompt: str | None = None) -> Estimate | Missing:
        """How much the pictures of a prompt resemble those of the counterfactual `value`, by TIBET's CAS."""
        return _entry("value", value, self._scores(axis, prompt).cas)

    def share(self, axis: str, value: str, prompt: str | None = None, set_name: str = "initial") -> Estimate | Missing:
        """The perceived share of a value in a picture set."""
        text = prompt or self.plan.prompts[0].text
        for entry in self.found.shares:
            if (entry.prompt, entry.axis, entry.set) == (text, axis, set_name):
                return _entry("value", value, entry.shares)
        raise UsageError(f"this audit has no shares of axis {axis!r} for the set {set_name!r} of {text!r}")

    def _scores(self, axis: str, prompt: str | None) -> AxisScores:
        by_prompt = {entry.prompt: entry for entry in self.found.tibet}
        return _entry("axis", axis, _entry("prompt", prompt or self.plan.prompts[0].text, by_prompt).axes)


def _entry(what: str, name: str, table: Mapping[str, T]) -> T:
    if name not in table:
        raise UnknownName(f"{what} in this audit", name, table)
    return table[name]
