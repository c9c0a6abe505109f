"""The figures of a comparison: differences on a scale around zero, and the runs' own scores one above the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from markupsafe import Markup

from askew.report.compare import Change, CompareReading, Pair
from askew.report.compare_sentences import plus, score_label
from askew.report.figures import PlotTable, Row
from askew.report.formatting import (
    Record,
    axis_label,
    capital,
    interval,
    measured,
    number,
    percent,
    points,
    probability,
    reason,
    shorten,
)
from askew.report.plots import Scale, scale_axis, share_scale, signed_scale, track, unit_scale
from askew.report.reading import exceeds_chance, is_estimate
from askew.report.sentences import set_label

LANE = 14
"""Height of one run's lane in a row, in pixels."""

_DIFFERENCE = (("change", "difference"), ("change-line", "interval for the true difference"))


def lean_figure(reading: CompareReading, pair: Pair, changes: Sequence[Change]) -> PlotTable | None:
    """By how much one run is more one-sided than another; None if nothing says so."""
    found = _ranked((change, change.lean) for change in changes)
    if not found:
        return None
    scale = signed_scale(entry["difference"] for _, entry in found)
    several = reading.has_several_sets
    rows = [_row(reading, pair, entry, scale, *_place(change, several)) for change, entry in found]
    score = found[0][1]["score"]
    what = "MAD" if score == "mad" else "distance of the shares from the ideal"
    caption = f"Difference in {what}. Left of zero {reading.letter(pair[1])} is less one-sided, right of zero more"
    columns = _columns(reading, pair, names(reading, pair))
    return PlotTable(caption, "Axis", scale_axis(scale), columns, tuple(rows), _DIFFERENCE)


def moved_figure(reading: CompareReading, pair: Pair, changes: Sequence[Change]) -> PlotTable | None:
    """The value on each axis whose share differs most."""
    found = _ranked((change, change.share) for change in changes)
    if not found:
        return None
    scale = signed_scale((entry["difference"] for _, entry in found), as_points=True)
    several = reading.has_several_sets
    rows = []
    for change, entry in found:
        label, note = _place(change, several)
        rows.append(_row(reading, pair, entry, scale, f"{label}: {shorten(entry['value'], 40)}", note))
    caption = "On each axis the value whose share differs most, in percentage points"
    columns = _columns(reading, pair, "points")
    return PlotTable(caption, "Axis and value", scale_axis(scale), columns, tuple(rows), _DIFFERENCE)


def own_scores(reading: CompareReading, entries: Sequence[Record], caption: str, heading: str) -> PlotTable:
    """The runs' own scores, of which `entries` hold the differences of one pair: a lane per run in every row."""
    shares = entries[0]["score"] == "share"
    write = percent if shares else number
    own = [[reading.estimate(model, entry) for model in reading.models] for entry in entries]
    scale = share_scale() if shares else unit_scale(e for some in own for e in some)
    rows = [
        Row(
            score_label(entry) if entry["value"] is None else shorten(entry["value"], 60),
            lanes(scale, some, score_label(entry), _spoken(reading, some, write)),
            tuple(write((e or {}).get("value")) for e in some),
        )
        for entry, some in zip(entries, own, strict=True)
    ]
    letters = tuple(reading.letter(model.name) for model in reading.models)
    legend = tuple((f"run-{k}", f"{letters[k]}: {shorten(model.name, 60)}") for k, model in enumerate(reading.models))
    return PlotTable(caption, heading, scale_axis(scale), letters, tuple(rows), legend)


def differences(reading: CompareReading, entries: Sequence[Record], caption: str, heading: str) -> PlotTable:
    """The differences of all pairs of runs in some scores of one kind: a row per score and pair."""
    as_points = entries[0]["score"] == "share"
    scale = _few_labels(signed_scale((e["difference"] for e in entries), as_points=as_points))
    rows = []
    for entry in entries:
        pair = (entry["runs"][0], entry["runs"][1])
        label = score_label(entry) if entry["value"] is None else shorten(entry["value"], 60)
        note = names(reading, pair) if len(reading.pairs) > 1 else ""
        rows.append(_difference_row(entry["difference"], scale, label, note, as_points, own=()))
    columns = ("points" if as_points else "difference", "interval", "q")
    return PlotTable(caption, heading, scale_axis(scale), columns, tuple(rows), _DIFFERENCE)


