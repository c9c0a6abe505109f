"""The command `askew graphs`, which compares the interaction graphs of several models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from askew import findings
from askew.document import Document, EstimateRow, rows
from askew.errors import UsageError
from askew.method import load
from askew.methods.interact.findings import InteractionFindings, InteractionResult
from askew.options import Flag, NamesOption, PathOption
from askew.pages import blocks as b
from askew.studies.compare.runs import run_names
from askew.studies.graph_differences import ModelGraphs, model_graphs, shared_prompts
from askew.studies.graphs_page import page


@dataclass(frozen=True, repr=False)
class GraphsResult(Document):
    """The interaction graphs of several runs and the differences between them.

    Attributes
    ----------
    place : Path
        Path of the page.
    results : mapping of str to InteractionResult
        Runs, keyed by name. The findings of a run contain the warnings about the run.
    findings : ModelGraphs
        Differences between the runs.
    """

    place: Path
    results: Mapping[str, InteractionResult]
    findings: ModelGraphs
    warnings: ClassVar[Sequence[str]] = ()

    @property
    def report(self) -> Path:
        """Path of the page."""
        return self.place

    @property
    def numbers(self) -> Path:
        """Path of the JSON file that contains the differences."""
        return self.place.with_suffix(".json")

    @property
    def runs(self) -> dict[str, InteractionFindings]:
        """Findings of the runs, keyed by name."""
        return {name: result.findings for name, result in self.results.items()}

    @cached_property
    def page(self) -> b.Page:
        """Content of the page."""
        return page(self.runs, self.findings, self.results)

    @property
    def image_warnings(self) -> Sequence[str]:
        """Warnings about damaged images in the runs."""
        return [text for run in self.results.values() for text in run.image_warnings]

    def estimates(self) -> list[EstimateRow]:
        """Return a row for each difference, in the order of the JSON file."""
        return rows(findings.scored(self.findings), "graphs")


def graphs(
    *runs: str | Path,
    names: NamesOption = None,
    output: PathOption = None,
    store: PathOption = None,
    json: Flag = False,
) -> GraphsResult:
    """Compare the interaction graphs of several models with the graph of the first model.

    Example: `askew graphs runs/base runs/new --names base,new`

    Parameters
    ----------
    runs
        Run folders of `askew interact`.
    names
        Short names of the runs, separated by commas. By default, the name of each run's model,
        followed by the settings that differ between the runs.
    output
        HTML file to write. The differences are written as JSON in the same folder. [default:
        graphs.html next to the first run]
    store
        Store that contains the images on the page. [default: .askew next to each run]
    json
        Print the differences as JSON.

    Raises
    ------
    UsageError
        If a run is not a finished run of `askew interact`, if the runs have no prompt in common, or
        if `output` is not the name of an HTML file.
    """
    folders = [Path(run) for run in runs]
    if len(folders) < 2:
        raise UsageError("a comparison of graphs needs two or more runs: askew graphs RUN RUN")
    report = Path(output) if output else folders[0].absolute().parent / "graphs.html"
    if report.suffix not in (".html", ".htm"):
        raise UsageError(f"--output {report} is not an HTML file. Give a name that ends in .html")
    loaded = [_interactions(folder, Path(store) if store else None) for folder in folders]
    heads = [(folder, run.findings) for folder, run in zip(folders, loaded, strict=True)]
    results = dict(zip(run_names(heads, names), loaded, strict=True))
    by_name = {name: run.findings for name, run in results.items()}
    if not shared_prompts(by_name):
        raise UsageError(
            "the runs share no prompt, so their graphs cannot be compared. Give runs that have "
            "prompts in common"
        )
    result = GraphsResult(place=report, results=results, findings=model_graphs(by_name))
    findings.write(result.findings, result.numbers)
    result.write_report()
    return result


def _interactions(folder: Path, store: Path | None) -> InteractionResult:
    """Load a run. Raise UsageError if the folder does not contain a run of `askew interact`."""
    run = load(folder, store)
    if not isinstance(run, InteractionResult):
        raise UsageError(
            f"{folder} is a run of `askew {run.method.name}`. "
            "`askew graphs` needs runs of `askew interact`"
        )
    return run
