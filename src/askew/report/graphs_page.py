"""Graphs of several runs side by side on one layout: one HTML file that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from askew.report import formatting
from askew.report.formatting import ABSENT, Record, axis_label, capital, interval, listing, measured, number, shorten
from askew.report.graph import Effect, axes_of, drawn_edges, effect, graph, signed
from askew.report.interaction_page import interactions_environment, page_style
from askew.report.interaction_sentences import named
from askew.report.reading import is_estimate


@dataclass(frozen=True, slots=True)
class SideGraph:
    """The graph of one run, and what sums it up."""

    name: str
    entry: Record
    graph: Markup
    edges: int


@dataclass(frozen=True, slots=True)
class PairRow:
    """One pair of axes that is an edge of any run: per run its sensitivity, interval and effect, None if no edge."""

    title: str
    cells: tuple[tuple[str, str, Effect | None], ...]


@dataclass(frozen=True, slots=True)
class GraphComparison:
    """The graphs of one prompt, or of all together, in every run."""

    title: str
    graphs: tuple[SideGraph, ...]
    rows: tuple[PairRow, ...]


def write_graphs(runs: Mapping[str, Record], path: Path) -> Path:
    """Writes the page of several runs' results, by name, to `path` and returns it."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(render_graphs(runs), encoding="utf-8")
    os.replace(unfinished, path)
    return path


def render_graphs(runs: Mapping[str, Record]) -> str:
    """The page as text. Only graphs that every run has are shown."""
    environment = interactions_environment()
    environment.filters["graph_summary"] = summary
    compared = compared_graphs(runs)
    page = environment.get_template("graphs.html.j2").render(
        runs=runs, answer=answer(compared[0]), sections=compared, style=page_style(environment)
    )
    return formatting.clean(page)


def compared_graphs(runs: Mapping[str, Record]) -> list[GraphComparison]:
    """What all runs have a graph of: all prompts together where there is such a graph, then every prompt."""
    by_run = {name: {g["prompt"]: g for g in results["biasconnect"]} for name, results in runs.items()}
    first = next(iter(by_run.values()))
    shared = [prompt for prompt in first if all(prompt in graphs for graphs in by_run.values())]
    axes = axes_of(g for graphs in by_run.values() for g in graphs.values())
    return [_compared(prompt, {name: graphs[prompt] for name, graphs in by_run.items()}, axes) for prompt in shared]


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
    rows = tuple(
        PairRow(f"{capital(axis_label(x))} → {axis_label(y)}", tuple(_cell(own.get((x, y))) for own in by_pair))
        for x, y in pairs
    )
    return GraphComparison(title, graphs, rows)


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
