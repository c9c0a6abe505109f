"""askew graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from askew import findings
from askew.document import Document, Row, rows
from askew.errors import UsageError
from askew.method import load
from askew.methods.interact.findings import InteractionFindings, InteractionResult
from askew.options import Flag, Names, Place
from askew.options import names as parts_of
from askew.pages.blocks import Page
from askew.studies.graphs.page import page, shared_prompts
from askew.studies.graphs.pooled import ModelGraphs, model_graphs


@dataclass(frozen=True)
class GraphsResult(Document):
    """The graphs of several runs by name, what was found over all of them, and the page that shows it."""

    place: Path
    runs: Mapping[str, InteractionFindings]
    found: ModelGraphs
    warnings: ClassVar[Sequence[str]] = ()
    """None: what a reader must know stands in the runs' own reports."""

    @property
    def report(self) -> Path:
        """Where the page lies."""
        return self.place

    @property
    def numbers(self) -> Path:
        """Where the pooled graph lies as JSON."""
        return self.report.with_suffix(".json")

    @cached_property
    def page(self) -> Page:
        """What the report shows."""
        return page(self.runs, self.found.pooled)

    def estimates(self) -> list[Row]:
        """A row for every estimate of the pooled graph, in the order of its file."""
        return rows(findings.scored(self.found), "graphs")


def graphs(*runs: str | Path, names: Names = None, to: Place = None, json: Flag = False) -> GraphsResult:
    """Graphs of interactions of several models side by side, on one layout, and one graph of all of them together.

    Example: `askew graphs runs/base runs/new --names base,new`

    Parameters
    ----------
    runs
        Folders of runs of interactions.
    names
        A short name for each run, separated by commas; if not given its model, or its folder where models are the same.
    to
        The page to write; if not given graphs.html beside the first run. The pooled graph stands beside it as JSON.
    json
        Print the graph of all models as JSON.

    Raises
    ------
    UsageError
        For runs of another method, that are not finished, or that share no prompt, and for a page that is no HTML file.
    """
    folders = [Path(run) for run in runs]
    if len(folders) < 2:
        raise UsageError("graphs side by side need two runs or more: askew graphs RUN RUN")
    report = Path(to) if to else folders[0].absolute().parent / "graphs.html"
    if report.suffix not in (".html", ".htm"):
        raise UsageError(f"{report} is no name of a page; write one that ends in .html")
    loaded: list[InteractionFindings] = []
    for folder in folders:
        if not isinstance(run := load(folder), InteractionResult):
            method = run.method.name
            raise UsageError(f"{folder} is a run of the method {method!r}; this needs a run of `askew interact`")
        loaded.append(run.found)
    models = [one.model.name for one in loaded]
    own = parts_of(names) or (models if len(set(models)) == len(models) else [str(folder) for folder in folders])
    if len(own) != len(folders) or len(set(own)) < len(own):
        raise UsageError(f"{len(folders)} runs need as many different names, not: {', '.join(own)}")
    named = dict(zip(own, loaded, strict=True))
    if not shared_prompts(named):
        raise UsageError("these runs share no prompt, so there are no graphs to show side by side")
    result = GraphsResult(report, named, model_graphs(named))
    findings.write(result.found, result.numbers)
    result.write_report()
    return result
