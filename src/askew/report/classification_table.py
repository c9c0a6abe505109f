"""What a classification found, as tables for a terminal of 80 columns."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from askew.report.classification_reading import ClassificationReading, column_label
from askew.report.classification_sentences import effect_sentence, headline, pruning_sentence, truth_sentence
from askew.report.formatting import ABSENT, Record, interval, measured, percent, points, probability, shorten
from askew.report.reading import exceeds_chance, is_estimate


def classification_table(results: Record) -> RenderableType:
    """The answer, association and accuracy by group, differences between groups, and the truth where it is known."""
    reading = ClassificationReading(results)
    parts: list[RenderableType] = [Text(headline(reading), style="bold"), _rates(reading), _differences(reading)]
    notes = [effect_sentence(reading)]
    notes += [truth_sentence(entry) for entry in reading.truths()[:1]]
    pruning = reading.section["pruning"]
    notes += [pruning_sentence(pruning)] if pruning else []
    return Group(*parts, *(Text(note) for note in notes if note))


def _rates(reading: ClassificationReading) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"decisions for the {reading.sets[0]} class")
    table.title_justify = "left"
    table.add_column("group", overflow="fold")
    table.add_column("by", no_wrap=True)
    for header in ("association", "q", "accuracy"):
        table.add_column(header, justify="right", no_wrap=True)
    for group in reading.groups:
        for column in reading.columns:
            found, right = reading.association(group, column), reading.accuracy(group, column)
            style = "bold" if exceeds_chance(found) else ""
            table.add_row(
                Text(shorten(group, 28)),
                Text(shorten(column_label(column), 18)),
                Text(measured(found, percent), style=style),
                probability(found.get("q")),
                measured(right, percent) if right is not None and is_estimate(right) else ABSENT,
            )
    return table


def _differences(reading: ClassificationReading) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="differences between groups, in points")
    table.title_justify = "left"
    table.add_column("groups", overflow="fold")
    table.add_column("by", no_wrap=True)
    for header in ("difference", "interval", "q"):
        table.add_column(header, justify="right", no_wrap=True)
    for entry in reading.section["differential"]:
        found = entry["S"]
        if entry["samples"] not in (reading.most, None):
            continue
        table.add_row(
            Text(f"{shorten(entry['group_x'], 20)} less {shorten(entry['group_y'], 20)}"),
            Text(shorten(column_label((entry["classifier"], entry["samples"])), 18)),
            Text(points(found.get("value")), style="bold" if exceeds_chance(found) else ""),
            interval(found, points),
            probability(found.get("q")),
        )
    return table
