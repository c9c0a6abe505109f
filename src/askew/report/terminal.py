"""Small tables for the terminal: plan previews, providers, sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


def providers_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """What can be named on the command line, by option; presets in a table of their own, with their sizes."""
    providers = _table("option", "name", "what it is")
    presets = _table("--preset", "what it is", "download", "GPU memory")
    for row in rows:
        if "memory_gb" in row:
            sizes = (f"{row[size]:.0f} GB" for size in ("download_gb", "memory_gb"))
            presets.add_row(row["name"], row["summary"], *(Text(size, justify="right") for size in sizes))
        else:
            providers.add_row(row["option"], row["name"], row["summary"])
    return Group(providers, presets)


def robustness_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Change of a graph of interactions by pictures left and by error rate."""
    table = _table("what happens", "edges changed", "change of IS")
    for row in rows:
        what = f"{row['size']} pictures a set" if row["kind"] == "pictures" else f"{row['size']:.0%} answers wrong"
        moved = "–" if row["sensitivity_change"] is None else f"{row['sensitivity_change']:.0f} %"
        table.add_row(what, f"{row['edges_changed']:.1f}", moved)
    return Group(Text("Mean change of a prompt's graph when pictures are fewer, or the VQA errs"), table)


def _table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table
