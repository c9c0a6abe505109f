"""What a search for prompts found, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from askew.errors import UnknownName
from askew.plans.mining import MinePlan
from askew.report.mining_page import write_mining
from askew.report.mining_table import mining_table
from askew.results.file import estimate_of
from askew.results.run import RunResult
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class MiningResult(RunResult):
    """The plan of a search, its run folder, and the store that holds its pictures."""

    plan: MinePlan

    @property
    def prompts(self) -> list[str]:
        """The prompts found, each once, the lowest loss on fresh seeds first."""
        ordered = sorted(self.results["minethegap"]["best"], key=lambda entry: _value(entry["fresh_score"]))
        return list(dict.fromkeys(entry["prompt"] for entry in ordered))

    def score(self, prompt: str | None = None) -> Estimate | Missing:
        """The score of a prompt (the first found by default) on fresh seeds. Raises UnknownName for one not found."""
        scores = {entry["prompt"]: entry["fresh_score"] for entry in self.results["minethegap"]["best"]}
        wanted = prompt or self.prompts[0]
        if wanted not in scores:
            raise UnknownName("prompt of this search", wanted, scores)
        return estimate_of(scores[wanted])

    def difference(self) -> Estimate | Missing:
        """The loss of the prompts found less that of random prompts on the same budget; below 0, mining found better.

        Missing where no random search was made.
        """
        random = self.results["minethegap"]["random"]
        return estimate_of(random["difference"]) if random else Missing("not_asked", "no random search was made")

    def table(self) -> RenderableType:
        """The main results as a table for a terminal, to print with rich."""
        return mining_table(self.results)

    def write_report(self) -> Path:
        """Write report.html into the run folder and return its path."""
        return write_mining(self.results, self.open_picture, self.report)


def _value(score: Mapping[str, Any]) -> float:
    return float(score.get("value", float("inf")))
