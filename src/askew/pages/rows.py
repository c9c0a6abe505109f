"""Plots of single rows: a score on its lane, shares in a bar. Positions are percentages, so that text never shrinks."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from askew.pages import words
from askew.pages.axes import Axis, axis, reach
from askew.pages.blocks import Bar, Lane, Lanes, Part, Scale
from askew.pages.elements import COLOURS, NOTHING, RUNS, at, drawing, joined, rule, tag
from askew.types import Estimate

LANE = 24
BAR, STRIP = 24, 9
NARROWEST, LETTER = 320, 6.8
"""Of a bar and of a letter in it, in pixels: what fits here fits on every screen."""


def lanes_axis(one: Lanes) -> Axis:
    """The axis that holds all rows of a block."""
    values = [v for row in one.rows for v in (*reach(row.score), *row.points, *(row.chance or ()))]
    return axis(one.scale, [*values, *(m.at for row in one.rows for m in row.marks)], one.digits)


def lane(on: Axis, row: Lane, name: str, scale: Scale, digits: int | None = None, kind: str = "track") -> Markup:
    """One row: chance in grey, the interval as a line, the score as a dot on it, and what to compare it with."""
    run = "" if row.series is None else f" run-{row.series % RUNS}"
    lines = (rule("zero" if tick == 0 > on.low else "grid", on.at(tick), on.at(tick), 0, LANE) for tick in on.ticks)
    small = (tag("circle", class_="one", cx=on.at(value), cy=LANE - 4, r=2.5) for value in row.points)
    marks = (_mark(on, m.at, m.shape) for m in row.marks)
    said = words.told(row.score, name, scale, digits)
    said += "".join(f"; {m.name} {words.written(m.at, scale, digits)}" for m in row.marks)
    title = f"{row.group}, {row.label}" if row.group else row.label
    return drawing(kind, LANE, title, said, *lines, _band(on, row), *small, *marks, _score(on, row, run))


def _score(on: Axis, row: Lane, run: str) -> Markup:
    e, middle = row.score, LANE // 2
    if not isinstance(e, Estimate):
        absent = "not measured" if e else "not asked"
        return tag("text", absent, class_="absent", x="50%", y=middle + 4, text_anchor="middle")
    dot = tag("circle", class_=f"dot{run}{' hollow' if row.hollow else ''}", cx=on.at(words.mark(e)), cy=middle, r=5)
    if e.low is None or e.high is None:
        return dot
    return rule(f"whisker{run}", on.at(e.low), on.at(e.high), middle, middle) + dot


def _band(on: Axis, row: Lane) -> Markup:
    """Where chance would fall; from 0 to the null unless said otherwise, nothing where the scale runs to both sides."""
    low, high = row.chance or (0.0, (isinstance(row.score, Estimate) and row.score.null) or 0.0)
    if low == high or (row.chance is None and on.low < 0):
        return NOTHING
    width = at(on.share(high) - on.share(low))
    band = tag("rect", class_="null", x=on.at(low), width=width, y=2, height=LANE - 4)
    return band + rule("null-edge", on.at(high), on.at(high), 2, LANE - 2)


def _mark(on: Axis, value: float, shape: str) -> Markup:
    if shape == "ring":
        return tag("circle", class_="mark ring", cx=on.at(value), cy=LANE // 2, r=4)
    return rule(f"mark {shape}", on.at(value), on.at(value), 1, LANE - 1)


def bar(one: Bar) -> Markup:
    """A stacked bar: its parts with their names where these fit, ideal shares and the leading part's interval below."""
    said = "; ".join(map(words.part_told, one.parts))
    title = f"{one.group}, {one.label}" if one.group else one.label
    lengths = [_length(p) for p in one.parts]
    whole = max(1.0, sum(lengths))
    if not any(lengths):
        empty = tag("rect", class_="none", x=0, y=1, width="100%", height=BAR - 2)
        text = tag("text", "nothing could be read", class_="absent", x="50%", y=17, text_anchor="middle")
        return drawing("bar", BAR, title, said, empty, text)
    parts = (_part(k, p, sum(lengths[:k]) / whole, lengths[k] / whole) for k, p in enumerate(one.parts) if lengths[k])
    ideals = (rule("ideal", at(share), at(share), BAR, BAR + STRIP) for share in parted(one.parts))
    return drawing("bar", BAR + STRIP, title, said, *parts, *ideals, _below(edge(one)))


def fits(one: Part) -> bool:
    """Whether a part has room for its name on every screen."""
    return _length(one) * NARROWEST > LETTER * len(_named(one)) + 14


def parted(parts: Sequence[Part]) -> list[float]:
    """Where ideal shares would part a bar; nowhere if one is unknown."""
    ideals = [p.ideal for p in parts if p.ideal is not None]
    return [sum(ideals[:k]) for k in range(1, len(ideals))] if len(ideals) == len(parts) else []


def edge(one: Bar) -> tuple[float, float] | None:
    """The interval of the leading part, on its edge: its right one, or of the last part its left one."""
    found = words.leading(one)
    if found is None or not isinstance(found.share, Estimate) or found.share.low is None or found.share.high is None:
        return None
    low, high = found.share.low, found.share.high
    if found is one.parts[-1]:
        return max(1 - high, 0.0), 1 - low
    start = sum(map(_length, one.parts[: one.parts.index(found)]))
    return start + low, min(start + high, 1.0)


def _length(one: Part) -> float:
    return one.share.value if isinstance(one.share, Estimate) else 0.0


def _named(one: Part) -> str:
    return f"{words.shorten(one.value, 40)} {words.number(100 * _length(one), 0)}"


def _part(k: int, one: Part, start: float, share: float) -> Markup:
    """Text is cut off by the nested drawing's edge, should a screen be narrower than expected."""
    text = _named(one) if fits(one) else _named(one).rpartition(" ")[2] if share * NARROWEST > 26 else ""
    inner = (
        tag("title", words.part_told(one)),
        tag("rect", class_=f"part-{k % COLOURS}", width="100%", height="100%"),
        tag("text", text, x=7, y=16.5) if text else None,
    )
    return tag("svg", *inner, class_="part", x=at(start), width=at(share), height=BAR)


def _below(ends: tuple[float, float] | None) -> Markup | None:
    if ends is None:
        return None
    (low, high), y = map(at, ends), BAR + 5
    stops = (rule("edge", x, x, y - 3, y + 3) for x in (low, high))
    return joined([rule("edge", low, high, y, y), *stops])
