"""The terminal's table of interactions: every graph's edges, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.report.formatting import (
    Record,
    axis_label,
    capital,
    clean,
    interval,
    measured,
    number,
    plural,
    probability,
    shorten,
)
from askew.report.graph import Edge, drawn_edges, signed
from askew.report.interaction_plans import steps_taken
from askew.report.interaction_sentences import answer
from askew.report.plain_table import plain_table
from askew.report.sentences import missing_lines

ROWS = 12
"""Edges of a graph before the rest is only counted."""

GRAPHS = 6
"""Graphs before the rest is only counted."""

_COLUMNS = (("Making equal", 15), ("moves", 15), ("IS", 6), ("interval", 14), ("V", 5), ("q", 7), ("", 11))
"""With the spaces between them, 79."""


def interactions_table(results: Record) -> RenderableType:
    """The answer, the edges of the graphs, and what a reader must know; for a console of 80 columns or more."""
    graphs = results["biasconnect"]
    parts: list[RenderableType] = [Text(answer(results)), Text()]
    for k, entry in enumerate(graphs[:GRAPHS]):
        parts += _graph(entry, header=k == 0, titled=len(graphs) > 1)
    if len(graphs) > GRAPHS:
        parts.append(Text(f"… and {plural(len(graphs) - GRAPHS, 'more prompt')} in the report", style="dim"))
    return Group(*parts, *_strategies(results.get("strategies") or ()), Text(), *_notes(results))


def _graph(entry: Record, *, header: bool, titled: bool) -> list[RenderableType]:
    edges = sorted(drawn_edges(entry), key=lambda e: -abs(e.sensitivity["value"]))
    title = ("All prompts together" if entry["prompt"] is None else shorten(entry["prompt"], 78)) if titled else None
    if not edges:
        return [Text(f"{title or 'Graph'}: no edges", style="italic")]
    found: list[RenderableType] = [_table(entry, edges[:ROWS], title, header=header)]
    if len(edges) > ROWS:
        found.append(Text(f"… and {plural(len(edges) - ROWS, 'edge')} more in the report", style="dim"))
    return found


def _table(entry: Record, edges: Sequence[Edge], title: str | None, *, header: bool) -> Table:
    table = plain_table(None if title is None else Text(f"\n{title}"), header=header)
    for k, (name, width) in enumerate(_COLUMNS):
        table.add_column(name, justify="right" if 2 <= k <= 5 else "left", overflow="fold", width=width)
    tests = {(e["source"], e["target"]): e for e in entry["edges"]}
    for edge in edges:
        table.add_row(*_cells(edge, tests[edge.source, edge.target]))
    return table


def _cells(edge: Edge, test: Record) -> list[Text]:
    style = "" if edge.effect == "changed" else "bold"
    return [
        Text(capital(axis_label(edge.source))),
        Text(axis_label(edge.target)),
        Text(signed(edge.sensitivity["value"]), style=style),
        Text(interval(edge.sensitivity), style=style),
        Text(number(test["cramers_v"])),
        Text(probability(test["q"])),
        Text({"better": "helps", "worse": "harms", "changed": "unsettled"}[edge.effect]),
    ]


def _strategies(found: Sequence[Record]) -> list[RenderableType]:
    """Ways to mitigate several biases, where the run planned a mixture."""
    if not found:
        return []
    over = plural(found[0]["final_bias"]["n"], "prompt")
    table = plain_table(Text(f"\nWays to mitigate, mean over {over}"))
    for k, (name, width) in enumerate((("Way", 41), ("bias left", 19), ("steps", 16))):
        table.add_column(name, justify="right" if k else "left", overflow="fold", width=width)
    for one in found:
        table.add_row(capital(one["strategy"]), measured(one["final_bias"]), steps_taken(one))
    return [table]


def _notes(results: Record) -> list[Text]:
    plan = results["plan"]
    notes = [
        Text(
            "IS: how much nearer the second axis comes to its ideal. Edges: the χ² test of dependence has "
            f"p < {plan['threshold']:g}. Bold: the interval leaves out 0. Attributes are perceived.",
            style="dim",
        )
    ]
    notes += [Text(line) for line in missing_lines(results)]
    return notes + [Text(f"Warning: {clean(str(w))}") for w in results["warnings"]]
