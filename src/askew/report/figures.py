"""The figures of the report: tables with a plot in every row, so that they can be read without seeing the plot."""

from __future__ import annotations

from dataclasses import dataclass, field

from markupsafe import Markup

from askew.report.formatting import (
    ABSENT,
    Record,
    axis_label,
    capital,
    measured,
    number,
    percent,
    probability,
    reads_appearance,
    reason,
    shorten,
)
from askew.report.plots import Mark, scale_axis, share_scale, track
from askew.report.reading import is_estimate
from askew.report.sentences import set_label

CONCEPT_ROWS = 14


@dataclass(frozen=True, slots=True)
class Row:
    """A label, its plot, and the same in numbers. `strong` if the score exceeds chance."""

    label: str
    plot: Markup
    cells: tuple[str, ...]
    strong: bool = False
    anchor: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlotTable:
    """A figure: rows on one scale. `columns` names the numbers of each row, `legend` the marks that appear."""

    caption: str
    heading: str
    scale: Markup
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    legend: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Matrix:
    """A small multiple: a plot and a number in every cell."""

    caption: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, str | None, tuple[tuple[Markup, str, bool], ...]], ...]
    note: str = ""


_INTERVAL = ("line", "interval for the true score")
_CHANCE = ("null", "what chance alone would give")


def shares(entry: Record) -> PlotTable:
    """The share of every value in one picture set, against the ideal."""
    scale, ideal = share_scale(), entry.get("ideal") or {}
    rows = []
    for value, e in entry["shares"].items():
        marks = (Mark(ideal[value], "ideal"),) if value in ideal else ()
        plot = track(scale, e, f"Share of {value}", _describe(e, "share", percent, ideal.get(value)), marks=marks)
        rows.append(
            Row(shorten(value, 60), plot, _share_cells(entry, value, e), note="" if is_estimate(e) else reason(e))
        )
    how = "Perceived shares" if reads_appearance(entry["axis"]) else "Shares seen"
    legend = (("dot", "share"), _INTERVAL, *((("ideal", "ideal"),) if ideal else ()))
    caption = f"{how} in {set_label(entry['set'])}, read by {shorten(str(entry['instrument']), 60)}"
    return PlotTable(
        caption, capital(axis_label(entry["axis"])), scale_axis(scale), _share_columns(entry), tuple(rows), legend
    )


_SCORE_COLUMNS = ("MAD", "interval", "chance", "corrected", "q")


def _test(e: Record) -> str:
    """The q-value; a p-value says that it is one."""
    if e.get("q") is None and e.get("p") is not None:
        return probability(e["p"], "p")
    return probability(e.get("q"))


def _describe(e: Record, what: str, write: object = number, ideal: float | None = None) -> str:
    if not is_estimate(e):
        return f"not measured: {reason(e)}"
    text = f"{what} {measured(e, write)}"
    if e.get("null"):
        text += f"; chance alone would give {number(e['null'])}"
    return text if ideal is None else f"{text}; ideal {percent(ideal)}"


def _share_columns(entry: Record) -> tuple[str, ...]:
    extra = (("corrected for reading errors",) if entry.get("instrument_corrected") else ()) + (
        ("worst case",) if entry.get("bounds") else ()
    )
    return ("share", "pictures", *extra)


def _share_cells(entry: Record, value: str, e: Record) -> tuple[str, ...]:
    counts, bounds = entry.get("counts") or {}, entry.get("bounds")
    cells = [measured(e, percent), str(counts.get(value, ABSENT))]
    if entry.get("instrument_corrected"):
        cells.append(measured(entry["instrument_corrected"].get(value, {}), percent))
    if bounds:
        low, high = bounds.get(value, (None, None))
        cells.append(f"{percent(low)} to {percent(high)}")
    return tuple(cells)
