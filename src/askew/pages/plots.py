"""Plots in rows, as HTML: a score on its lane or shares in a bar, what it means, and the numbers
beside it. Positions are percentages, so that text never shrinks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from markupsafe import Markup

from askew.pages import elements, words
from askew.pages.blocks import Bar, IntervalChart, IntervalRow, ShareBars, ShareSegment
from askew.pages.elements import (
    COLOURS,
    RUNS,
    Ids,
    LinearScale,
    at,
    axis,
    drawing,
    key,
    legend,
    link,
    note,
    reach,
    rule,
    tag,
)
from askew.pages.plain import columns, heads
from askew.types import Estimate

Row = TypeVar("Row", Bar, IntervalRow)

LANE = 24
BAR = 24
STRIP = 9
NARROWEST = 320
LETTER = 6.8
"""Of a bar and of a letter in it, in pixels: what fits here fits on every screen."""


def shares(one: ShareBars, ids: Ids) -> Markup:
    """Bars in rows; where all have the same values one key names them, else every bar its narrow
    parts.
    """
    alike = len(one.bars) > 1 and len({tuple(p.value for p in b.parts) for b in one.bars}) == 1
    names = _part_key(enumerate(p.value for p in one.bars[0].parts)) if alike else None

    def row(b: Bar) -> Markup:
        """Below a bar stand the names of parts without room for them, and of values that were not
        seen.
        """
        label = tag("th", key(b.series), link(b.label, b.link, ids), scope="row")
        known = [
            (k, p, p.share.value) for k, p in enumerate(b.parts) if isinstance(p.share, Estimate)
        ]
        small = [
            (k, f"{p.value} {words.number(100 * share, 0)}")
            for k, p, share in known
            if share and not fits(p)
        ]
        unseen = [p.value for _, p, share in known if not share]
        absent = tag("span", f"no images: {words.listing(unseen)}") if unseen else None
        below = _part_key(small, absent) if (small or unseen) and not alike else None
        verdict = (
            tag("b" if b.strong else "span", b.verdict, class_="verdict") if b.verdict else None
        )
        told = tag("td", verdict, note(words.bar_note(b)))
        return tag(
            "tr",
            label,
            tag("td", bar(b), below, class_="bar"),
            told,
            class_="strong" if b.strong else None,
        )

    heads = (tag("th", name, scope="col") for name in (one.heading, "shares", "counts"))
    head = tag("thead", tag("tr", *heads), class_="hidden")
    keys = (
        [("edge", "confidence interval of the value named at the right")]
        if any(edge(b) for b in one.bars)
        else []
    )
    if any(p.reference is not None for b in one.bars for p in b.parts):
        keys.append(("reference", "boundary under the reference shares"))
    table = tag(
        "table",
        tag("caption", one.caption, names),
        head,
        *_bodies(one.bars, 3, row),
        class_="shares",
    )
    return tag("div", table, legend(keys), class_="fit")


def _bodies(rows: Iterable[Row], columns: int, drawn: Callable[[Row], Markup]) -> Iterator[Markup]:
    """Rows in groups, each under its name if it has one."""
    for group, own in groupby(rows, key=lambda row: row.group):
        title = tag("th", elements.bdi(group), colspan=columns, scope="rowgroup")
        yield tag("tbody", tag("tr", title, class_="group") if group else None, *map(drawn, own))


def _part_key(parts: Iterable[tuple[int, str]], more: Markup | None = None) -> Markup:
    keys = (
        tag("span", tag("i", class_=f"key part-{k % COLOURS}"), elements.bdi(name))
        for k, name in parts
    )
    return tag("span", *keys, more, class_="legend")


def lanes(one: IntervalChart, ids: Ids) -> Markup:
    """A table with a plot in every row, so that it can be read without seeing the plot."""
    on = lanes_axis(one)
    names = heads(one)
    numbers = (tag("th", name, class_="num", scope="col") for name in names)
    plotted = tag(
        "th", on.drawn(), tag("span", "plot", class_="hidden"), class_="plotted", scope="col"
    )
    head = tag("tr", tag("th", one.heading, scope="col"), plotted, *numbers)

    def lane(row: IntervalRow) -> Markup:
        remark = note(row.note, words.absence(row.score))
        label = tag("th", key(row.series), link(row.label, row.link, ids), " ", remark, scope="row")
        texts = [words.part(row.score, column, one.scale) for column in columns(one)]
        texts += [words.content(cell, one.scale) for cell in row.more]
        numbers = (
            tag("td", text, class_="num", data_name=name if text.strip("–") else None)
            for name, text in zip(names, texts, strict=True)
        )
        kind = f"{'strong' * words.is_bold(row)} {'muted' * row.muted}".strip()
        return tag(
            "tr", label, tag("td", _drawn(on, one, row), class_="plotted"), *numbers, class_=kind
        )

    bodies = _bodies(one.rows, 2 + len(names), lane)
    table = tag("table", tag("caption", one.caption), tag("thead", head), *bodies, class_="plot")
    return tag("div", table, legend(_lane_keys(one, on)), class_="fit")


def _lane_keys(one: IntervalChart, on: LinearScale) -> list[tuple[str, str]]:
    """What the marks of a plot mean, of those that appear."""
    known = [row.score for row in one.rows if isinstance(row.score, Estimate)]
    less = (
        ", bias-corrected estimate"
        if "value" in one.columns
        and any(
            words.format_value(e.value, one.scale) != words.format_value(e.mark, one.scale)
            for e in known
        )
        else ""
    )
    keys = [("dot", one.name + less)] if any(row.series is None for row in one.rows) else []
    keys += [("line", one.interval)] if any(e.low is not None for e in known) else []
    band = any(row.chance for row in one.rows) or (on.low >= 0 and any(e.null for e in known))
    keys += [("null", one.chance[1])] if band else []
    keys += [("one", one.points)] if any(row.points for row in one.rows) else []
    keys += dict.fromkeys((f"mark {m.shape}", m.name) for row in one.rows for m in row.marks)
    tested = any(row.strong is None and words.has_significant_q(row.score) for row in one.rows)
    return keys + ([("", "bold: significant (q < 0.05)")] if tested else [])


def lanes_axis(one: IntervalChart) -> LinearScale:
    """The axis that holds all rows of a block."""
    values = [v for row in one.rows for v in (*reach(row.score), *row.points, *(row.chance or ()))]
    return axis(one.scale, [*values, *(m.at for row in one.rows for m in row.marks)])


def _drawn(on: LinearScale, one: IntervalChart, row: IntervalRow) -> Markup:
    """One row: chance in grey, from 0 to the null unless said otherwise and only where the scale
    runs to one side; the interval as a line, the score as a dot on it, and what to compare it with.
    """
    run = "" if row.series is None else f" run-{row.series % RUNS}"
    lines = (
        rule("zero" if tick == 0 > on.low else "grid", on.at(tick), on.at(tick), 0, LANE)
        for tick in on.ticks
    )
    small = (
        tag("circle", class_="one", cx=on.at(value), cy=LANE - 4, r=2.5) for value in row.points
    )
    marks = (
        tag("circle", class_="mark ring", cx=on.at(m.at), cy=LANE // 2, r=4)
        if m.shape == "ring"
        else rule(f"mark {m.shape}", on.at(m.at), on.at(m.at), 1, LANE - 1)
        for m in row.marks
    )
    said = words.describe_score(row.score, one.name, one.scale)
    said += "".join(f"; {m.name} {words.format_value(m.at, one.scale)}" for m in row.marks)
    title = ", ".join(filter(None, (row.group, row.label)))
    parts = [*lines]
    e = row.score
    middle = LANE // 2
    low, high = row.chance or (0.0, (isinstance(e, Estimate) and e.null) or 0.0)
    if low != high and (row.chance is not None or on.low >= 0):
        box = {
            "x": on.at(low),
            "width": at(on.share(high) - on.share(low)),
            "y": 2,
            "height": LANE - 4,
        }
        parts += [
            tag("rect", class_="null", **box),
            rule("null-edge", on.at(high), on.at(high), 2, LANE - 2),
        ]
    parts += [*small, *marks]
    if not isinstance(e, Estimate):
        absent = "not measured" if e else "not asked"
        parts.append(
            tag("text", absent, class_="absent", x="50%", y=middle + 4, text_anchor="middle")
        )
    else:
        if e.low is not None and e.high is not None:
            parts.append(rule(f"whisker{run}", on.at(e.low), on.at(e.high), middle, middle))
        parts.append(tag("circle", class_=f"dot{run}", cx=on.at(e.mark), cy=middle, r=5))
    return drawing("track", LANE, title, said, *parts)


def bar(one: Bar) -> Markup:
    """A stacked bar: its parts with their names where these fit, ideal shares and the leading
    part's interval below.
    """
    said = "; ".join(map(words.segment_text, one.parts))
    title = ", ".join(filter(None, (one.group, one.label)))
    lengths = [_length(p) for p in one.parts]
    whole = max(1.0, sum(lengths))
    if not any(lengths):
        empty = tag("rect", class_="none", x=0, y=1, width="100%", height=BAR - 2)
        text = tag("text", "no labels", class_="absent", x="50%", y=17, text_anchor="middle")
        return drawing("bar", BAR, title, said, empty, text)
    parts = (
        _part(k, p, sum(lengths[:k]) / whole, lengths[k] / whole)
        for k, p in enumerate(one.parts)
        if lengths[k]
    )
    references = (
        rule("reference", at(share), at(share), BAR, BAR + STRIP) for share in parted(one.parts)
    )
    below = []
    y = BAR + 5
    ends = edge(one)
    if ends:
        low, high = map(at, ends)
        below = [
            rule("edge", low, high, y, y),
            *(rule("edge", x, x, y - 3, y + 3) for x in (low, high)),
        ]
    return drawing("bar", BAR + STRIP, title, said, *parts, *references, *below)


def fits(one: ShareSegment) -> bool:
    """Whether a part has room for its name on every screen."""
    return _length(one) * NARROWEST > LETTER * len(_named(one)) + 14


def parted(parts: Sequence[ShareSegment]) -> list[float]:
    """Where ideal shares would part a bar; nowhere if one is unknown."""
    references = [p.reference for p in parts if p.reference is not None]
    return (
        [sum(references[:k]) for k in range(1, len(references))]
        if len(references) == len(parts)
        else []
    )


def edge(one: Bar) -> tuple[float, float] | None:
    """The interval of the leading part, on its edge: its right one, or of the last part its left
    one.
    """
    found = words.leading(one)
    if (
        found is None
        or not isinstance(found.share, Estimate)
        or found.share.low is None
        or found.share.high is None
    ):
        return None
    low = found.share.low
    high = found.share.high
    if found is one.parts[-1]:
        return max(1 - high, 0.0), 1 - low
    start = sum(map(_length, one.parts[: one.parts.index(found)]))
    return start + low, min(start + high, 1.0)


def _length(one: ShareSegment) -> float:
    return one.share.value if isinstance(one.share, Estimate) else 0.0


def _named(one: ShareSegment) -> str:
    return f"{words.shorten(one.value, 40)} {words.number(100 * _length(one), 0)}"


def _part(k: int, one: ShareSegment, start: float, share: float) -> Markup:
    """Text is cut off by the nested drawing's edge, should a screen be narrower than expected."""
    text = (
        _named(one)
        if fits(one)
        else _named(one).rpartition(" ")[2]
        if share * NARROWEST > 26
        else ""
    )
    rect = tag("rect", class_=f"part-{k % COLOURS}", width="100%", height="100%")
    inner = (
        tag("title", words.segment_text(one)),
        rect,
        tag("text", text, x=7, y=16.5) if text else None,
    )
    return tag("svg", *inner, class_="part", x=at(start), width=at(share), height=BAR)
