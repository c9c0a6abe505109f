"""The figures of attention maps: overlaps with their chance, and the profile over the blocks of the network."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from askew.report.compare_figures import lanes
from askew.report.figures import PlotTable, Row
from askew.report.formatting import (
    Record,
    interval,
    measured,
    number,
    perceived,
    probability,
    reason,
    shorten,
)
from askew.report.map_reading import MapReading, absence, beyond_chance, by_prompt, model_label
from askew.report.plots import Scale, scale_axis, track, unit_scale
from askew.report.reading import is_estimate

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 280, 44, 46, 12
"""Of the profile, in its own units."""

BESIDE = 9.0
"""Between the points of two models in one block."""


def overlaps(reading: MapReading, concept: str) -> PlotTable:
    """mIoU of a concept with the word of every prompt; a lane for every model."""
    found, scale = by_prompt(reading, concept), unit_scale()
    several = len(reading.models) > 1
    rows = [_overlap_row(reading, own, scale, several) for own in found.values()]
    columns = tuple(_short(reading.models)) if several else ("mIoU", "interval", "chance", "corrected", "q", "mBIoU")
    legend = (
        tuple((f"run-{k}", model_label(name, 60)) for k, name in enumerate(reading.models))
        if several
        else (("dot", "mIoU"), ("line", "interval for the true score"))
    )
    caption = f"How much of their union the places of “{shorten(concept, 40)}” and of the word beside it share (mIoU)"
    chance = (("null", "chance: the same words in other pictures of the prompt"),)
    return PlotTable(caption, "With", scale_axis(scale), columns, tuple(rows), (*legend, *chance))


def risks(reading: MapReading, axis: str) -> PlotTable:
    """The risk difference of an axis for every prompt; a lane for every model."""
    scale = unit_scale()
    by_model = [reading.risks(model, axis) for model in reading.models]
    groups = by_model[0][0]["groups"]
    rows = []
    for own in zip(*by_model, strict=True):
        estimates = [r["estimate"] for r in own]
        label = reading.word_of(own[0]["prompt"])
        absent = "" if any(map(is_estimate, estimates)) else reason(estimates[0])
        plot = lanes(scale, estimates, label, "; ".join(measured(e) for e in estimates))
        rows.append(Row(label, plot, tuple(measured(e) for e in estimates), note=absent))
    caption = f"Risk difference of {perceived(axis)}: |share of {groups[0]} − share of {groups[1]}|"
    columns = tuple(_short(reading.models)) if len(reading.models) > 1 else ("risk difference",)
    legend = (*((f"run-{k}", model_label(name, 60)) for k, name in enumerate(reading.models)),
              ("null", "what chance alone would give"))  # fmt: skip
    return PlotTable(caption, "With", scale_axis(scale), columns, tuple(rows), legend)


def profile(reading: MapReading, concept: str) -> Markup:
    """Overlap over the blocks of the network, from input to output: a line for every model, chance behind it."""
    series = [reading.profile(model, concept) for model in reading.models]
    blocks = list(dict.fromkeys(block for own in series for block in own))
    singles = _of_prompts(reading, concept)
    known = [e for own in (*series, *singles) for e in own.values() if is_estimate(e)]
    top = max((float(e.get("high") or e["value"]) for e in known), default=1.0)
    height = min(1.0, max(0.3, 0.1 * (int(top * 10) + 1)))
    parts = [_grid(height), _chance_band(series[0], blocks, height), _area_line(reading.chance_area(concept), height)]
    parts += [_chance_edges(own, blocks, height, k) for k, own in enumerate(series) if len(series) > 1]
    parts += [_thin_line(own, blocks, height) for own in singles]
    parts += [_line(own, blocks, height, k, BESIDE * (k - (len(series) - 1) / 2)) for k, own in enumerate(series)]
    parts += [_label(blocks, k) for k in range(len(blocks))]
    parts += [_absent(k, len(blocks)) for k, block in enumerate(blocks)
              if not any(is_estimate(own.get(block)) for own in series)]  # fmt: skip
    said = "; ".join(f"{block} {measured(e)}" for block, e in series[0].items())
    title = f"Overlap of {shorten(concept, 40)} over the blocks of the network"
    return Markup(
        '<svg class="profile" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(WIDTH, HEIGHT, title, said, Markup("").join(parts))


def profile_tables(reading: MapReading, concept: str) -> list[PlotTable]:
    """The numbers of the profile of every model, by block and by layer."""
    return [_profile_table(reading, model, concept, part) for model in reading.models for part in ("blocks", "layers")]


def _profile_table(reading: MapReading, model: str, concept: str, part: str) -> PlotTable:
    own, scale = reading.profile(model, concept, part), unit_scale()
    rows = [_part_row(name, e, scale) for name, e in own.items()]
    kind = part.removesuffix("s")
    caption = f"Overlap by {kind}, from input to output, by {model_label(model, 60)}"
    return PlotTable(caption, kind.capitalize(), scale_axis(scale), ("overlap", "interval", "chance", "corrected", "q"),
                     tuple(rows), ())  # fmt: skip


def _part_row(name: str, e: Record, scale: Scale) -> Row:
    known = is_estimate(e)
    cells = (number(e.get("value")), interval(e), number(e.get("null")), number(e.get("corrected")),
             probability(e.get("q")))  # fmt: skip
    strong = known and (e.get("q") or 1.0) < 0.05
    return Row(name, track(scale, e, name, measured(e)), cells, strong, note="" if known else reason(e))


def intersections(reading: MapReading) -> list[tuple[str, Record]]:
    """Three concepts at once, each with its label."""
    return [(" · ".join(entry["concepts"]), entry) for entry in reading.biasmap["intersections"]]


def _overlap_row(reading: MapReading, own: Sequence[Record], scale: Scale, several: bool) -> Row:
    label = shorten(own[0]["b"], 60)
    strong = beyond_chance(own[0])
    if several:
        estimates = [e["miou"] for e in own]
        plot = lanes(scale, estimates, label, "; ".join(measured(e) for e in estimates))
        absent = [f"{model_label(e['model'], 24)}: {absence(e['miou'])}" for e in own if absence(e["miou"])]
        return Row(label, plot, tuple(number(e.get("value")) for e in estimates), strong, note="; ".join(absent))
    e = own[0]["miou"]
    cells = (number(e.get("value")), interval(e), number(e.get("null")), number(e.get("corrected")),
             probability(e.get("q")), number(own[0]["mbiou"].get("value")))  # fmt: skip
    return Row(label, track(scale, e, label, measured(e)), cells, strong, note=absence(e))


def _short(models: Sequence[str]) -> list[str]:
    return [model_label(name, 24) for name in models]


def _x(k: float, blocks: int) -> float:
    return LEFT + (k + 0.5) * (WIDTH - LEFT - 8) / blocks


def _y(value: float, height: float) -> float:
    return TOP + (1 - value / height) * (HEIGHT - TOP - BOTTOM)


def _grid(height: float) -> Markup:
    steps = [k / 10 for k in range(round(height * 10) + 1)]
    lines = [
        Markup('<line class="grid-line" x1="{}" x2="{}" y1="{y:.1f}" y2="{y:.1f}"/>'
               '<text x="{}" y="{t:.1f}" text-anchor="end">{}</text>').format(
            LEFT, WIDTH - 8, LEFT - 8, number(step, 1), y=_y(step, height), t=_y(step, height) + 4)
        for step in steps
    ]  # fmt: skip
    return Markup("").join(lines)


def _chance_band(own: Record, blocks: Sequence[str], height: float) -> Markup:
    """From 0 to the chance of every block, in grey."""
    step = (WIDTH - LEFT - 8) / len(blocks)
    bands = [
        Markup('<rect class="null" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
               '<line class="null-edge" x1="{:.1f}" x2="{:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>').format(
            LEFT + k * step, _y(e["null"], height), step, _y(0, height) - _y(e["null"], height),
            LEFT + k * step, LEFT + (k + 1) * step, y=_y(e["null"], height))
        for k, e in enumerate(own.get(block, {}) for block in blocks) if e.get("null") is not None
    ]  # fmt: skip
    return Markup("").join(bands)


def _chance_edges(own: Record, blocks: Sequence[str], height: float, run: int) -> Markup:
    """A model's own chance of every block, where several models are drawn."""
    half = (WIDTH - LEFT - 8) / len(blocks) / 2
    edges = [
        Markup('<line class="chance run-{}" x1="{:.1f}" x2="{:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>').format(
            run, x - half, x + half, y=_y(e["null"], height))
        for x, e in _points(own, blocks) if e.get("null") is not None
    ]  # fmt: skip
    return Markup("").join(edges)


