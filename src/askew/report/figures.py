"""The figures of the report: tables with a plot in every row, so that they can be read without seeing the plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from askew.report.formatting import (
    ABSENT,
    Record,
    axis_label,
    capital,
    interval,
    measured,
    number,
    perceived,
    percent,
    points,
    probability,
    reads_appearance,
    reason,
    shorten,
)
from askew.report.plots import Mark, Scale, scale_axis, share_scale, signed_scale, small_track, track, unit_scale
from askew.report.reading import exceeds_chance, is_estimate, ranked_axes
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


def ranking(entry: Record, anchors: Mapping[str, str]) -> PlotTable:
    """The axes of a prompt by corrected MAD, plotted on the scale of MAD itself."""
    axes = ranked_axes(entry)
    scale = unit_scale(axis["mad"] for _, axis in axes)
    rows = [_score_row(capital(axis_label(n)), axis["mad"], scale, "MAD", anchor=anchors.get(n)) for n, axis in axes]
    return PlotTable(
        "How unequally near the pictures are to the counterfactuals of each axis (MAD); most one-sided first",
        "Axis",
        scale_axis(scale),
        _SCORE_COLUMNS,
        tuple(rows),
        (("dot", "measured MAD"), _INTERVAL, _CHANCE),
    )


def associations(name: str, axis: Record) -> PlotTable:
    """CAS of every counterfactual of an axis, with their mean."""
    scale = unit_scale(axis["cas"].values())
    known = [e["value"] for e in axis["cas"].values() if is_estimate(e)]
    marks = (Mark(sum(known) / len(known), "mean"),) if len(known) > 1 else ()
    rows = [
        Row(
            shorten(value, 60),
            track(scale, e, f"CAS with the {value} counterfactual", _describe(e, "CAS"), marks=marks),
            (measured(e),),
            note="" if is_estimate(e) else reason(e),
        )
        for value, e in axis["cas"].items()
    ]
    legend = (("dot", "CAS"), _INTERVAL, *((("mean", "mean of the axis"),) if marks else ()))
    return PlotTable(
        "How near the initial pictures are to each counterfactual (CAS)",
        capital(axis_label(name)),
        scale_axis(scale),
        ("CAS",),
        tuple(rows),
        legend,
    )


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


def distances(entries: Sequence[Record]) -> PlotTable:
    """How far each picture set's shares are from the ideal, in the order of the results."""
    scale = unit_scale(e["distance"] for e in entries)
    several = len({e["instrument"] for e in entries}) > 1
    rows = []
    for e in entries:
        where = set_label(e["set"]) + (f", {shorten(str(e['instrument']), 30)}" if several else "")
        rows.append(_score_row(shorten(e["prompt"], 50), e["distance"], scale, "distance", note=where))
    caption = f"How far the shares of {perceived(entries[0]['axis'])} are from the ideal (distance)"
    return PlotTable(caption, "Pictures", scale_axis(scale), ("distance", *_SCORE_COLUMNS[1:]), tuple(rows),
                     (("dot", "measured distance"), _INTERVAL, _CHANCE))  # fmt: skip


def differences(entry: Record) -> PlotTable:
    """How much more often each value is seen in the second picture set than in the first."""
    scale = signed_scale(entry["shares"].values(), as_points=True)
    before, after = (set_label(s) for s in entry["sets"])
    rows = [
        Row(
            shorten(value, 60),
            track(scale, e, f"Difference in the share of {value}", _describe(e, "difference in points", points)),
            (points(e.get("value")), interval(e, points), _test(e)),
            strong=exceeds_chance(e) is True,
            note="" if is_estimate(e) else reason(e),
        )
        for value, e in entry["shares"].items()
    ]
    caption = (
        f"{capital(perceived(entry['axis']))}: {after} minus {before}, in percentage points, "
        f"read by {shorten(str(entry['instrument']), 60)}"
    )
    return PlotTable(
        caption,
        "Value",
        scale_axis(scale),
        ("points", "interval", "q"),
        tuple(rows),
        (("dot", "difference"), _INTERVAL),
    )


def domain(entry: Record) -> list[PlotTable]:
    """The difference of two values' CAS per prompt, sorted; one figure per pair of values."""
    pairs = list(dict.fromkeys(tuple(d["values"]) for d in entry["differences"]))
    scale = signed_scale(d["estimate"] for d in entry["differences"])
    return [_domain_pair(entry, first, second, scale) for first, second in pairs]


