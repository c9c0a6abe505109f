"""The figures of a report of edits: changes as dots on their intervals, and the paper's tables in form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from askew.report.editing_sentences import contrast_label, degrees
from askew.report.figures import PlotTable, Row
from askew.report.formatting import (
    ABSENT,
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

_INTERVAL = ("line", "interval for the true value")
_DEGREES = (1, 2, 5, 10, 15, 20, 30, 45, 60, 90)
_HOW = {"rule": " (by its colour)", "geometry": " (on the cheeks)"}
_FLOOR = ("null", "what reading alone changes: encoded and decoded, not edited")


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a plain table; `strong` if it exceeds chance or a bound that the table names."""

    text: str
    note: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class PlainTable:
    """Numbers alone, as the paper prints them. Rows are (labels, cells)."""

    caption: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Cell, ...]], ...]


def gender_figure(entries: Sequence[Record]) -> PlotTable:
    """How often perceived gender changes, by group and strength, for one set of targets."""
    scale = share_scale()
    rows = []
    for entry in entries:
        e = entry["gender_change"]
        cells = (percent(e.get("value")), interval(e, percent), percent(entry["floor"].get("value")),
                 percent(e.get("corrected")), probability(e.get("q")))  # fmt: skip
        title = f"{entry['group']}, strength {entry['strength']:g}"
        rows.append(_row(entry, track(scale, e, title, f"change {measured(e, percent)}"), cells, e))
    return PlotTable(
        f"Edits towards {_set(entries[0])} whose perceived gender is not that of their source",
        "Group", scale_axis(scale), ("change", "interval", "floor", "corrected", "q"), tuple(rows),
        (("dot", "share of edits"), _INTERVAL, _FLOOR),
    )  # fmt: skip


def skin_figure(entries: Sequence[Record]) -> PlotTable:
    """How much ITA changes, by group and strength, for one set of targets."""
    scale = _degree_scale([entry["ita_change"] for entry in entries])
    rows = []
    for entry in entries:
        e = entry["ita_change"]
        cells = (number(entry["ita_before"].get("value"), 1), number(entry["ita_after"].get("value"), 1),
                 _degrees(e), interval(e, _one_digit), probability(e.get("q")))  # fmt: skip
        title = f"{entry['group']}, strength {entry['strength']:g}"
        rows.append(_row(entry, track(scale, e, title, f"change {measured(e)} degrees"), cells, e))
    return PlotTable(
        f"Skin tone of edits towards {_set(entries[0])} less that of their sources (ITA in degrees; right = lighter)",
        "Group", scale_axis(scale), ("before", "after", "change", "interval", "q"), tuple(rows),
        (("dot", "mean change"), _INTERVAL),
    )  # fmt: skip


def exposure_table(entries: Sequence[Record]) -> PlainTable:
    """How much of the change of skin goes along with the rest of the picture."""
    rows = []
    for entry in entries:
        parts = [entry[name] for name in ("lightness_change", "background_change", "beyond_exposure")]
        coverage = entry["coverage"]
        cells = [Cell(_signed(e), interval(e, _one_digit), exceeds_chance(e) is True) for e in parts]
        cells += [Cell(percent(coverage["before"])), Cell(percent(coverage["after"]))]
        rows.append(((entry["group"], entry["targets"], f"{entry['strength']:g}"), tuple(cells)))
    how = _HOW[entries[0]["coverage"]["mask"]]
    return PlainTable(
        f"Change of L* on pixels that are skin before and after{how}, on pixels that are skin in neither, and the "
        "difference: what exposure does not explain. Coverage: share of the picture that is taken as skin",
        ("Group", "Targets", "Strength"), ("skin", "background", "beyond exposure", "coverage before", "after"),
        tuple(rows),
    )  # fmt: skip


def identity_figure(entries: Sequence[Record]) -> PlotTable:
    """How alike source and edit are."""
    scale = unit_scale()
    rows = []
    for entry in entries:
        e = entry["identity"]
        cells = (number(e.get("value")), interval(e), number(e.get("null")), number(e.get("corrected")))
        title = f"{entry['group']}, strength {entry['strength']:g}"
        rows.append(_row(entry, track(scale, e, title, f"similarity {measured(e)}"), cells, e))
    return PlotTable(
        f"Likeness of edits towards {_set(entries[0])} to their own source (cosine of embeddings)",
        "Group", scale_axis(scale), ("likeness", "interval", "others", "corrected"), tuple(rows),
        (("dot", "edit and its source"), _INTERVAL, ("null", "edit and the other pictures of the group")),
    )  # fmt: skip


def pooled_figure(results: Record, axis: str, score: str) -> PlotTable | None:
    """The paper's figure 3, left and middle: all groups whose names say the same value of an axis."""
    entries = [entry for entry in results["editing_pooled"] if entry["axis"] == axis]
    return _pooled(axis, score, entries) if entries else None


