"""The terminal's table of several models' pooled graph, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from askew.report.formatting import ABSENT, Record, axis_label, capital, clean, interval, plural
from askew.report.graph import drawn_edges, signed
from askew.report.interaction_table import ROWS
from askew.report.plain_table import plain_table
from askew.report.pooled_graph import pooled_answer, share_of
from askew.report.reading import is_estimate

_COLUMNS = (
    ("Making equal", 14),
    ("moves", 14),
    ("IS", 6),
    ("interval", 14),
    ("mean", 6),
    ("models", 7),
    ("prompts", 9),
)
"""With the spaces between them, 76."""


def pooled_table(pooled: Record, models: Sequence[str]) -> RenderableType:
    """The answer and the edges of the pooled graph; for a console of 80 columns or more."""
    if "reason" in pooled:
        return Text(f"No graph of all models together: {clean(pooled['detail'])}.")
    table = plain_table(None)
    for k, (name, width) in enumerate(_COLUMNS):
        table.add_column(name, justify="right" if k >= 2 else "left", overflow="fold", width=width)
    edges = sorted(drawn_edges(pooled), key=lambda e: -abs(e.sensitivity["value"]))
    by_pair = {(e["source"], e["target"]): e for e in pooled["edges"]}
    for edge in edges[:ROWS]:
        table.add_row(*_cells(by_pair[edge.source, edge.target]))
    parts: list[RenderableType] = [Text(pooled_answer(pooled, models)), Text(), *([table] if edges else [])]
    if len(edges) > ROWS:
        parts.append(Text(f"… and {plural(len(edges) - ROWS, 'edge')} more on the page", style="dim"))
    return Group(*parts, Text(), _note(models))


def _cells(edge: Record) -> list[Text]:
    mean = edge["mean_sensitivity"]
    return [
        Text(capital(axis_label(edge["source"]))),
        Text(axis_label(edge["target"])),
        Text(signed(edge["sensitivity"]["value"])),
        Text(interval(edge["sensitivity"])),
        Text(signed(mean["value"]) if is_estimate(mean) else ABSENT),
        Text(share_of(edge["models"])),
        Text(share_of(edge["prompts"])),
    ]


def _note(models: Sequence[str]) -> Text:
    return Text(
        f"IS: from the counts of all {len(models)} models added up. Mean: of the models' own IS. Models, prompts: in "
        "how many models' graphs, and in how many graphs of single prompts, the edge is there.",
        style="dim",
    )
