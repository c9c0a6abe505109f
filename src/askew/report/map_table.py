"""The terminal's table of attention maps: overlaps in the form of the paper's tables, in 80 columns."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.report.formatting import Record, clean, interval, number, probability, reason, shorten
from askew.report.map_comparison import change_rows
from askew.report.map_reading import MapReading, beyond_chance, headline, model_label
from askew.report.plain_table import plain_table
from askew.report.reading import is_estimate

_COLUMNS = (("mIoU", 5), ("interval", 12), ("chance", 6), ("corrected", 9), ("q", 7), ("mBIoU", 5), ("RD", 5))


def maps_table(results: Record) -> RenderableType:
    """The answer, every pair of concepts, and what a reader must know; for a console of 80 columns or more."""
    reading = MapReading(results)
    parts: list[RenderableType] = [Text(headline(reading)), Text()]
    for model in reading.models:
        for concept in reading.concepts:
            title = (
                f"{concept}, by {model_label(model, 50)}"
                if len(reading.models) > 1 or len(reading.concepts) > 1
                else concept
            )
            parts.append(_table(reading, model, concept, title))
    parts += [_change_table(reading, entry) for entry in reading.biasmap["changes"]]
    return Group(*parts, Text(), *_notes(reading))


def _table(reading: MapReading, model: str, concept: str, title: str) -> Table:
    table = plain_table(Text(shorten(title, 78)))
    table.add_column("with", overflow="fold", width=18)
    for name, width in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True, width=width)
    for entry in reading.pairs(model=model, a=concept):
        style = "bold" if beyond_chance(entry) else ""
        table.add_row(Text(shorten(entry["b"], 18)), *(Text(c, style=style) for c in _cells(reading, entry)))
    summary = next(e for e in reading.biasmap["overall"] if (e["model"], e["a"]) == (model, concept))
    if summary["prompts"] > 1:
        table.add_row(Text("mean", style="dim"), *(Text(c, style="dim") for c in _mean_cells(summary)))
    return table


def _change_table(reading: MapReading, entry: Record) -> Table:
    first, second = entry["models"]
    title = f"{entry['a']}, {model_label(second, 30)} less {model_label(first, 30)}"
    table = plain_table(Text(shorten(title, 78)))
    table.add_column("score", overflow="fold", width=40)
    for name, width in (("difference", 10), ("interval", 16), ("q", 7)):
        table.add_column(name, justify="right", no_wrap=True, width=width)
    for name, e in change_rows(reading, entry).items():
        table.add_row(Text(shorten(name, 40)), number(e.get("value")), Text(interval(e)), probability(e.get("q")))
    return table


def _cells(reading: MapReading, entry: Record) -> tuple[str, ...]:
    e = entry["miou"]
    risk = _risk(reading, entry)
    return (number(e.get("value")), interval(e), number(e.get("null")), number(e.get("corrected")),
            probability(e.get("q")), number(entry["mbiou"].get("value")), number(risk.get("value")))  # fmt: skip


def _mean_cells(summary: Record) -> tuple[str, ...]:
    e, corrected, risk = summary["miou"], summary["corrected"], summary["risk_difference"] or {}
    return (number(e.get("value")), interval(e), number(e.get("null")), number(corrected.get("value")),
            probability(corrected.get("q")), number(summary["mbiou"].get("value")),
            number(risk.get("value")))  # fmt: skip


def _risk(reading: MapReading, entry: Record) -> Record:
    """The risk difference beside a pair: of the axis that the concept is, by its place among the axes."""
    from askew.planning.map import axes_of

    axis = axes_of([entry["a"]]).get(entry["a"])
    own = [r for r in reading.biasmap["risk_difference"]
           if (r["model"], r["prompt"], r["axis"]) == (entry["model"], entry["prompt"], axis)]  # fmt: skip
    return own[0]["estimate"] if own else {}


def _notes(reading: MapReading) -> list[Text]:
    notes = [
        Text("Bold: beyond chance (q < 0.05), that is beyond the same words in other pictures of the prompt.",
             style="dim"),
        Text("RD: risk difference of perceived groups. Instruments err.", style="dim"),
    ]  # fmt: skip
    if len(reading.prompts) > 1:
        notes.append(Text("Row of means: q of a t-test of the corrected overlap over prompts.", style="dim"))
    notes += [Text(f"Missing: {absent}") for absent in _absent(reading)]
    return notes + [Text(f"Warning: {clean(str(w))}") for w in reading.part("warnings")]


def _absent(reading: MapReading) -> list[str]:
    """Every overlap that is missing, with its reason."""
    return [
        f"{shorten(entry['a'], 20)} with {shorten(entry['b'], 20)}, by {model_label(entry['model'], 30)}: "
        f"{reason(entry['miou'])}"
        for entry in reading.pairs() if not is_estimate(entry["miou"])
    ]  # fmt: skip
