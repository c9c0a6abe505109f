"""The terminal's plain table: no lines, a dim header, and a title at the left."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text


def plain_table(title: Text | None, *, header: bool = True, title_style: str = "italic") -> Table:
    """A table without columns yet."""
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", show_header=header,
                 title=title, title_style=title_style, title_justify="left")  # fmt: skip
