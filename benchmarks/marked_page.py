"""Pages of the documentation whose figures a command writes, between two markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from askew.types import Estimate


def update(page: Path, name: str, lines: Sequence[str]) -> None:
    """Write the lines between the two markers of this name. Raises ValueError for a page without
    them.
    """
    text = page.read_text(encoding="utf-8")
    opening = f"<!-- {name} -->\n"
    end = "<!-- end -->"
    before, marker, rest = text.partition(opening)
    _, closing, after = rest.partition(end)
    if not marker or not closing:
        raise ValueError(
            f"{page} has no place for {name}: it needs the lines {opening.strip()} and {end}"
        )
    page.write_text(
        "\n".join([before + opening, *lines]).rstrip() + f"\n\n{end}{after}", encoding="utf-8"
    )


def measured(e: Estimate, form: str = ".2f") -> str:
    """An estimate with its interval, if it has one: "0.71 [0.66, 0.75]"; numbers in this format."""
    return f"{e.value:{form}}" + ("" if e.low is None else f" [{e.low:{form}}, {e.high:{form}}]")
