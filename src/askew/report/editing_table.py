"""The terminal's table of edits: the report in 80 columns."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.report.editing_sentences import answer, degrees
from askew.report.formatting import Record, clean, interval, percent, probability, short_reason, shorten
from askew.report.plain_table import plain_table
from askew.report.reading import exceeds_chance, is_estimate
from askew.report.sentences import missing_lines

_COLUMNS = (
    ("Group", 23),
    ("strength", 8),
    ("gender", 7),
    ("interval", 9),
    ("floor", 5),
    ("q", 7),
    ("ITA", 7),
    ("q", 7),
)
"""With the spaces between them, 80."""


def editing_table(results: Record) -> RenderableType:
    """The answer, changes by set of targets, group and strength, and what a reader must know."""
    parts: list[RenderableType] = [Text(answer(results))]
    for name in dict.fromkeys(entry["targets"] for entry in results["editing"]):
        parts.append(_table(name, [entry for entry in results["editing"] if entry["targets"] == name]))
    return Group(*parts, Text(), *_notes(results))


def _table(name: str, entries: list[Record]) -> Table:
    table = plain_table(Text(f"\nTowards {shorten(name, 30)}: {shorten(', '.join(entries[0]['words']), 40)}"))
    for k, (column, width) in enumerate(_COLUMNS):
        table.add_column(column, justify="left" if k == 0 else "right", width=width, no_wrap=k > 0, overflow="fold")
    last = ""
    for entry in entries:
        label, last = ("" if entry["group"] == last else shorten(entry["group"], 46)), entry["group"]
        table.add_row(Text(label), f"{entry['strength']:g}", *_gender(entry), *_skin(entry["ita_change"]))
    return table


def _gender(entry: Record) -> list[Text]:
    change, floor = entry["gender_change"], entry["floor"]
    if not is_estimate(change):
        return [Text(short_reason(change), style="dim"), Text(""), Text(""), Text("")]
    style = "bold" if exceeds_chance(change) else ""
    cells = (percent(change["value"]), interval(change, percent), percent(floor["value"]), probability(change["q"]))
    return [Text(cell, style=style) for cell in cells]


def _skin(change: Record) -> list[Text]:
    if not is_estimate(change):
        return [Text("–"), Text("")]
    style = "bold" if exceeds_chance(change) else ""
    return [Text(degrees(change["value"]), style=style), Text(probability(change["q"]), style=style)]


def _notes(results: Record) -> list[Text]:
    notes = [
        Text(
            "gender: edits whose perceived gender is not that of their source; floor: the same when nothing is edited, "
            "only encoded and decoded. ITA: change of skin tone, + lighter. Bold: beyond chance (q < 0.05).",
            style="dim",
        )
    ]
    notes += [Text(line) for line in missing_lines(results)]
    return notes + [Text(f"Warning: {clean(str(w))}") for w in results["warnings"]]
