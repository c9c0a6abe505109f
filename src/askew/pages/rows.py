"""Plots of single rows: a score on its lane, shares in a bar. Positions are percentages, so that text never shrinks."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from askew.pages import words
from askew.pages.axes import Axis, axis, reach
from askew.pages.blocks import Bar, Lane, Lanes, Part
from askew.pages.elements import COLOURS, NOTHING, RUNS, drawing, joined, tag
from askew.types import Estimate

LANE = 24
BAR, STRIP = 24, 9
NARROWEST = 320
"""Of a bar, in pixels: what fits here fits on every screen."""


def lanes_axis(one: Lanes) -> Axis:
    """The axis that holds all rows of a block."""
    values = [v for row in one.rows for v in (*reach(row.score), *row.points, *(row.chance or ()))]
    values += [m.at for row in one.rows for m in row.marks]
    return axis(one.scale, values, one.digits)


def lane(on: Axis, row: Lane, one: Lanes) -> Markup:
    """One row: chance in grey, the interval as a line, the score as a dot on it, and what to compare it with."""
    run = "" if row.series is None else f" run-{row.series % RUNS}"
    parts = [_grid(on), _band(on, row), *(_small(on, value) for value in row.points)]
    lines = [_mark(on, m.at, m.shape) for m in row.marks]
    if isinstance(row.score, Estimate):
        parts += [*lines, _whisker(on, row.score, run), _dot(on, words.mark(row.score), run, row.hollow)]
    else:
        absent = "not measured" if row.score else "not asked"
        parts += [*lines, tag("text", absent, class_="absent", x="50%", y=16, text_anchor="middle")]
    title = f"{row.group}, {row.label}" if row.group else row.label
    marks = "".join(f"; {m.name} {words.written(m.at, one.scale, one.digits)}" for m in row.marks)
    said = words.told(row.score, one.name, one.scale, one.digits) + marks
    return drawing("track", LANE, title, said, *parts)


def cell_lane(on: Axis, score: Estimate, title: str, said: str, marks: Sequence[float], hollow: bool) -> Markup:
    """A lane in a cell of a matrix."""
    lines = [_mark(on, at, "line") for at in marks]
    null = _band(on, Lane("", score))
    return drawing("track small", LANE, title, said, _grid(on), null, *lines, _whisker(on, score, ""),
                   _dot(on, words.mark(score), "", hollow))  # fmt: skip


def _grid(on: Axis) -> Markup:
    return joined(
        tag(
            "line", class_="zero" if tick == 0 and on.low < 0 else "grid", x1=on.at(tick), x2=on.at(tick), y1=0, y2=LANE
        )
        for tick in on.ticks
    )


def _band(on: Axis, row: Lane) -> Markup:
    """Where chance would fall; from 0 to the null unless said otherwise, nothing where the scale runs to both sides."""
    low, high = row.chance or (0.0, (isinstance(row.score, Estimate) and row.score.null) or 0.0)
    if low == high or (row.chance is None and on.low < 0):
        return NOTHING
    width = f"{100 * (on.share(high) - on.share(low)):.2f}%"
    edge = tag("line", class_="null-edge", x1=on.at(high), x2=on.at(high), y1=2, y2=LANE - 2)
    return tag("rect", class_="null", x=on.at(low), width=width, y=2, height=LANE - 4) + edge


def _whisker(on: Axis, score: Estimate, run: str) -> Markup:
    if score.low is None or score.high is None:
        return NOTHING
    return tag("line", class_=f"whisker{run}", x1=on.at(score.low), x2=on.at(score.high), y1=LANE // 2, y2=LANE // 2)


def _dot(on: Axis, value: float, run: str, hollow: bool) -> Markup:
    return tag("circle", class_=f"dot{run}{' hollow' if hollow else ''}", cx=on.at(value), cy=LANE // 2, r=5)


def _small(on: Axis, value: float) -> Markup:
    return tag("circle", class_="one", cx=on.at(value), cy=LANE - 4, r=2.5)


def _mark(on: Axis, value: float, shape: str) -> Markup:
    if shape == "ring":
        return tag("circle", class_="mark ring", cx=on.at(value), cy=LANE // 2, r=4)
    return tag("line", class_=f"mark {shape}", x1=on.at(value), x2=on.at(value), y1=1, y2=LANE - 1)


def bar(one: Bar) -> Markup:
    """A stacked bar: its parts with their names where these fit, ideal shares and the leading part's interval below."""
    known = [(k, p) for k, p in enumerate(one.parts) if isinstance(p.share, Estimate)]
    said = "; ".join(words.part_told(p) for p in one.parts)
    title = f"{one.group}, {one.label}" if one.group else one.label
    if not known:
        empty = tag("rect", class_="none", x=0, y=1, width="100%", height=BAR - 2)
        text = tag("text", "nothing could be read", class_="absent", x="50%", y=17, text_anchor="middle")
        return drawing("bar", BAR, title, said, empty, text)
    whole = max(1.0, sum(p.share.value for _, p in known if isinstance(p.share, Estimate)))
    parts, start = [], 0.0
    for k, p in known:
        share = p.share.value / whole if isinstance(p.share, Estimate) else 0.0
        parts.append(_part(k, p, start, share))
        start += share
    return drawing("bar", BAR + STRIP, title, said, *parts, *_ideals(one.parts), _whisker_below(one))


