"""Graphs of interactions of several models: one of all together, and a page with each of them beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from askew.errors import UsageError
from askew.methods.interaction_models import pooled_graph
from askew.report.graphs_page import compared_graphs, write_graphs
from askew.report.graphs_table import pooled_table
from askew.results.file import write_json

Record = Mapping[str, Any]


@dataclass(frozen=True)
class ModelGraphs:
    """The graphs of several runs by name, and what the page beside `results` shows."""

    page: Path
    runs: Mapping[str, Record]
    pooled: Record

    @property
    def results(self) -> Path:
        """Where the pooled graph lies as JSON."""
        return self.page.with_suffix(".json")

    def table(self) -> RenderableType:
        """The edges of the pooled graph as a table for a terminal, to print with rich."""
        return pooled_table(self.pooled, list(self.runs))


def graphs_of_models(runs: Mapping[str, Record], page: Path) -> ModelGraphs:
    """Pool the graphs of runs, by name their results, and write the page and the JSON beside it.

    Raises UsageError for runs that share no prompt, and for a page that is no HTML file.
    """
    if page.suffix not in (".html", ".htm"):
        raise UsageError(f"{page} is no name of a page; write one that ends in .html")
    if not compared_graphs(runs):
        raise UsageError("these runs share no prompt, so there are no graphs to show side by side")
    models = {
        name: {"model": results["model"], "plan_hash": results["plan_hash"], "askew": results["askew"]}
        for name, results in runs.items()
    }
    path = write_json(page.with_suffix(".json"), {"runs": models, "pooled": pooled_graph(runs)})
    pooled = json.loads(path.read_text(encoding="utf-8"))["pooled"]
    return ModelGraphs(write_graphs(runs, page, pooled), runs, pooled)