def contrasts_figure(entries: Sequence[Record], score: str) -> PlotTable:
    """Differences of a score between groups, sets of targets, or strengths."""
    is_share = score == "gender_change"
    scale = (
        signed_scale((e[score] for e in entries), as_points=True) if is_share else _degree_scale(_all(entries, score))
    )
    write = points if is_share else _one_digit
    rows = []
    for entry in entries:
        e = entry[score]
        label, where = contrast_label(entry)
        plot = track(scale, e, f"{label}, {where}", f"difference {measured(e, write)}")
        cells = (write(e.get("value")), interval(e, write), probability(e.get("q")))
        rows.append(Row(shorten(label, 70), plot, cells, exceeds_chance(e) is True, note=_note(where, e)))
    what = "change of perceived gender, in percentage points" if is_share else "change of ITA, in degrees"
    unit = "points" if is_share else "degrees"
    return PlotTable(
        f"Differences in the {what}", "Difference", scale_axis(scale), (unit, "interval", "q"), tuple(rows),
        (("dot", "difference"), _INTERVAL),
    )  # fmt: skip


def axes_table(entries: Sequence[Record]) -> PlainTable:
    """What else moved: how often the value of every other axis changes, beside its floor."""
    axes = list(dict.fromkeys(axis for entry in entries for axis in entry["other_axes"]))
    rows = []
    for entry in entries:
        cells = [Cell(percent(entry["target_seen"].get("value")), interval(entry["target_seen"], percent))]
        for axis in axes:
            e, floor = entry["other_axes"].get(axis, {}), entry["other_floors"].get(axis, {})
            cells.append(
                Cell(percent(e.get("value")), f"floor {percent(floor.get('value'))}", exceeds_chance(e) is True)
                if is_estimate(e)
                else Cell(ABSENT)
            )
        rows.append(((entry["group"], entry["targets"]), tuple(cells)))
    return PlainTable(
        f"Edits at strength {entries[0]['strength']:g} in which the value read on an axis is not that of their source. "
        "Bold: more often than reading alone does (q < 0.05). Target seen: edits that show what they were to become",
        ("Group", "Targets"), ("Target seen", *(capital(axis_label(axis)) for axis in axes)), tuple(rows),
    )  # fmt: skip


def paper_table(results: Record) -> PlainTable:
    """The paper's table 1: change of gender, and of the average face's ITA, by group, targets and strength."""
    entries, strengths = results["editing"], _strengths(results)
    by_cell = {(e["group"], e["targets"], e["strength"]): e for e in entries}
    rows = []
    for group, targets in dict.fromkeys((e["group"], e["targets"]) for e in entries):
        cells = [by_cell[group, targets, strength] for strength in strengths]
        genders = [_over(c["gender_change"], 0.5, lambda v: number(v, 2)) for c in cells]
        tones = [_over(_face(c, "ita_change") or c["ita_change"], 15, _arrow) for c in cells]
        rows.append(((group, targets), (*genders, *tones)))
    of = "the average face" if any(e["average_face"] for e in entries) else "single pictures, on average"
    columns = [f"Δ gender {s:g}" for s in strengths] + [f"Δ ITA {s:g}" for s in strengths]
    return PlainTable(
        f"Share of edits whose perceived gender changes (bold: more than half) and change of ITA of {of} "
        "(↑ lighter, ↓ darker; bold: over 15°), by strength; as the paper's table 1",
        ("Group", "Targets"), tuple(columns), tuple(rows),
    )  # fmt: skip


def words_table(results: Record) -> PlainTable:
    """The main changes by single target: what those of the sets are made of."""
    entries, strengths = results["editing"], _strengths(results)
    by_cell = {(e["group"], word, e["strength"]): found for e in entries for word, found in e["by_word"].items()}
    rows = []
    for group, word in dict.fromkeys((group, word) for group, word, _ in by_cell):
        cells = [by_cell[group, word, strength] for strength in strengths]
        genders = [_share(c["gender_change"]) for c in cells]
        tones = [Cell(_degrees(c["ita_change"]), interval(c["ita_change"], _one_digit)) for c in cells]
        rows.append(((group, word), (*genders, *tones, *(_share(c["target_seen"]) for c in cells))))
    columns = [f"{what} {s:g}" for what in ("Δ gender", "Δ ITA", "target seen") for s in strengths]
    return PlainTable(
        "Share of edits whose perceived gender changes, mean change of ITA in degrees, and share of edits in which the "
        "target is seen, by target and strength",
        ("Group", "Target"), tuple(columns), tuple(rows),
    )  # fmt: skip


