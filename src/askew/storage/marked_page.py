"""Pages of the documentation whose figures a command writes, between two markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def update(page: Path, name: str, lines: Sequence[str]) -> None:
    """Write the lines between the two markers of this name. Raises ValueError for a page without them."""
    text, opening, end = page.read_text(encoding="utf-8"), f"<!-- {name} -->\n", "<!-- end -->"
    before, marker, rest = text.partition(opening)
    _, closing, after = rest.partition(end)
    if not marker or not closing:
        raise ValueError(f"{page} has no place for {name}: it needs the lines {opening.strip()} and {end}")
    page.write_text("\n".join([before + opening, *lines]).rstrip() + f"\n\n{end}{after}", encoding="utf-8")
