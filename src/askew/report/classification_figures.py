"""The figures of a classification: rates by group and noise samples, planted against measured, pairs of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from askew.report.classification_reading import ClassificationReading, column_label
from askew.report.figures import Matrix, PlotTable, Row
from askew.report.formatting import ABSENT, Record, interval, measured, number, percent, points, probability, shorten
from askew.report.plots import Mark, Scale, scale_axis, share_scale, signed_scale, track
from askew.report.reading import exceeds_chance, is_estimate

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 280, 46, 12, 12, 46
SIDE = 300
INNER = SIDE - LEFT - RIGHT
HALF = Mark(0.5, "reference")
AS_PLANTED = Mark(1.0, "reference")
COLOURS = 6
_INTERVAL = ("line", "interval for the true score")


def rates(reading: ClassificationReading, score: str, caption: str) -> Matrix | None:
    """A rate by group (rows) and classifier (columns), as the paper's tables 4 and 5; None if nothing was measured."""
    find, groups = _finder(reading, score), _measured_groups(reading, score)
    if not groups:
        return None
    chance = Mark(_chance(reading, score), "reference")
    rows = []
    for group in groups:
        cells = [_rate_cell(find(group, c), f"{group}, {column_label(c)}", chance) for c in reading.columns]
        rows.append((shorten(group, 40), None, tuple(cells)))
    return Matrix(caption, "Group", tuple(column_label(c) for c in reading.columns), tuple(rows))


def samples_curve(reading: ClassificationReading, score: str) -> Markup | None:
    """A rate by number of noise samples, a line per group; classifiers without samples stand beside (figure 3).

    None if nothing was measured.
    """
    columns, find = reading.columns, _finder(reading, score)
    groups = _drawn(reading, score)
    if not groups:
        return None
    step = (WIDTH - LEFT - RIGHT) / len(columns)
    centres = [LEFT + step * (k + 0.5) for k in range(len(columns))]
    parts = [_level(share) for share in (0, 0.25, 0.5, 0.75, 1)] + [_dashed(_chance(reading, score))]
    parts += [_below(x, column_label(column)) for x, column in zip(centres, columns, strict=True)]
    for place, group in enumerate(groups):
        shift, k = (place - (len(groups) - 1) / 2) * 9, _plotted(reading).index(group)
        found = [find(group, column) or {} for column in columns]
        parts.append(_line(k, [(x + shift, e) for x, e, (_, n) in zip(centres, found, columns, strict=True) if n]))
        parts += [_whiskered(k, x + shift, e) for x, e in zip(centres, found, strict=True)]
    shares = {
        "association": f"Share of decisions for the {reading.sets[0]} class",
        "accuracy": "Share of pictures given to the right class",
    }
    title = f"{shares[score]}, by group and number of noise samples"
    return Markup('<svg class="curve" viewBox="0 0 {} {}" width="100%" role="img"><title>{}</title>{}</svg>').format(
        WIDTH, HEIGHT, title, Markup("").join(parts)
    )


def curve_legend(reading: ClassificationReading, score: str) -> list[tuple[str, str]]:
    """The colours of the curve's groups."""
    return [(f"run-{_plotted(reading).index(group)}", shorten(group, 40)) for group in _drawn(reading, score)]


def left_out(reading: ClassificationReading) -> list[str]:
    """Groups without a line in the curves, for want of colours."""
    return [group for group in reading.groups if group not in _plotted(reading)]


def differentials(reading: ClassificationReading, *, by_error: bool = True) -> PlotTable | None:
    """The differential associations by the denoising error with most noise samples, or by the other classifiers."""
    wanted = reading.most if by_error else None
    entries = sorted(
        (e for e in reading.section["differential"] if e["samples"] == wanted), key=lambda e: not e["pooled"]
    )
    if not entries:
        return None
    scale = signed_scale((e["S"] for e in entries), as_points=True)
    rows = []
    for e in entries:
        column = column_label((e["classifier"], e["samples"]))
        rows.append(_difference_row(e["S"], f"{e['group_x']} less {e['group_y']}", column, scale))
    caption = f"Difference in the share of decisions for the {reading.sets[0]} class, in percentage points"
    return _difference_table(caption, rows, "difference", scale)


