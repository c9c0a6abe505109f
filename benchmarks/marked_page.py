"""Pages of the documentation that contain figures of a command, between two markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from askew.types import Estimate


def update(page: Path, name: str, lines: Sequence[str]) -> None:
    """Write lines between the two markers of a name.

    Raises
    ------
    ValueError
        If the page does not have the markers.
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
    figures = "\n".join([before + opening, *lines]).rstrip()
    page.write_text(f"{figures}\n\n{end}{after}", encoding="utf-8")


def measured(e: Estimate, form: str = ".2f") -> str:
    """Return an estimate with its interval, if there is an interval: "0.71 [0.66, 0.75]"."""
    interval = "" if e.low is None else f" [{e.low:{form}}, {e.high:{form}}]"
    return f"{e.value:{form}}{interval}"
