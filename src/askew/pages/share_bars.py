"""Share bars as HTML: the shares of the values of an axis, with their counts beside them.

An axis of two values is one stacked bar. The boundary of its parts is the share of the first value,
so a reference and an interval at the boundary can be compared with it. Inside a stacked bar of
three or more values, boundaries are sums of shares, so these values have a bar each. Its length,
its interval and its reference start at 0. Positions are percentages, so that text has the same size
at every width.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markupsafe import Markup

from askew.pages import elements, words
from askew.pages.blocks import Bar, ShareBars, ShareSegment
from askew.pages.elements import (
    COLORS,
    Ids,
    drawing,
    key,
    legend,
    link,
    note,
    rule,
    table_bodies,
    tag,
)
from askew.pages.elements import at as percent_of_width
from askew.types import Estimate

BAR = 24
STRIP = 9
"""Height of a stacked bar, and of the marks below it, in pixels."""

VALUE_BAR = 11
VALUE_ROW = 21
"""Height of the bar of a value, and of the bar with its marks, in pixels."""

NARROWEST = 320
LETTER = 6.8
"""Smallest width of a bar and width of a letter, in pixels. Text that fits into this width fits on every screen."""

ROUNDING = 1e-6
"""Largest difference of the sum of all shares from 1."""


@dataclass(frozen=True, slots=True)
class ShareMarks:
    """Positions of marks in the plot of a share, from 0 to 1.

    Attributes
    ----------
    interval : tuple of float or None
        Ends of the confidence interval.
    reference : float or None
        Reference share.
    """

    interval: tuple[float, float] | None
    reference: float | None


def shares(chart: ShareBars, ids: Ids) -> Markup:
    """Return bars in rows.

    If all bars are stacked and have the same values, one key names the values. Otherwise each bar
    names its values.

    Parameters
    ----------
    chart : ShareBars
        The bars.
    ids : mapping of str to str
        Ids of elements by anchor.

    Returns
    -------
    Markup
        A table with a bar in each row, and its legend.
    """
    values = list(map(_values, chart.bars))
    alike = (
        len(values) > 1
        and all(map(is_stacked, chart.bars))
        and all(names == values[0] for names in values)
    )
    names = _part_key(enumerate(values[0])) if alike else None
    titles = (chart.heading, "shares", "counts")
    head = tag("tr", *(tag("th", title, scope="col") for title in titles))
    table = tag(
        "table",
        tag("caption", chart.caption, names),
        tag("thead", head, class_="hidden"),
        *table_bodies(chart.bars, len(titles), lambda bar: _bar_row(bar, ids, alike)),
        class_="shares",
    )
    return tag("div", table, legend(_bar_keys(chart)), class_="fit")


def is_stacked(row: Bar) -> bool:
    """Check whether a bar is drawn as one stacked bar.

    Returns
    -------
    bool
        True for two known shares that sum to 1, and for a bar without any known share.
    """
    if not any(map(_length, row.parts)):
        return True
    known = [part.share for part in row.parts if isinstance(part.share, Estimate)]
    if len(row.parts) != 2 or len(known) != 2:
        return False
    return math.isclose(sum(share.value for share in known), 1, abs_tol=ROUNDING)


def stacked_marks(row: Bar) -> ShareMarks:
    """Return the marks at the boundary of a stacked bar.

    Parameters
    ----------
    row : Bar
        A bar of two values.

    Returns
    -------
    ShareMarks
        The reference share of the first value, and the interval of the leading value. The interval
        of the second value is mirrored, because the second part ends at the right.
    """
    leading = words.leading(row)
    if leading is None:
        return ShareMarks(interval=None, reference=None)
    ends = _interval(leading)
    if ends is not None and leading is not row.parts[0]:
        ends = (1 - ends[1], 1 - ends[0])
    return ShareMarks(interval=ends, reference=row.parts[0].reference)


def value_marks(part: ShareSegment) -> ShareMarks:
    """Return the interval and the reference of a value that has its own bar."""
    return ShareMarks(interval=_interval(part), reference=part.reference)


def _interval(part: ShareSegment) -> tuple[float, float] | None:
    if not isinstance(part.share, Estimate):
        return None
    if part.share.low is None or part.share.high is None:
        return None
    return max(part.share.low, 0.0), min(part.share.high, 1.0)


def _marks(row: Bar) -> list[ShareMarks]:
    return [stacked_marks(row)] if is_stacked(row) else list(map(value_marks, row.parts))


def _values(row: Bar) -> list[str]:
    return [part.value for part in row.parts]


def _has_interval(row: Bar) -> bool:
    return any(marks.interval is not None for marks in _marks(row))


def _bar_keys(chart: ShareBars) -> list[tuple[str, str]]:
    keys = []
    with_interval = [bar for bar in chart.bars if _has_interval(bar)]
    if with_interval:
        name = "confidence interval"
        if any(map(is_stacked, with_interval)):
            name += "; in a bar of two values, of the value named on the right"
        keys.append(("edge", name))
    marks = [marks for bar in chart.bars for marks in _marks(bar)]
    if any(mark.reference is not None for mark in marks):
        keys.append(("reference", "reference share"))
    return keys


def _bar_row(row: Bar, ids: Ids, alike: bool) -> Markup:
    """Return a row: the label, the bar with the names that do not fit into it below, and the counts."""
    label = tag("th", key(row.series), link(row.label, row.link, ids), scope="row")
    verdict = None
    if row.verdict:
        verdict = tag("b" if row.strong else "span", row.verdict, class_="verdict")
    counts = tag("td", verdict, note(words.bar_note(row)))
    if is_stacked(row):
        below = None if alike else _small_parts(row)
        cell = tag("td", stacked_bar(row), below, class_="bar")
    else:
        cell = tag("td", value_bars(row), class_="bar")
    return tag("tr", label, cell, counts, class_="strong" if row.strong else None)


def _small_parts(row: Bar) -> Markup | None:
    """Return the key of the parts that are too narrow for their names, and of values without images."""
    small = []
    empty = []
    for number, part in enumerate(row.parts):
        if isinstance(part.share, Estimate):
            share = part.share.value
            if not share:
                empty.append(part.value)
            elif not fits(part):
                small.append((number, f"{part.value} {words.number(100 * share, 0)}"))
    absent = tag("span", f"no images: {words.listing(empty)}") if empty else None
    return _part_key(small, absent) if small or empty else None


def _part_key(parts: Iterable[tuple[int, str]], more: Markup | None = None) -> Markup:
    keys = (
        tag("span", tag("i", class_=f"key part-{number % COLORS}"), elements.bdi(name))
        for number, name in parts
    )
    return tag("span", *keys, more, class_="legend")


def stacked_bar(row: Bar) -> Markup:
    """Return a stacked bar.

    Parts contain their names if these fit. The boundary under the reference shares and the interval
    of the leading part are drawn below the bar.

    Parameters
    ----------
    row : Bar
        Shares of one image set on an axis of two values.

    Returns
    -------
    Markup
        The drawing.
    """
    description = "; ".join(map(words.segment_text, row.parts))
    title = _title(row)
    lengths = [_length(part) for part in row.parts]
    if not any(lengths):
        empty = tag("rect", class_="none", x=0, y=1, width="100%", height=BAR - 2)
        text = tag("text", "no labels", class_="absent", x="50%", y=17, text_anchor="middle")
        return drawing("bar", BAR, title, description, empty, text)
    parts = (
        _part(number, part, sum(lengths[:number]), lengths[number])
        for number, part in enumerate(row.parts)
        if lengths[number]
    )
    marks = stacked_marks(row)
    references: tuple[Markup, ...] = ()
    if marks.reference is not None:
        x = percent_of_width(marks.reference)
        references = (rule("reference", x, x, BAR, BAR + STRIP),)
    edges = _edge_rules(marks, BAR + 5)
    return drawing("bar", BAR + STRIP, title, description, *parts, *references, *edges)


def value_bars(row: Bar) -> Markup:
    """Return a bar for each value of an axis, with its interval and its reference share.

    Parameters
    ----------
    row : Bar
        Shares of one image set on an axis.

    Returns
    -------
    Markup
        A grid with a row for each value: name, drawing, share in percent.
    """
    cells = []
    for number, part in enumerate(row.parts):
        name = tag("span", elements.bdi(words.shorten(part.value, 40)), class_="name")
        share = words.ABSENT
        if isinstance(part.share, Estimate):
            share = words.number(100 * part.share.value, 0)
        cells += [name, _value_bar(row, number), tag("span", share, class_="num")]
    return tag("div", *cells, class_="values")


def _value_bar(row: Bar, number: int) -> Markup:
    """Return the bar of a value: its share, and below the share its interval and its reference."""
    part = row.parts[number]
    description = words.segment_text(part)
    if part.reference is not None:
        description += f"; reference {words.percent(part.reference)}"
    frame = tag("rect", class_="frame", x=0, y=1, width="100%", height=VALUE_BAR)
    length = tag(
        "rect",
        class_=f"part-{number % COLORS}",
        x=0,
        y=1,
        width=percent_of_width(min(_length(part), 1.0)),
        height=VALUE_BAR,
    )
    marks = value_marks(part)
    references: tuple[Markup, ...] = ()
    if marks.reference is not None:
        x = percent_of_width(min(marks.reference, 1.0))
        references = (rule("halo", x, x, 0, VALUE_ROW), rule("reference", x, x, 0, VALUE_ROW))
    edges = _edge_rules(marks, VALUE_ROW - 4)
    title = f"{_title(row)}: {part.value}"
    return drawing("bar", VALUE_ROW, title, description, frame, length, *references, *edges)


def _title(row: Bar) -> str:
    return ", ".join(filter(None, (row.group, row.label)))


def _edge_rules(marks: ShareMarks, y: int) -> Iterator[Markup]:
    """Yield an interval as a line with two ends."""
    if marks.interval is None:
        return
    low, high = map(percent_of_width, marks.interval)
    yield rule("edge", low, high, y, y)
    for x in (low, high):
        yield rule("edge", x, x, y - 3, y + 3)


def fits(part: ShareSegment) -> bool:
    """Check whether the name of a part fits into the part on every screen."""
    return _length(part) * NARROWEST > LETTER * len(_part_name(part)) + 14


def _length(part: ShareSegment) -> float:
    return part.share.value if isinstance(part.share, Estimate) else 0.0


def _part_name(part: ShareSegment) -> str:
    return f"{words.shorten(part.value, 40)} {words.number(100 * _length(part), 0)}"


def _part(number: int, part: ShareSegment, start: float, share: float) -> Markup:
    """Return a part of a bar. It is a separate drawing, so that its text is cut off on very narrow screens."""
    text = ""
    if fits(part):
        text = _part_name(part)
    elif share * NARROWEST > 26:
        text = _part_name(part).rpartition(" ")[2]
    return tag(
        "svg",
        tag("title", words.segment_text(part)),
        tag("rect", class_=f"part-{number % COLORS}", width="100%", height="100%"),
        tag("text", text, x=7, y=16.5) if text else None,
        class_="part",
        x=percent_of_width(start),
        width=percent_of_width(share),
        height=BAR,
    )