def effects(reading: ClassificationReading) -> PlotTable | None:
    """What most noise samples change against fewest."""
    entries = reading.section["samples_effect"]
    if not entries:
        return None
    scale = signed_scale((e["difference"] for e in entries), as_points=True)
    few, many = entries[0]["samples"]
    words = {"association": "association", "differential": "difference", "accuracy": "accuracy",
             "recovered": "planted difference shown"}  # fmt: skip
    rows = []
    for e in entries:
        label = e["group_x"] if e["group_y"] is None else f"{e['group_x']} less {e['group_y']}"
        rows.append(_difference_row(e["difference"], label, words[e["score"]], scale))
    caption = f"Change from {few} to {many} noise samples on the same pictures, in percentage points"
    return _difference_table(caption, rows, "change", scale)


def recovered(reading: ClassificationReading) -> PlotTable | None:
    """How much of the planted differences the decisions show, by number of noise samples."""
    entries = reading.truths_by_samples()
    if not entries:
        return None
    scale = signed_scale({**e["recovered"], "null": 1.0} for e in entries)
    rows = []
    for e in entries:
        found, order = e["recovered"], e["spearman"]
        column = column_label((e["classifier"], e["samples"]))
        label = f"{e['group_x']} less {e['group_y']}"
        plot = track(scale, found, f"{label}, {column}", measured(found), marks=[AS_PLANTED])
        numbers = (number(found["value"]), interval(found), number(order.get("value")), interval(order))
        rows.append(Row(shorten(label, 60), plot, numbers, exceeds_chance(found) is True, note=column))
    caption = "Share of the planted differences that the decisions show: 0 none, 1 as much as was planted"
    columns = ("share", "interval", "order", "interval")
    keys = (("dot", "share shown"), _INTERVAL, ("reference", "as planted"))
    return PlotTable(caption, "Groups", scale_axis(scale), columns, tuple(rows), keys)


def skewed_pairs(reading: ClassificationReading, group: str) -> PlotTable | None:
    """The pairs of which one class gets more than three quarters of a group's pictures (tables 6 and 7)."""
    entries = sorted(reading.skewed_pairs(group), key=lambda e: -e["share_a"]["value"])
    if not entries:
        return None
    scale = share_scale()
    rows = [
        Row(
            f"{e['a']} or {e['b']}",
            track(scale, _without_null(e["share_a"]), f"{group}: {e['a']} or {e['b']}", measured(e["share_a"], percent),
                  marks=[HALF]),
            (percent(e["share_a"]["value"]), interval(e["share_a"], percent), probability(e["share_a"].get("q"))),
            strong=exceeds_chance(e["share_a"]) is True,
        )
        for e in entries
    ]  # fmt: skip
    caption = f"Pictures of {group} that are taken for the first class of a pair"
    return PlotTable(caption, "Pair", scale_axis(scale), ("share", "interval", "q"), tuple(rows),
                     (("dot", "share"), _INTERVAL, ("reference", "one half: no preference")))  # fmt: skip


def planted(entry: Record) -> Markup:
    """Planted against measured differences, a dot per pair of classes."""
    dots = [
        Markup('<circle class="dot" cx="{}" cy="{}" r="4.5"><title>{}</title></circle>').format(
            f"{_across(row['planted']):.1f}",
            f"{_up(row['measured']):.1f}",
            f"{row['a']} or {row['b']}: planted {points(row['planted'])}, measured {points(row['measured'])} points",
        )
        for row in entry["pairs"]
    ]
    diagonal = Markup('<line class="diagonal" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
        _across(-1), _up(-1), _across(1), _up(1)
    )
    below = Markup('<text x="{}" y="{}" text-anchor="middle">planted, points</text>').format(_across(0), SIDE + 10)
    beside = Markup(
        '<text x="6" y="{0}" text-anchor="middle" transform="rotate(-90 6 {0})">measured, points</text>'
    ).format(_up(0))
    title = f"Planted and measured difference between {entry['group_x']} and {entry['group_y']}, by pair of classes"
    body = Markup("").join([*(_cross(tick) for tick in (-1, -0.5, 0, 0.5, 1)), diagonal, *dots, below, beside])
    return Markup('<svg class="scatter" viewBox="-8 0 {} {}" role="img"><title>{}</title>{}</svg>').format(
        SIDE + 12, SIDE + 18, title, body
    )


def _across(value: float) -> float:
    return LEFT + INNER * (value + 1) / 2


def _up(value: float) -> float:
    return TOP + INNER * (1 - value) / 2


