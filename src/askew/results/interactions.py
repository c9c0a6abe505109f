"""What a run of interactions found, in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rich.console import RenderableType

from askew.errors import UsageError
from askew.plans.interactions import InteractionPlan
from askew.report.graph_export import dot, graphml, write_graph
from askew.report.interaction_page import write_interactions
from askew.report.interaction_table import interactions_table
from askew.results.file import estimate_of
from askew.results.run import RunResult
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class InteractionResult(RunResult):
    """A plan of interactions, its run folder, and the store that holds its pictures."""

    plan: InteractionPlan

    def graph(self, prompt: str | None = None) -> Mapping[str, Any]:
        """The entry of `biasconnect` of a prompt; by default of all prompts together, or of the only one."""
        for entry in self.results["biasconnect"]:
            if prompt in (None, entry["prompt"]):
                return cast("Mapping[str, Any]", entry)
        known = ", ".join(repr(p.text) for p in self.plan.prompts)
        raise UsageError(f"this run has no graph of {prompt!r}; it has: {known}")

    def sensitivity(self, source: str, target: str, prompt: str | None = None) -> Estimate | Missing:
        """How much nearer to its ideal the axis `target` comes when `source` is made equal."""
        for edge in self.graph(prompt)["edges"]:
            if (edge["source"], edge["target"]) == (source, target):
                return estimate_of(edge["sensitivity"])
        raise UsageError(f"this graph has no pair of axes {source!r} and {target!r}")

    def table(self) -> RenderableType:
        """The main results as a table for a terminal, to print with rich."""
        return interactions_table(self.results)

    def write_report(self) -> Path:
        """Write report.html into the run folder and return its path."""
        return write_interactions(self.results, self.open_picture, self.report)

    def write_dot(self, path: str | Path, prompt: str | None = None) -> Path:
        """Write a graph for Graphviz and return its path."""
        return write_graph(Path(path), dot(self.graph(prompt)))

    def write_graphml(self, path: str | Path, prompt: str | None = None) -> Path:
        """Write a graph as GraphML and return its path."""
        return write_graph(Path(path), graphml(self.graph(prompt)))