def _absent(k: int, blocks: int) -> Markup:
    """In place of a point: this block's maps are the same everywhere."""
    return Markup('<text class="absent" x="{:.1f}" y="{}" text-anchor="middle">flat maps</text>').format(
        _x(k, blocks), HEIGHT - BOTTOM - 6
    )


def _area_line(chance: float | None, height: float) -> Markup:
    if chance is None:
        return Markup("")
    return Markup('<line class="area" x1="{}" x2="{}" y1="{y:.1f}" y2="{y:.1f}"/>').format(
        LEFT, WIDTH - 8, y=_y(chance, height)
    )


def _of_prompts(reading: MapReading, concept: str) -> list[Record]:
    """The profiles of single prompts; none where there is one prompt, or where models' lines would mix with them."""
    own = reading.pairs(a=concept)
    return [e["blocks"] for e in own] if len(own) > 1 and len(reading.models) == 1 else []


def _points(own: Record, blocks: Sequence[str]) -> list[tuple[float, Record]]:
    return [(_x(k, len(blocks)), own[b]) for k, b in enumerate(blocks) if b in own and is_estimate(own[b])]


def _path(points: Sequence[tuple[float, Record]], height: float) -> str:
    return " ".join(f"{x:.1f},{_y(e['value'], height):.1f}" for x, e in points)


def _thin_line(own: Record, blocks: Sequence[str], height: float) -> Markup:
    return Markup('<polyline class="single" points="{}"/>').format(_path(_points(own, blocks), height))


def _line(own: Record, blocks: Sequence[str], height: float, run: int, shift: float) -> Markup:
    """A model's points, moved aside by `shift`, so that intervals of several models do not cover each other."""
    points = [(x + shift, e) for x, e in _points(own, blocks)]
    parts = [Markup('<polyline class="run-{}" points="{}"/>').format(run, _path(points, height))]
    for x, e in points:
        if e.get("low") is not None:
            whisker = Markup('<line class="whisker run-{}" x1="{x:.1f}" x2="{x:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
            parts.append(whisker.format(
                run, _y(min(e["low"], height), height), _y(min(e["high"], height), height), x=x))  # fmt: skip
        parts.append(Markup('<circle class="dot run-{}" cx="{:.1f}" cy="{:.1f}" r="4.5"/>').format(
            run, x, _y(e["value"], height)))  # fmt: skip
    return Markup("").join(parts)


def _label(blocks: Sequence[str], k: int) -> Markup:
    """Every block's name; of many only some."""
    every = 1 + len(blocks) // 14
    if k % every:
        return Markup("")
    return Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
        _x(k, len(blocks)), HEIGHT - BOTTOM + 20, blocks[k]
    )
