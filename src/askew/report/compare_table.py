"""The terminal's table of a comparison: per pair of runs what differs most, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.report.compare import Change, ComparedModel, CompareReading, Pair
from askew.report.compare_sentences import SCORES, pair_sentence, plus
from askew.report.formatting import (
    ABSENT,
    Record,
    axis_label,
    capital,
    clean,
    interval,
    plural,
    points,
    probability,
    shorten,
)
from askew.report.plain_table import plain_table
from askew.report.reading import exceeds_chance, is_estimate
from askew.report.sentences import set_label

ROWS = 16
"""Rows of a pair of runs before the rest is only counted."""

_WIDTHS = (12, 5, 14, 7, 11, 4, 12, 7)
"""With the spaces between them, 80."""


def comparison_table(
    models: Sequence[ComparedModel], entries: Sequence[Record], warnings: Sequence[str]
) -> RenderableType:
    """Sentences, the largest differences of every pair of runs, and what a reader must know; 80 columns or more."""
    reading = CompareReading(models, entries, warnings)
    parts = [part for pair in reading.pairs for part in _pair(reading, pair)]
    notes = [Text("Bold: beyond chance (q < 0.05). Attributes are perceived, and instruments err.", style="dim")]
    notes += [Text(f"Warning: {clean(text)}") for text in warnings]
    return Group(*parts, *notes)


def _pair(reading: CompareReading, pair: Pair) -> list[RenderableType]:
    changes = reading.changes(pair)
    parts: list[RenderableType] = [Text(pair_sentence(reading, pair)), Text()]
    title = f"{shorten(pair[1], 37)} less {shorten(pair[0], 36)}"
    for k, (where, some) in enumerate(_by_picture_set(changes[:ROWS]).items()):
        parts.append(_table(title if k == 0 else None, where if reading.has_several_sets else None, some))
    if len(changes) > ROWS:
        parts.append(Text(f"… and {plural(len(changes) - ROWS, 'row')} more on the page", style="dim"))
    return [*parts, Text()]


def _by_picture_set(changes: Sequence[Change]) -> dict[str, list[Change]]:
    """The changes by prompt and set, in order of first appearance."""
    groups: dict[str, list[Change]] = {}
    for change in changes:
        where = "" if change.set == "initial" else f" – {set_label(change.set)}"
        groups.setdefault(f"{shorten(change.prompt, 50)}{where}", []).append(change)
    return groups


def _table(title: str | None, where: str | None, changes: Sequence[Change]) -> Table:
    """Columns of one width in all tables, so that those below each other line up."""
    lines = [Text(text, style=style) for text, style in ((title, "italic"), (where, "")) if text]
    table = plain_table(Text("\n").join(lines) if lines else None, header=title is not None, title_style="")
    lean = next((SCORES[c.lean["score"]] for c in changes if c.lean), "MAD")
    heads = ("Axis", lean if lean == "MAD" else "dist.", "interval", "q", "share of", "pts", "interval", "q")
    for k, (head, width) in enumerate(zip(heads, _WIDTHS, strict=True)):
        named = k in (0, 4)
        table.add_column(head, justify="left" if named else "right", no_wrap=not named, overflow="fold", width=width)
    for change in changes:
        table.add_row(*_cells(change))
    return table


def _cells(change: Change) -> list[Text]:
    return [Text(capital(axis_label(change.axis))), *_lean_cells(change.lean), *_share_cells(change.share)]


def _lean_cells(entry: Record | None) -> list[Text]:
    if entry is None or not is_estimate(entry["difference"]):
        return [Text(ABSENT), Text("not measured" if entry else ABSENT, style="dim"), Text(ABSENT)]
    difference = entry["difference"]
    cells = (plus(difference["value"]), interval(difference), probability(difference.get("q")))
    return [Text(cell, style=_style(difference)) for cell in cells]


def _share_cells(entry: Record | None) -> list[Text]:
    if entry is None:
        return [Text(ABSENT) for _ in range(4)]
    value, difference = Text(shorten(entry["value"], 26)), entry["difference"]
    if not is_estimate(difference):
        return [value, Text(ABSENT), Text(ABSENT), Text(ABSENT)]
    cells = (points(difference["value"]), interval(difference, points), probability(difference.get("q")))
    return [value, *(Text(cell, style=_style(difference)) for cell in cells)]


def _style(difference: Record) -> str:
    return "bold" if exceeds_chance(difference) else ""