def concepts(axis: Record) -> Matrix | None:
    """How often the most frequent concepts occur in the initial set and in each counterfactual set."""
    tops = {name: dict(pairs) for name, pairs in (axis.get("top_concepts") or {}).items()}
    initial = tops.pop("initial", {})
    if not initial or not tops:
        return None
    rows = []
    for concept in _telling(initial, tops):
        cells = [_concept_cell(f"{concept} in the initial pictures", initial.get(concept), None, hollow=False)]
        cells += [
            _concept_cell(f"{concept} in {v}", found.get(concept), initial.get(concept), hollow=True)
            for v, found in tops.items()
        ]
        rows.append((shorten(concept, 40), None, tuple(cells)))
    note = (
        "Dots run from no picture at the left to all pictures at the right; the vertical mark is the initial set. "
        f"{ABSENT} = not among the concepts listed for that set."
    )
    columns = ("initial", *(shorten(v, 40) for v in tops))
    return Matrix("Concepts seen, in % of the pictures of each set", "Concept", columns, tuple(rows), note)


def overview(entries: Sequence[Record], anchors: Mapping[str, str]) -> Matrix:
    """MAD of every prompt and axis, the strongest prompt first."""
    names = list(dict.fromkeys(n for entry in entries for n in entry["axes"]))
    scale = unit_scale(axis["mad"] for entry in entries for axis in entry["axes"].values())
    rows = []
    for entry in entries:
        cells = tuple(_overview_cell(entry, n, scale) for n in names)
        rows.append((shorten(entry["prompt"], 60), anchors.get(entry["prompt"]), cells))
    note = (
        f"Every cell runs from {scale.labels[0]} to {scale.labels[-1]}: dot = MAD, line = its interval, "
        "grey = what chance alone would give. "
        f"Bold = beyond chance (q < 0.05). {ABSENT} = not an axis of this prompt, or not measured."
    )
    return Matrix(
        "MAD of every prompt and axis", "Prompt", tuple(capital(axis_label(n)) for n in names), tuple(rows), note
    )


_SCORE_COLUMNS = ("MAD", "interval", "chance", "corrected", "q")


def _score_row(label: str, e: Record, scale: Scale, what: str, anchor: str | None = None, note: str = "") -> Row:
    numbers = (number(e.get("value")), interval(e), number(e.get("null")), number(e.get("corrected")), _test(e))
    plot = track(scale, e, label, _describe(e, what))
    return Row(
        label,
        plot,
        numbers,
        exceeds_chance(e) is True,
        anchor,
        note if is_estimate(e) else f"{note} {reason(e)}".strip(),
    )


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


def _domain_pair(entry: Record, first: str, second: str, scale: Scale) -> PlotTable:
    found = [(d["prompt"], d["estimate"]) for d in entry["differences"] if tuple(d["values"]) == (first, second)]
    found.sort(key=lambda item: (not is_estimate(item[1]), -(item[1].get("value") or 0.0)))
    rows = [
        Row(
            shorten(prompt, 60),
            track(scale, e, f"CAS {first} minus CAS {second}, {shorten(prompt, 60)}", _describe(e, "difference")),
            (number(e.get("value")), interval(e)),
            strong=exceeds_chance(e) is True,
            note="" if is_estimate(e) else reason(e),
        )
        for prompt, e in found
    ]
    first, second = shorten(first, 30), shorten(second, 30)
    caption = (
        f"{capital(axis_label(entry['axis']))}: CAS {first} minus CAS {second}. "
        f"Left of zero nearer to {second}, right of zero nearer to {first}"
    )
    return PlotTable(
        caption,
        "Prompt",
        scale_axis(scale),
        ("difference", "interval"),
        tuple(rows),
        (("dot", "difference"), _INTERVAL),
    )


def _overview_cell(entry: Record, name: str, scale: Scale) -> tuple[Markup, str, bool]:
    axis = entry["axes"].get(name)
    if axis is None or not is_estimate(axis["mad"]):
        return Markup(""), ABSENT, False
    title = f"{axis_label(name)}, {shorten(entry['prompt'], 60)}"
    mad = axis["mad"]
    return track(scale, mad, title, _describe(mad, "MAD")), number(mad["value"]), exceeds_chance(mad) is True


def _telling(initial: Mapping[str, float], others: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The most frequent initial concepts, and those that set the counterfactuals apart from them most."""
    gap = {
        c: max(abs(found.get(c, 0.0) - initial.get(c, 0.0)) for found in others.values()) for c in _all(initial, others)
    }
    chosen = sorted(initial, key=lambda c: -initial[c])[: CONCEPT_ROWS // 2]
    rest = sorted((c for c in gap if c not in chosen), key=lambda c: -gap[c])
    chosen += rest[: CONCEPT_ROWS - len(chosen)]
    return sorted(chosen, key=lambda c: (-initial.get(c, -1.0), -gap[c]))


def _all(initial: Mapping[str, float], others: Mapping[str, Mapping[str, float]]) -> list[str]:
    return list(dict.fromkeys([*initial, *(c for found in others.values() for c in found)]))


def _concept_cell(
    title: str, frequency: float | None, reference: float | None, *, hollow: bool
) -> tuple[Markup, str, bool]:
    if frequency is None:
        return Markup(""), ABSENT, False
    return small_track(frequency, reference, title, hollow=hollow), percent(frequency), False
