"""What an audit found, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rich.console import RenderableType

from askew.errors import UnknownName, UsageError
from askew.plan import Plan
from askew.report.html import write_report
from askew.report.table import terminal_table
from askew.results.file import estimate_of
from askew.results.run import RunResult
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class AuditResult(RunResult):
    """An audit's plan, its run folder, and the store that holds its pictures."""

    plan: Plan

    def mad(self, axis: str, prompt: str | None = None) -> Estimate | Missing:
        """How one-sided the pictures of a prompt (the first by default) are on an axis, by TIBET's MAD."""
        return estimate_of(self._scores(axis, prompt)["mad"])

    def cas(self, axis: str, value: str, prompt: str | None = None) -> Estimate | Missing:
        """How much the pictures of a prompt resemble those of the counterfactual `value`, by TIBET's CAS."""
        return estimate_of(_entry("value", value, self._scores(axis, prompt)["cas"]))

    def share(self, axis: str, value: str, prompt: str | None = None, set_name: str = "initial") -> Estimate | Missing:
        """The perceived share of a value in a picture set."""
        text = prompt or self.plan.prompts[0].text
        for entry in self.results["shares"]:
            if (entry["prompt"], entry["axis"], entry["set"]) == (text, axis, set_name):
                return estimate_of(_entry("value", value, entry["shares"]))
        raise UsageError(f"this audit has no shares of axis {axis!r} for the set {set_name!r} of {text!r}")

    def table(self) -> RenderableType:
        """The main results as a table for a terminal, to print with rich."""
        return terminal_table(self.results)

    def write_report(self) -> Path:
        """Write report.html into the run folder and return its path."""
        return write_report(self.results, self.open_picture, self.report)

    def _scores(self, axis: str, prompt: str | None) -> Mapping[str, Any]:
        text = prompt or self.plan.prompts[0].text
        by_prompt = {entry["prompt"]: entry for entry in self.results["tibet"]}
        return cast("Mapping[str, Any]", _entry("axis", axis, _entry("prompt", text, by_prompt)["axes"]))


def _entry(what: str, name: str, table: Mapping[str, Any]) -> Any:
    if name not in table:
        raise UnknownName(f"{what} in this audit", name, table)
    return table[name]
