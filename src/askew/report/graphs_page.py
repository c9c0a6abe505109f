"""Graphs of several runs side by side on one layout: one HTML file that needs nothing else.

What differs is told against the first run, edge by edge, with an interval of its own: an edge in one graph and none in
another is not yet a difference.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from askew.report import formatting
from askew.report.figures import PlotTable, Row
from askew.report.formatting import ABSENT, Record, axis_label, capital, interval, listing, measured, number, shorten
from askew.report.graph import Effect, axes_of, drawn_edges, effect, graph, signed
from askew.report.interaction_page import interactions_environment, page_style
from askew.report.interaction_sentences import named
from askew.report.plots import scale_axis, signed_scale, track
from askew.report.pooled_graph import pooled_answer, pooled_figure
from askew.report.reading import is_estimate
from askew.results.file import estimate_of
from askew.stats.interaction_graph import difference
from askew.types import Estimate


@dataclass(frozen=True, slots=True)
class SideGraph:
    """The graph of one run, and what sums it up."""

    name: str
    entry: Record
    graph: Markup
    edges: int


@dataclass(frozen=True, slots=True)
class Change:
    """The sensitivity of a pair of axes in a later run, less that in the first."""

    run: str
    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    @property
    def text(self) -> str:
        """The value with its sign, and the interval."""
        return f"{signed(self.value)} {interval({'low': self.low, 'high': self.high})}"


@dataclass(frozen=True, slots=True)
class PairRow:
    """One pair of axes that is an edge of any run: per run its sensitivity, interval and effect, None if no edge.

    changes   of each run after the first against the first; None where one of the two was not measured
    """

    title: str
    cells: tuple[tuple[str, str, Effect | None], ...]
    changes: tuple[Change | None, ...]


@dataclass(frozen=True, slots=True)
class GraphComparison:
    """The graphs of one prompt, or of all together, in every run."""

    title: str
    graphs: tuple[SideGraph, ...]
    rows: tuple[PairRow, ...]


@dataclass(frozen=True, slots=True)
class PooledSection:
    """The graph of all models together."""

    entry: Record
    answer: str
    graph: Markup
    edges: int

    @classmethod
    def of(cls, pooled: Record, runs: Mapping[str, Record]) -> PooledSection:
        """On the layout of the models' own graphs."""
        axes = axes_of(g for results in runs.values() for g in results["biasconnect"])
        drawn = graph(pooled, axes, "All models together")
        return cls(pooled, pooled_answer(pooled, list(runs)), drawn, len(drawn_edges(pooled)))


def write_graphs(runs: Mapping[str, Record], path: Path, pooled: Record) -> Path:
    """Writes the page of several runs' results, by name, and of their pooled graph to `path` and returns it."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render_graphs(runs, pooled), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render_graphs(runs: Mapping[str, Record], pooled: Record) -> str:
    """The page as text. Only graphs that every run has are shown; `pooled` is that of all models, or says why not."""
    environment = interactions_environment()
    environment.filters |= {
        "graph_summary": summary,
        "changes_plot": changes_plot,
        "changes_sentence": changes_sentence,
        "pooled_figure": pooled_figure,
    }
    compared = compared_graphs(runs)
    page = environment.get_template("graphs.html.j2").render(
        runs=runs,
        answer=answer(compared[0]),
        sections=compared,
        pooled=None if "reason" in pooled else PooledSection.of(pooled, runs),
        unpooled=pooled,
        style=page_style(environment),
    )
    return formatting.clean(page)


def compared_graphs(runs: Mapping[str, Record]) -> list[GraphComparison]:
    """What all runs have a graph of: all prompts together where there is such a graph, then every prompt."""
    by_run = {name: {g["prompt"]: g for g in results["biasconnect"]} for name, results in runs.items()}
    first = next(iter(by_run.values()))
    shared = [prompt for prompt in first if all(prompt in graphs for graphs in by_run.values())]
    axes = axes_of(g for graphs in by_run.values() for g in graphs.values())
    return [_compared(prompt, {name: graphs[prompt] for name, graphs in by_run.items()}, axes) for prompt in shared]


def changes_plot(compared: GraphComparison) -> PlotTable:
    """Every change against the first run as a dot on its interval, those that are clear first."""
    found = [(row.title, change) for row in compared.rows for change in row.changes if change is not None]
    ordered = sorted(found, key=lambda item: (not item[1].clear, -abs(item[1].value)))
    as_records = [{"value": c.value, "low": c.low, "high": c.high} for _, c in ordered]
    scale = signed_scale(as_records)
    several = len(compared.graphs) > 2
    rows = tuple(
        Row(title, track(scale, record, f"{title}, {c.run}", c.text, hollow=not c.clear),
            (signed(c.value), interval(record)), strong=c.clear, note=c.run if several else "")
        for (title, c), record in zip(ordered, as_records, strict=True)
    )  # fmt: skip
    return PlotTable(
        f"Change of Intersectional Sensitivity against {compared.graphs[0].name}; right of zero the axis is brought "
        "nearer to its ideal than there",
        "Edge",
        scale_axis(scale),
        ("change", "interval"),
        rows,
        (("dot", "the interval leaves out zero"), ("dot hollow", "it does not"), ("line", "interval of the change")),
    )  # fmt: skip


def changes_sentence(compared: GraphComparison) -> str:
    """How many edges clearly differ from the first run's, by run."""
    first, *others = (side.name for side in compared.graphs)
    told = []
    for k, name in enumerate(others):
        known = [row.changes[k] for row in compared.rows if row.changes[k] is not None]
        clear = sum(change.clear for change in known if change is not None)
        told.append(f"{formatting.thousands(clear)} of {formatting.plural(len(known), 'edge')} in {shorten(name, 50)}")
    return f"Clearly different from {shorten(first, 50)}: {listing(told)}."