def fits(one: Part) -> bool:
    """Whether a part has room for its name on every screen."""
    room = (one.share.value if isinstance(one.share, Estimate) else 0.0) * NARROWEST
    return room > 6.8 * len(_named(one)) + 14


def _named(one: Part) -> str:
    return (
        f"{words.shorten(one.value, 40)} {words.percent(one.share.value)[:-2]}"
        if isinstance(one.share, Estimate)
        else ""
    )


def _part(k: int, one: Part, start: float, share: float) -> Markup:
    """Text is cut off by the nested drawing's edge, should a screen be narrower than expected."""
    text = _named(one) if fits(one) else _named(one).rpartition(" ")[2] if share * NARROWEST > 26 else ""
    label = tag("text", text, x=7, y=16.5) if text else None
    body = tag("rect", class_=f"part-{k % COLOURS}", width="100%", height="100%")
    hover = tag("title", words.part_told(one))
    return tag(
        "svg", hover, body, label, class_="part", x=f"{100 * start:.3f}%", y=0, width=f"{100 * share:.3f}%", height=BAR
    )


def _ideals(parts: Sequence[Part]) -> list[Markup]:
    """Marks where ideal shares would part the bar."""
    if any(p.ideal is None for p in parts):
        return []
    sums = [sum(p.ideal or 0.0 for p in parts[: k + 1]) for k in range(len(parts) - 1)]
    return [
        tag("line", class_="ideal", x1=f"{100 * s:.2f}%", x2=f"{100 * s:.2f}%", y1=BAR, y2=BAR + STRIP) for s in sums
    ]


def edge(one: Bar) -> tuple[float, float] | None:
    """The interval of the leading part, on its edge: its right one, or of the last part its left one."""
    found = words.leading(one)
    if found is None or not isinstance(found.share, Estimate) or found.share.low is None or found.share.high is None:
        return None
    low, high = found.share.low, found.share.high
    if found is one.parts[-1]:
        return 1 - min(high, 1.0), 1 - low
    before = one.parts[: one.parts.index(found)]
    start = sum(p.share.value for p in before if isinstance(p.share, Estimate))
    return start + low, min(start + high, 1.0)


def _whisker_below(one: Bar) -> Markup | None:
    if (found := edge(one)) is None:
        return None
    low, high = (f"{100 * max(x, 0.0):.2f}%" for x in found)
    y = BAR + 5
    ends = (tag("line", class_="edge", x1=x, x2=x, y1=y - 3, y2=y + 3) for x in (low, high))
    return joined([tag("line", class_="edge", x1=low, x2=high, y1=y, y2=y), *ends])
