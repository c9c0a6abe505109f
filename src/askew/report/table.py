"""The terminal's table: the report in 80 columns, in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.report.formatting import (
    ABSENT,
    Record,
    axis_label,
    capital,
    clean,
    interval,
    number,
    percent,
    plural,
    points,
    probability,
    short_reason,
    shorten,
)
from askew.report.plain_table import plain_table
from askew.report.reading import Reading, exceeds_chance, extremes, grouped, is_estimate, ranked_axes
from askew.report.sentences import headline, missing_lines, set_label

_LONGEST = 12
"""Warnings shown before the rest is only counted."""


def terminal_table(results: Record) -> RenderableType:
    """Headline, the scores, and what a reader of them must know, for a console of 80 columns or more."""
    reading = Reading(results)
    parts: list[RenderableType] = [Text(headline(results)), Text()]
    parts += (
        _axes_tables(reading) + _shares_tables(reading.other_shares) + _differences_tables(reading.part("differences"))
    )
    return Group(*parts, Text(), *_notes(reading))


def _axes_tables(reading: Reading) -> list[Table]:
    several, tables = len(reading.tibet) > 1, []
    for k, entry in enumerate(reading.tibet):
        title = shorten(entry["prompt"], 78) if several else None
        table = _table("Axis", ("MAD", *_SCORE), "nearest to", title, header=k == 0)
        for name, axis in ranked_axes(entry):
            _add_score(table, capital(axis_label(name)), axis["mad"], _nearest(axis))
        tables.append(table)
    return tables


def _nearest(axis: Record) -> str:
    """The counterfactual with the highest CAS, if the pictures lean and it is settled which way."""
    ends = extremes(axis["cas"])
    return shorten(ends[0], 24) if ends and ends[2] and exceeds_chance(axis["mad"]) else ABSENT


def _shares_tables(entries: Sequence[Record]) -> list[Table]:
    tables = []
    for k, ((prompt, axis, instrument), found) in enumerate(grouped(entries, ("prompt", "axis", "instrument")).items()):
        title = f"{shorten(prompt, 50)} – {axis_label(axis)}, read by {shorten(instrument, 20)}"
        table = _table("Pictures", ("distance", *_SCORE), "seen most", title, header=k == 0)
        for entry in found:
            _add_score(table, set_label(entry["set"]), entry["distance"], _seen_most(entry))
        tables.append(table)
    return tables


def _seen_most(entry: Record) -> str:
    shares = {v: e["value"] for v, e in entry["shares"].items() if is_estimate(e)}
    if not shares:
        return ABSENT
    value = max(shares, key=lambda v: shares[v])
    return f"{shorten(value, 18)} {percent(shares[value])}"


def _differences_tables(entries: Sequence[Record]) -> list[Table]:
    tables = []
    for k, entry in enumerate(entries):
        before, after = (set_label(s) for s in entry["sets"])
        change = f"{axis_label(entry['axis'])}: {shorten(after, 20)} minus {shorten(before, 20)}"
        title = f"{shorten(entry['prompt'], 40)} – {change}, read by {shorten(entry['instrument'], 20)}"
        table = _table("Difference", ("points", "interval", "q"), "", title, header=k == 0)
        for value, e in entry["shares"].items():
            style = "bold" if exceeds_chance(e) else ""
            cells = (points(e.get("value")), interval(e, points), probability(e.get("q")))
            table.add_row(
                Text(shorten(value, 24)),
                *(Text(c, style=style) for c in cells),
                "" if is_estimate(e) else Text(short_reason(e), style="dim"),
            )
        tables.append(table)
    return tables


_SCORE = ("interval", "chance", "corrected", "q")
_WIDTHS = {"MAD": 8, "distance": 8, "points": 8, "interval": 14, "chance": 6, "corrected": 9, "q": 7}


def _table(first: str, numbers: Iterable[str], last: str, title: str | None, *, header: bool) -> Table:
    """Columns of one width in all tables, so that those below each other line up."""
    table = plain_table(None if title is None else Text(f"\n{title}"), header=header)
    table.add_column(first, overflow="fold", width=17)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True, width=_WIDTHS[name])
    table.add_column(last, overflow="fold", width=12)
    return table


def _add_score(table: Table, label: str, score: Record, last: str) -> None:
    if not is_estimate(score):
        table.add_row(Text(label), *[ABSENT] * 5, Text(short_reason(score), style="dim"))
        return
    style = "bold" if exceeds_chance(score) else ""
    q = (
        probability(score.get("q"))
        if score.get("q") is not None
        else probability(score.get("p"), "p" if score.get("p") is not None else "")
    )
    cells = (number(score["value"]), interval(score), number(score.get("null")), number(score.get("corrected")), q)
    table.add_row(Text(label), *(Text(c, style=style) for c in cells), Text(last))


def _notes(reading: Reading) -> list[Text]:
    notes = [Text("Bold: beyond chance (q < 0.05). Attributes are perceived, and instruments err.", style="dim")]
    notes += [Text(line) for line in missing_lines(reading.results)]
    warnings = [str(w) for w in reading.results.get("warnings") or []]
    notes += [Text(f"Warning: {clean(w)}") for w in warnings[:_LONGEST]]
    if len(warnings) > _LONGEST:
        notes.append(Text(f"… and {plural(len(warnings) - _LONGEST, 'more warning')}."))
    return notes