def tone_tables(results: Record) -> list[PlainTable]:
    """The paper's tables 2 and 3: ITA of the average faces, of the sources and of the edits."""
    entries, strengths = [e for e in results["editing"] if e["average_face"]], _strengths(results)
    if not entries:
        return []
    by_cell = {(e["group"], e["targets"], e["strength"]): e for e in entries}
    first = {e["group"]: e for e in entries}
    sources = tuple(((group,), (_tone(e, "before"),)) for group, e in first.items())
    edits = tuple(
        ((group, targets), tuple(_tone(by_cell[group, targets, s], "after") for s in strengths))
        for group, targets in dict.fromkeys((e["group"], e["targets"]) for e in entries)
    )
    columns = tuple(f"ITA {s:g}" for s in strengths)
    face = entries[0]["average_face"]
    below = f", below it its class by the scheme {face['tone_scheme']} and the share of the face that is skin"
    below += _HOW[face["coverage"]["mask"]]
    return [
        PlainTable(
            f"ITA of the average face of the sources{below}; as the paper's table 2", ("Group",), ("ITA",), sources
        ),
        PlainTable(
            f"ITA of the average face of the edits{below}; as the paper's table 3", ("Group", "Targets"), columns, edits
        ),
    ]


def _row(entry: Record, plot: object, cells: tuple[str, ...], e: Record) -> Row:
    where = f"strength {entry['strength']:g}"
    return Row(shorten(entry["group"], 60), plot, cells, exceeds_chance(e) is True, note=_note(where, e))  # type: ignore[arg-type]


def _note(where: str, e: Record) -> str:
    return where if is_estimate(e) else f"{where}; {reason(e)}"


def _set(entry: Record) -> str:
    return f"{shorten(entry['targets'], 40)} ({shorten(', '.join(entry['words']), 60)})"


def _pooled(axis: str, score: str, entries: Sequence[Record]) -> PlotTable:
    is_share = score == "gender_change"
    scale = share_scale() if is_share else _degree_scale(_all(entries, score))
    rows = []
    for entry in entries:
        e = entry[score]
        where = f"{entry['targets']}, strength {entry['strength']:g}"
        text = measured(e, percent) if is_share else measured(e, _one_digit)
        plot = track(scale, e, f"{entry['value']}, {where}", text)
        cells = (percent(e.get("value")) if is_share else _degrees(e), interval(e, percent if is_share else _one_digit))
        rows.append(Row(capital(entry["value"]), plot, cells, exceeds_chance(e) is True, note=_note(where, e)))
    what = "Edits whose perceived gender changes" if is_share else "Change of ITA in degrees (right = lighter)"
    side = "left" if is_share else "middle"
    return PlotTable(
        f"{what}, all groups of one {axis} together; as the paper's figure 3, {side}",
        capital(axis), scale_axis(scale), ("change", "interval"), tuple(rows), (("dot", "mean"), _INTERVAL),
    )  # fmt: skip


def _all(entries: Sequence[Record], score: str) -> list[Record]:
    return [entry[score] for entry in entries]


def _degree_scale(estimates: Sequence[Record]) -> Scale:
    """Symmetric around zero in round degrees, wide enough for every interval."""
    ends = [
        e[name] for e in estimates if is_estimate(e) for name in ("value", "low", "high") if e.get(name) is not None
    ]
    reach = max((abs(float(end)) for end in ends), default=1.0)
    step = next((s for s in _DEGREES if 2 * s >= reach), 90)
    ticks = tuple(float(k * step) for k in (-2, -1, 0, 1, 2))
    return Scale(ticks[0], ticks[-1], ticks, tuple(f"{number(tick, 0)}°" for tick in ticks))


def _strengths(results: Record) -> list[float]:
    return sorted({entry["strength"] for entry in results["editing"]})


def _face(entry: Record, name: str) -> Record | None:
    face = entry["average_face"]
    return None if face is None else face[name]


def _tone(entry: Record, when: str) -> Cell:
    e, name = entry["average_face"][f"ita_{when}"], entry["average_face"][f"tone_{when}"]
    if not is_estimate(e):
        return Cell(ABSENT, reason(e))
    covered = percent(entry["average_face"]["coverage"][when])
    return Cell(f"{number(e['value'], 2)} {interval(e, _one_digit)}", f"{name}, {covered}")


def _over(e: Record, bound: float, write: object) -> Cell:
    if not is_estimate(e):
        return Cell(ABSENT)
    return Cell(write(e["value"]), interval(e, _one_digit if bound > 1 else number), abs(e["value"]) > bound)  # type: ignore[operator]


def _share(e: Record) -> Cell:
    return Cell(percent(e["value"]), interval(e, percent)) if is_estimate(e) else Cell(ABSENT)


def _arrow(value: float) -> str:
    return f"{'↑' if value >= 0 else '↓'} {number(abs(value), 2)}"


def _degrees(e: Record) -> str:
    return degrees(e["value"]) if is_estimate(e) else ABSENT


def _signed(e: Record) -> str:
    if not is_estimate(e):
        return ABSENT
    return f"{'+' if e['value'] > 0 else ''}{number(e['value'], 1)}"


def _one_digit(value: float | None) -> str:
    return number(value, 1)