def answer(compared: GraphComparison) -> str:
    """Which run's axes are the most entangled, in a sentence."""
    counts = sorted(((g.edges, g.name) for g in compared.graphs), key=lambda item: (-item[0], item[1]))
    told = listing([f"{shorten(name, 50)} has {formatting.plural(edges, 'edge')}" for edges, name in counts])
    return f"{capital(compared.title)}: {told}."


def _compared(prompt: str | None, entries: Mapping[str, Record], axes: list[str]) -> GraphComparison:
    title = "all prompts together" if prompt is None else formatting.quote(prompt, 120)
    graphs = tuple(
        SideGraph(name, entry, graph(entry, axes, f"{name}: {title}"), len(drawn_edges(entry)))
        for name, entry in entries.items()
    )
    by_pair = [{(e["source"], e["target"]): e for e in entry["edges"]} for entry in entries.values()]
    pairs = dict.fromkeys((e.source, e.target) for entry in entries.values() for e in reversed(drawn_edges(entry)))
    rows = tuple(_row(x, y, [own.get((x, y)) for own in by_pair], list(entries)) for x, y in pairs)
    return GraphComparison(title, graphs, rows)


def _row(source: str, target: str, edges: Sequence[Record | None], names: Sequence[str]) -> PairRow:
    changes = tuple(_change(edges[0], own, name) for own, name in zip(edges[1:], names[1:], strict=True))
    title = f"{capital(axis_label(source))} → {axis_label(target)}"
    return PairRow(title, tuple(_cell(own) for own in edges), changes)


def _change(first: Record | None, second: Record | None, run: str) -> Change | None:
    known = [estimate_of(e["sensitivity"]) for e in (first, second) if e is not None]
    measured_ones = [e for e in known if isinstance(e, Estimate) and e.low is not None]
    return Change(run, *difference(*measured_ones)) if len(measured_ones) == 2 else None


def _cell(edge: Record | None) -> tuple[str, str, Effect | None]:
    if edge is None or not is_estimate(edge["sensitivity"]):
        return ABSENT, "", None
    e = edge["sensitivity"]
    return signed(e["value"]), interval(e), effect(e) if edge["significant"] else None


def summary(entry: Record) -> list[tuple[str, str]]:
    """What sums a graph up, in words and numbers."""
    amplification = entry["amplification"]
    told = measured(amplification) if is_estimate(amplification) else ABSENT
    chance = f" (chance {number(amplification['null'])})" if is_estimate(amplification) else ""
    return [
        ("Moved by most others", named([entry["most_influenced"]] if entry["most_influenced"] else [])),
        ("Moves most others", named([entry["most_influential"]] if entry["most_influential"] else [])),
        ("Amplification, Σ |IS|", f"{told}{chance}"),
    ]