def _cross(tick: float) -> Markup:
    """The grid lines of a scatter plot at one value, with their labels."""
    x, y = f"{_across(tick):.1f}", f"{_up(tick):.1f}"
    line = Markup('<line class="grid-line" x1="{}" x2="{}" y1="{}" y2="{}"/>')
    text = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
    return (
        line.format(x, x, TOP, TOP + INNER)
        + line.format(LEFT, LEFT + INNER, y, y)
        + text.format(x, TOP + INNER + 16, "middle", points(tick))
        + text.format(LEFT - 6, f"{_up(tick) + 4:.1f}", "end", points(tick))
    )


def _finder(reading: ClassificationReading, score: str) -> Callable[..., Record | None]:
    return reading.accuracy if score == "accuracy" else reading.association


def _measured_groups(reading: ClassificationReading, score: str) -> list[str]:
    find = _finder(reading, score)
    return [group for group in reading.groups if any(is_estimate(find(group, c)) for c in reading.columns)]


def _chance(reading: ClassificationReading, score: str) -> float:
    """What a classifier that does not look would get."""
    return 1 / len(reading.plan["classes"]) if score == "accuracy" else 0.5


def _plotted(reading: ClassificationReading) -> list[str]:
    """Groups that get a colour: the pooled ones first, as in the paper, as many as everybody can tell apart."""
    return sorted(reading.groups, key=lambda group: group not in reading.pooled)[:COLOURS]


def _drawn(reading: ClassificationReading, score: str) -> list[str]:
    """The groups of one curve, in the order of the colours."""
    measured_groups = _measured_groups(reading, score)
    return [group for group in _plotted(reading) if group in measured_groups]


def _rate_cell(estimate: Record | None, title: str, chance: Mark) -> tuple[Markup, str, bool]:
    if estimate is None or not is_estimate(estimate):
        return Markup(""), ABSENT, False
    plot = track(share_scale(), _without_null(estimate), title, measured(estimate, percent), marks=[chance])
    return plot, measured(estimate, percent), exceeds_chance(estimate) is True


def _without_null(estimate: Record) -> Record:
    """The estimate for a plot in which no preference is a line in the middle, not a band from the left."""
    return {**estimate, "null": None}


def _difference_row(estimate: Record, label: str, note: str, scale: Scale) -> Row:
    spoken = f"{points(estimate.get('value'))} points {interval(estimate, points)}"
    return Row(
        shorten(label, 60),
        track(scale, estimate, f"{label}, {note}", spoken),
        (points(estimate.get("value")), interval(estimate, points), probability(estimate.get("q"))),
        strong=exceeds_chance(estimate) is True,
        note=note,
    )


def _difference_table(caption: str, rows: Sequence[Row], what: str, scale: Scale) -> PlotTable:
    columns = ("points", "interval", "q")
    return PlotTable(caption, "Groups", scale_axis(scale), columns, tuple(rows), (("dot", what), _INTERVAL))


def _height(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _level(share: float) -> Markup:
    y = f"{_height(share):.1f}"
    return Markup('<line class="grid-line" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
        LEFT, WIDTH - RIGHT, y, y
    ) + Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
        LEFT - 6, f"{_height(share) + 4:.1f}", percent(share)
    )


def _dashed(share: float) -> Markup:
    y = f"{_height(share):.1f}"
    return Markup('<line class="half" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(LEFT, WIDTH - RIGHT, y, y)


def _below(x: float, label: str) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(f"{x:.1f}", HEIGHT - BOTTOM + 22, label)


def _line(k: int, placed: Sequence[tuple[float, Record]]) -> Markup:
    known = " ".join(f"{x:.1f},{_height(e['value']):.1f}" for x, e in placed if is_estimate(e))
    return Markup('<polyline class="run-{}" points="{}"/>').format(k, known)


def _whiskered(k: int, x: float, estimate: Record) -> Markup:
    if not is_estimate(estimate):
        return Markup("")
    low, high = estimate.get("low"), estimate.get("high")
    whisker = Markup("")
    if low is not None and high is not None:
        whisker = Markup('<line class="whisker run-{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            k, f"{x:.1f}", f"{x:.1f}", f"{_height(low):.1f}", f"{_height(high):.1f}"
        )
    dot = Markup('<circle class="dot run-{}" cx="{}" cy="{}" r="5"><title>{}</title></circle>').format(
        k, f"{x:.1f}", f"{_height(estimate['value']):.1f}", measured(estimate, percent)
    )
    return whisker + dot
