"""`askew graphs`: graphs of interactions of several models side by side, and what differs between
them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np

from askew import findings
from askew.document import Document, EstimateRow, rows
from askew.errors import UsageError
from askew.findings import Identity
from askew.method import load
from askew.methods.interact.charts import axes_of, network, summary
from askew.methods.interact.findings import InteractionFindings, InteractionResult
from askew.methods.interact.sentences import pair, title
from askew.options import Flag, NamesOption, PathOption
from askew.pages import blocks as b
from askew.pages.phrases import format_phrase
from askew.pages.skeleton import PERCEIVED
from askew.pages.words import listing, plural, shorten
from askew.stats.intervals import ends, mover, simultaneous
from askew.studies.compare.command import names_of
from askew.types import Estimate, record

READING = b.Paragraph(
    items=(
        "Every axis stands at the same place in every graph, and equal lines mean equal sensitivities.",
        "An edge in one graph and none in another is not yet a difference of the models. What differs is told against the "
        "first run: both runs' intervals joined as in Newcombe's method, so wide that those of all pairs of the page hold "
        "at once. Runs that share seeds are a little alike, which is counted as if they were not.",
        PERCEIVED,
    )
)

Runs = Mapping[str, InteractionFindings]
"""By name."""


@record
class EdgeChange:
    """A pair of different axes in a later run against the first; `prompt` None: all prompts
    together.

    `difference` is of the sensitivities, `simultaneous` its interval together with those of all
    changes.
    """

    run: str
    prompt: str | None
    source: str
    target: str
    difference: Estimate
    simultaneous: tuple[float, float]

    @property
    def clear(self) -> bool:
        """Whether it is sure which way the run differs: the simultaneous interval leaves out 0."""
        return self.simultaneous[0] > 0 or self.simultaneous[1] < 0


@record
class ComparedGraph:
    """A run that took part. `differs`: why its sensitivities mean something else than the first
    run's; None if not.
    """

    model: Identity
    plan_hash: str
    askew: str
    differs: str | None


@record
class ModelGraphs:
    """The content of graphs.json: the runs by name, and every pair of axes that both have against
    the first of them.
    """

    runs: Mapping[str, ComparedGraph]
    changes: tuple[EdgeChange, ...]


@dataclass(frozen=True)
class GraphsResult(Document):
    """The graphs of several runs by name, what differs, and the page at `place`; warnings stand in
    the runs' own.
    """

    place: Path
    runs: Mapping[str, InteractionFindings]
    findings: ModelGraphs
    warnings: ClassVar[Sequence[str]] = ()

    @property
    def report(self) -> Path:
        """Where the page lies."""
        return self.place

    @property
    def numbers(self) -> Path:
        """Where the differences lie as JSON."""
        return self.place.with_suffix(".json")

    @cached_property
    def page(self) -> b.Page:
        """What the report shows."""
        return page(self.runs, self.findings)

    def estimates(self) -> list[EstimateRow]:
        """A row for every difference, in the order of their file."""
        return rows(findings.scored(self.findings), "graphs")


def graphs(
    *runs: str | Path, names: NamesOption = None, output: PathOption = None, json: Flag = False
) -> GraphsResult:
    """Graphs of interactions of several models side by side, on one layout, and what differs from
    the first.

    Example: `askew graphs runs/base runs/new --names base,new`

    Parameters
    ----------
    runs
        Folders of runs of interactions.
    names
        A short name for each run, separated by commas; if not given its model, with settings where
        models are the same.
    output
        The page to write; if not given graphs.html beside the first run. The differences stand
        beside it as JSON.
    json
        Print the differences as JSON.

    Raises
    ------
    UsageError
        For runs of another method, that are not finished, or that share no prompt, and for a page
        that is no HTML file.
    """
    folders = [Path(run) for run in runs]
    if len(folders) < 2:
        raise UsageError("graphs side by side need two runs or more: askew graphs RUN RUN")
    report = Path(output) if output else folders[0].absolute().parent / "graphs.html"
    if report.suffix not in (".html", ".htm"):
        raise UsageError(f"{report} is no name of a page; write one that ends in .html")
    loaded: list[tuple[Path, InteractionFindings]] = []
    for folder in folders:
        run = load(folder)
        if not isinstance(run, InteractionResult):
            other = run.method.name
            raise UsageError(
                f"{folder} is a run of the method {other!r}; this needs a run of `askew interact`"
            )
        loaded.append((folder, run.findings))
    named = {name: found for name, (_, found) in zip(names_of(loaded, names), loaded, strict=True)}
    if not shared_prompts(named):
        raise UsageError("these runs share no prompt, so there are no graphs to show side by side")
    result = GraphsResult(report, named, model_graphs(named))
    findings.write(result.findings, result.numbers)
    result.write_report()
    return result


def shared_prompts(runs: Runs) -> list[str | None]:
    """What all runs have a graph of: all prompts together (None) where there is such a graph, then
    every prompt.
    """
    first, *others = ([graph.prompt for graph in found.biasconnect] for found in runs.values())
    return [prompt for prompt in first if all(prompt in prompts for prompts in others)]


def model_graphs(runs: Runs) -> ModelGraphs:
    """The runs by name, and how each later one differs from the first, where their numbers mean the
    same.
    """
    first, *_ = runs.values()
    told = {
        name: ComparedGraph(one.model, one.plan_hash, one.askew, differs(first, one))
        for name, one in runs.items()
    }
    found = []
    later = [(name, one) for name, one in list(runs.items())[1:] if told[name].differs is None]
    for (name, one), prompt in product(later, shared_prompts(runs)):
        for edge in first.graph(prompt).edges:
            now = one.graph(prompt).edge(edge.source, edge.target)
            if edge.direct or now is None:
                continue
            was = edge.sensitivity
            if isinstance(was, Estimate) and isinstance(new := now.sensitivity, Estimate):
                low, high = mover(new.value, was.value, ends(new), ends(was))
                n = (new.n or 0) + (was.n or 0)
                difference = Estimate(new.value - was.value, low, high, was.level, "MOVER", n)
                found.append(
                    EdgeChange(name, prompt, edge.source, edge.target, difference, (0.0, 0.0))
                )
    return ModelGraphs(
        told, tuple(replace(c, simultaneous=simultaneous(c.difference, len(found))) for c in found)
    )


def differs(first: InteractionFindings, other: InteractionFindings) -> str | None:
    """What makes sensitivities of two runs mean different things; None if nothing does."""
    for prompt in shared_prompts({"first": first, "other": other}):
        a = first.graph(prompt)
        b = other.graph(prompt)
        if a.instrument != b.instrument:
            return "its pictures were read by another instrument"
        for x, y in (
            (x, y) for x in a.axes for y in b.axes if x.name == y.name and not (x.open or y.open)
        ):
            if (x.values, x.counterfactuals) != (y.values, y.counterfactuals):
                return f"{x.name} has other values"
            if x.distance != y.distance or not np.allclose(x.reference, y.reference):
                return f"{x.name} is held against other shares, or by another distance"
            if (x.known_errors is None) != (y.known_errors is None):
                return f"errors of the instrument on {x.name} are corrected in one of them alone"
    return None


def page(runs: Runs, found: ModelGraphs) -> b.Page:
    """What to show of several runs by name. Only graphs that every run has are shown."""
    axes = axes_of(graph for one in runs.values() for graph in one.biasconnect)
    first, *others = shared_prompts(runs)
    told = [
        f"{shorten(name, 50)} has {plural(len(one.graph(first).drawn), 'edge')}"
        for name, one in runs.items()
    ]
    more = [
        b.Details(title(prompt, 120), (*_sides(runs, prompt, axes), _against(runs, found, prompt)))
        for prompt in others
    ]
    return b.Page(
        kicker=f"askew graphs: how biases pull on each other in {plural(len(runs), 'run')}",
        title=shorten(listing(list(runs)), 120),
        answer=f"{title(first, 120)}: {listing(told)}. {' '.join(against(runs, found))}",
        facts=(),
        sections=(
            b.Section(title(first, 120), tuple(_sides(runs, first, axes)), screen=False),
            b.Section(f"Against {shorten(next(iter(runs)), 50)}", (_against(runs, found, first),)),
            *([b.Section("Each prompt", tuple(more), screen=False)] if more else []),
            b.Section("How to read this", (READING,), screen=False),
        ),
        notes=(
            "Intervals hold for all pairs of the page at once. Bold: the interval leaves out 0. Attributes are "
            "perceived.",
        ),
        version=next(iter(runs.values())).askew,
    )


def against(runs: Runs, found: ModelGraphs) -> Iterator[str]:
    """By later run in how many pairs of axes, of all prompts, it surely differs from the first, or
    why none is told.
    """
    first, *others = [(name, shorten(name, 50)) for name in runs]
    for name, short in others:
        own = [one for one in found.changes if one.run == name]
        clear = sum(one.clear for one in own)
        reason = found.runs[name].differs
        if reason:
            yield f"{short} is not held against {first[1]}: {reason}."
        elif clear:
            yield format_phrase(
                "graph_difference",
                run=short,
                first=first[1],
                count=f"{clear:,}",
                pairs=plural(len(own), "pair"),
            )
        else:
            yield format_phrase(
                "no_graph_difference", run=short, first=first[1], pairs=plural(len(own), "pair")
            )


def _sides(runs: Runs, prompt: str | None, axes: Sequence[str]) -> Iterator[b.Block]:
    for name, graph in ((name, one.graph(prompt)) for name, one in runs.items()):
        drawn = network(graph, axes, f"{name}: {title(prompt)}")
        edges = plural(len(graph.drawn), "edge")
        yield b.Section(f"{shorten(name, 60)}: {edges}", (drawn, summary(graph)))


def _against(runs: Runs, found: ModelGraphs, prompt: str | None) -> b.Block:
    """What differs from the first run: the pairs that are an edge in either, and those that surely
    differ.
    """
    first, *others = runs
    drawn = {
        name: {(e.source, e.target) for e in one.graph(prompt).drawn} for name, one in runs.items()
    }
    own = [
        one
        for one in found.changes
        if one.prompt == prompt
        and (one.clear or (one.source, one.target) in drawn[first] | drawn[one.run])
    ]
    rows = tuple(
        b.IntervalRow(
            pair(one.source, one.target),
            replace(one.difference, low=one.simultaneous[0], high=one.simultaneous[1]),
            note=one.run if len(others) > 1 else "",
            strong=one.clear,
        )
        for one in sorted(own, key=lambda one: (not one.clear, -abs(one.difference.value)))
    )
    if not rows:
        return b.Paragraph(
            "No pair of axes has an edge that could be held against the first run, and none surely differs."
        )
    return b.IntervalChart(
        f"Change of Intersectional Sensitivity against {shorten(first, 50)}, of pairs that have an edge in either "
        "run or surely differ; right of zero the axis is brought nearer to its ideal than there",
        "Pair",
        rows,
        "change",
        "signed",
        b.PLAIN,
        interval="interval of the change, of all pairs of the page at once",
    )
