"""What a comparison of searches found, in Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from askew.errors import UnknownName, UsageError
from askew.plans.mining_comparison import MiningComparisonPlan
from askew.report.mining_comparison_page import write_mining_comparison
from askew.report.mining_comparison_table import mining_comparison_table
from askew.results.file import estimate_of
from askew.results.run import RunResult
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class MiningComparisonResult(RunResult):
    """The plan of a comparison of searches, its run folder, and the store that holds its pictures."""

    plan: MiningComparisonPlan

    @property
    def ranking(self) -> list[str]:
        """The models, the most one-sided one first."""
        return [entry["model"] for entry in self.results["mining_comparison"]["ranking"]]

    def score(self, model: str, mined_for: str | None = None) -> Estimate | Missing:
        """The mean score of a model, on the prompts of one run or on all. Raises UnknownName."""
        section = self.results["mining_comparison"]
        entries = section["ranking"] if mined_for is None else section["matrix"]
        scores = {(e["model"], e.get("mined_for")): e["score"] for e in entries}
        if (model, mined_for) not in scores:
            known = sorted({name for name, _ in scores} if mined_for is None else {str(name) for _, name in scores})
            raise UnknownName("model of this comparison", model if mined_for is None else mined_for, known)
        return estimate_of(scores[model, mined_for])

    def difference(self, first: str, second: str, mined_for: str | None = None) -> Estimate | Missing:
        """The mean score of the second model less that of the first; below 0 the second is more one-sided.

        Raises UsageError for what was not compared.
        """
        for entry in self.results["mining_comparison"]["differences"]:
            if (entry["models"], entry["mined_for"]) == ([first, second], mined_for):
                return estimate_of(entry["difference"])
        raise UsageError(f"this comparison has no difference of {second!r} less {first!r} on {mined_for or 'all'}")

    def table(self) -> RenderableType:
        """The main results as a table for a terminal, to print with rich."""
        return mining_comparison_table(self.results)

    def write_report(self) -> Path:
        """Write report.html into the run folder and return its path."""
        return write_mining_comparison(self.results, self.open_picture, self.report)