def lanes(scale: Scale, estimates: Sequence[Record | None], title: str, description: str) -> Markup:
    """One row of a plot with a lane per run, in their order: a dot on its interval, and what chance would give."""
    height = LANE * len(estimates) + 8
    grid = Markup("").join(
        Markup('<line class="grid" x1="{0}" x2="{0}" y1="0" y2="{1}"/>').format(scale.at(tick), height)
        for tick in scale.ticks
    )
    body = Markup("").join(_lane(scale, e, k) for k, e in enumerate(estimates))
    return Markup(
        '<svg class="track lanes" width="100%" height="{}" role="img"><title>{}</title><desc>{}</desc>{}{}</svg>'
    ).format(height, title, description, grid, body)


def _lane(scale: Scale, estimate: Record | None, k: int) -> Markup:
    middle = LANE * k + LANE // 2 + 4
    if estimate is None or not is_estimate(estimate):
        return Markup('<text class="absent" x="50%" y="{}" text-anchor="middle">not measured</text>').format(middle + 4)
    parts = []
    if estimate.get("null"):
        parts.append(
            Markup('<rect class="null" x="0" width="{}" y="{}" height="{}"/>').format(
                scale.at(estimate["null"]), middle - LANE // 2 + 1, LANE - 2
            )
        )
    if estimate.get("low") is not None and estimate.get("high") is not None:
        parts.append(
            Markup('<line class="whisker run-{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
                k, scale.at(estimate["low"]), scale.at(estimate["high"]), middle, middle
            )
        )
    parts.append(
        Markup('<circle class="dot run-{}" cx="{}" cy="{}" r="4.5"/>').format(k, scale.at(estimate["value"]), middle)
    )
    return Markup("").join(parts)


def _row(reading: CompareReading, pair: Pair, entry: Record, scale: Scale, label: str, note: str) -> Row:
    as_points = entry["score"] == "share"
    own = [reading.estimate(model, entry) for name in pair for model in reading.models if model.name == name]
    write = percent if as_points else number
    cells = tuple(write((e or {}).get("value")) for e in own)
    return _difference_row(entry["difference"], scale, label, note, as_points, own=cells)


def _difference_row(
    difference: Record, scale: Scale, label: str, note: str, as_points: bool, own: tuple[str, ...]
) -> Row:
    write = points if as_points else plus
    known = is_estimate(difference)
    spoken = f"difference {measured(difference, write)}" if known else f"not measured: {reason(difference)}"
    bounds = interval(difference, points if as_points else number)
    cells = (*own, write(difference.get("value")), bounds, probability(difference.get("q")))
    plot = track(scale, difference, label, spoken)
    return Row(label, plot, cells, exceeds_chance(difference) is True, None, note if known else reason(difference))


def _ranked(entries: Iterable[tuple[Change, Record | None]]) -> list[tuple[Change, Record]]:
    """Those with an entry: beyond chance first, then by size, missing ones last."""
    found = [(change, entry) for change, entry in entries if entry is not None]

    def key(item: tuple[Change, Record]) -> tuple[bool, bool, float]:
        difference = item[1]["difference"]
        return not is_estimate(difference), not exceeds_chance(difference), -abs(difference.get("value") or 0.0)

    return sorted(found, key=key)


def _few_labels(scale: Scale) -> Scale:
    """The scale with labels at its ends and middle alone, for narrow plots."""
    middle = len(scale.labels) // 2
    kept = (0, middle, len(scale.labels) - 1)
    return replace(scale, labels=tuple(text if k in kept else "" for k, text in enumerate(scale.labels)))


def _columns(reading: CompareReading, pair: Pair, difference: str) -> tuple[str, ...]:
    return reading.letter(pair[0]), reading.letter(pair[1]), difference, "interval", "q"


def _place(change: Change, several: bool) -> tuple[str, str]:
    """The label of a row and its note."""
    where = "" if change.set == "initial" else f", {set_label(change.set)}"
    return capital(axis_label(change.axis)), f"{shorten(change.prompt, 50)}{where}" if several else ""


def names(reading: CompareReading, pair: Pair) -> str:
    """ "B − A": which difference it is."""
    return f"{reading.letter(pair[1])} − {reading.letter(pair[0])}"


def _spoken(reading: CompareReading, estimates: Sequence[Record | None], write: object) -> str:
    parts = [
        f"{reading.letter(model.name)} {measured(e, write) if e is not None and is_estimate(e) else 'not measured'}"
        for model, e in zip(reading.models, estimates, strict=True)
    ]
    return "; ".join(parts)
