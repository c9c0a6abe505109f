"""Plots in rows, as HTML: interval charts and share bars, with their numbers beside them.

Positions are percentages, so that text has the same size at every width.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from markupsafe import Markup

from askew.pages import elements, words
from askew.pages.blocks import (
    Bar,
    IntervalChart,
    IntervalRow,
    ReferenceMark,
    ShareBars,
    ShareSegment,
)
from askew.pages.elements import (
    COLORS,
    RUNS,
    Ids,
    LinearScale,
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
from askew.pages.elements import at as percent_of_width
from askew.pages.plain import columns, heads
from askew.types import Estimate

Row = TypeVar("Row", Bar, IntervalRow)

LANE = 24
BAR = 24
STRIP = 9
"""Height of an interval row, of a bar, and of the marks below a bar, in pixels."""

NARROWEST = 320
LETTER = 6.8
"""Smallest width of a bar and width of a letter, in pixels. Text that fits into this width fits on every screen."""


def shares(chart: ShareBars, ids: Ids) -> Markup:
    """Return bars in rows.

    If all bars have the same values, one key names them. Otherwise each bar has a key for the parts
    that are too narrow for their names.

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
    alike = len(values) > 1 and all(names == values[0] for names in values)
    names = _part_key(enumerate(values[0])) if alike else None
    titles = (chart.heading, "shares", "counts")
    head = tag("tr", *(tag("th", title, scope="col") for title in titles))
    table = tag(
        "table",
        tag("caption", chart.caption, names),
        tag("thead", head, class_="hidden"),
        *_bodies(chart.bars, len(titles), lambda bar: _bar_row(bar, ids, alike)),
        class_="shares",
    )
    return tag("div", table, legend(_bar_keys(chart)), class_="fit")


def _values(row: Bar) -> list[str]:
    return [part.value for part in row.parts]


def _bar_keys(chart: ShareBars) -> list[tuple[str, str]]:
    keys = []
    if any(edge(bar) for bar in chart.bars):
        keys.append(("edge", "confidence interval of the value named on the right"))
    segments = [segment for bar in chart.bars for segment in bar.parts]
    if any(segment.reference is not None for segment in segments):
        keys.append(("reference", "boundary under the reference shares"))
    return keys


def _bar_row(row: Bar, ids: Ids, alike: bool) -> Markup:
    """Return a row: the label, the bar with the names that do not fit into it below, and the counts."""
    label = tag("th", key(row.series), link(row.label, row.link, ids), scope="row")
    below = None if alike else _small_parts(row)
    verdict = None
    if row.verdict:
        verdict = tag("b" if row.strong else "span", row.verdict, class_="verdict")
    counts = tag("td", verdict, note(words.bar_note(row)))
    cell = tag("td", bar(row), below, class_="bar")
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


def _bodies(rows: Iterable[Row], width: int, draw: Callable[[Row], Markup]) -> Iterator[Markup]:
    """Yield rows in groups, with the name of each group above its rows."""
    for group, members in groupby(rows, key=lambda row: row.group):
        title = None
        if group:
            name = tag("th", elements.bdi(group), colspan=width, scope="rowgroup")
            title = tag("tr", name, class_="group")
        yield tag("tbody", title, *map(draw, members))


def _part_key(parts: Iterable[tuple[int, str]], more: Markup | None = None) -> Markup:
    keys = (
        tag("span", tag("i", class_=f"key part-{number % COLORS}"), elements.bdi(name))
        for number, name in parts
    )
    return tag("span", *keys, more, class_="legend")


def lanes(chart: IntervalChart, ids: Ids) -> Markup:
    """Return an interval chart as a table with a plot in each row.

    The table can be read without seeing the plots.

    Parameters
    ----------
    chart : IntervalChart
        The scores.
    ids : mapping of str to str
        Ids of elements by anchor.

    Returns
    -------
    Markup
        The table and its legend.
    """
    scale = lanes_axis(chart)
    names = heads(chart)
    numbers = (tag("th", name, class_="num", scope="col") for name in names)
    hidden = tag("span", "plot", class_="hidden")
    plotted = tag("th", scale.drawn(), hidden, class_="plotted", scope="col")
    head = tag("tr", tag("th", chart.heading, scope="col"), plotted, *numbers)
    bodies = _bodies(chart.rows, 2 + len(names), lambda row: _lane(row, chart, scale, ids))
    caption = tag("caption", chart.caption)
    table = tag("table", caption, tag("thead", head), *bodies, class_="plot")
    return tag("div", table, legend(_lane_keys(chart, scale)), class_="fit")


def _lane(row: IntervalRow, chart: IntervalChart, scale: LinearScale, ids: Ids) -> Markup:
    """Return a row of an interval chart: label, plot and numbers."""
    remark = note(row.note, words.absence(row.score))
    label = tag("th", key(row.series), link(row.label, row.link, ids), " ", remark, scope="row")
    texts = [words.part(row.score, column, chart.scale) for column in columns(chart)]
    texts += [words.content(cell, chart.scale) for cell in row.more]
    numbers = [
        tag("td", text, class_="num", data_name=name if text.strip(words.ABSENT) else None)
        for name, text in zip(heads(chart), texts, strict=True)
    ]
    classes = ("strong" if words.is_bold(row) else "", "muted" if row.muted else "")
    plot = tag("td", _plot(scale, chart, row), class_="plotted")
    return tag("tr", label, plot, *numbers, class_=" ".join(filter(None, classes)))


def _lane_keys(chart: IntervalChart, scale: LinearScale) -> list[tuple[str, str]]:
    """Return the meaning of the marks that appear in a chart."""
    rows = chart.rows
    scores = [row.score for row in rows if isinstance(row.score, Estimate)]
    candidates = (
        (any(row.series is None for row in rows), "dot", _dot_name(chart, scores)),
        (any(score.low is not None for score in scores), "line", chart.interval),
        (any(any(_chance_band(scale, row)) for row in rows), "null", chart.chance[1]),
        (any(row.points for row in rows), "one", chart.points),
    )
    keys = [(kind, name) for appears, kind, name in candidates if appears]
    keys += dict.fromkeys((f"mark {mark.shape}", mark.name) for row in rows for mark in row.marks)
    if any(row.strong is None and words.has_significant_q(row.score) for row in rows):
        keys.append(("", "bold: significant (q < 0.05)"))
    return keys


def _dot_name(chart: IntervalChart, scores: Sequence[Estimate]) -> str:
    """Return the meaning of a dot, which may differ from the value in the numbers beside it."""
    corrected = any(
        words.format_value(score.value, chart.scale) != words.format_value(score.mark, chart.scale)
        for score in scores
    )
    if "value" in chart.columns and corrected:
        return f"{chart.name}, bias-corrected estimate"
    return chart.name


def lanes_axis(chart: IntervalChart) -> LinearScale:
    """Return the axis that holds all rows of an interval chart."""
    values: list[float] = []
    for row in chart.rows:
        values += (*reach(row.score), *row.points, *(row.chance or ()))
    values += [mark.at for row in chart.rows for mark in row.marks]
    return axis(chart.scale, values)


def _plot(scale: LinearScale, chart: IntervalChart, row: IntervalRow) -> Markup:
    """Return the plot of a row: range of chance in gray, reference marks, interval and score."""
    grid = (
        rule("zero" if tick == 0 > scale.low else "grid", scale.at(tick), scale.at(tick), 0, LANE)
        for tick in scale.ticks
    )
    points = (
        tag("circle", class_="one", cx=scale.at(value), cy=LANE - 4, r=2.5) for value in row.points
    )
    description = words.describe_score(row.score, chart.name, chart.scale)
    for mark in row.marks:
        description += f"; {mark.name} {words.format_value(mark.at, chart.scale)}"
    return drawing(
        "track",
        LANE,
        ", ".join(filter(None, (row.group, row.label))),
        description,
        *grid,
        *_chance_band(scale, row),
        *points,
        *(_reference_mark(scale, mark) for mark in row.marks),
        *_score(scale, row),
    )


def _chance_band(scale: LinearScale, row: IntervalRow) -> Iterator[Markup]:
    """Yield the gray band of chance, by default from 0 to the null if no value is below 0."""
    null = row.score.null if isinstance(row.score, Estimate) else None
    low, high = row.chance or (0.0, null or 0.0)
    if low == high or (row.chance is None and scale.low < 0):
        return
    width = percent_of_width(scale.share(high) - scale.share(low))
    yield tag("rect", class_="null", x=scale.at(low), width=width, y=2, height=LANE - 4)
    yield rule("null-edge", scale.at(high), scale.at(high), 2, LANE - 2)


def _reference_mark(scale: LinearScale, mark: ReferenceMark) -> Markup:
    if mark.shape == "ring":
        return tag("circle", class_="mark ring", cx=scale.at(mark.at), cy=LANE // 2, r=4)
    return rule(f"mark {mark.shape}", scale.at(mark.at), scale.at(mark.at), 1, LANE - 1)


def _score(scale: LinearScale, row: IntervalRow) -> Iterator[Markup]:
    """Yield the interval as a line and the score as a dot, or the reason why there is no score."""
    score = row.score
    middle = LANE // 2
    if not isinstance(score, Estimate):
        reason = "not measured" if score else "not asked"
        yield tag("text", reason, class_="absent", x="50%", y=middle + 4, text_anchor="middle")
        return
    run = "" if row.series is None else f" run-{row.series % RUNS}"
    if score.low is not None and score.high is not None:
        yield rule(f"whisker{run}", scale.at(score.low), scale.at(score.high), middle, middle)
    yield tag("circle", class_=f"dot{run}", cx=scale.at(score.mark), cy=middle, r=5)


def bar(row: Bar) -> Markup:
    """Return a stacked bar.

    Parts contain their names if these fit. The boundaries under the reference shares and the
    interval of the leading part are drawn below the bar.

    Parameters
    ----------
    row : Bar
        Shares of one image set on one axis.

    Returns
    -------
    Markup
        The drawing.
    """
    description = "; ".join(map(words.segment_text, row.parts))
    title = ", ".join(filter(None, (row.group, row.label)))
    lengths = [_length(part) for part in row.parts]
    if not any(lengths):
        empty = tag("rect", class_="none", x=0, y=1, width="100%", height=BAR - 2)
        text = tag("text", "no labels", class_="absent", x="50%", y=17, text_anchor="middle")
        return drawing("bar", BAR, title, description, empty, text)
    whole = max(1.0, sum(lengths))
    parts = (
        _part(number, part, sum(lengths[:number]) / whole, lengths[number] / whole)
        for number, part in enumerate(row.parts)
        if lengths[number]
    )
    boundaries = [percent_of_width(share) for share in parted(row.parts)]
    references = (rule("reference", x, x, BAR, BAR + STRIP) for x in boundaries)
    height = BAR + STRIP
    return drawing("bar", height, title, description, *parts, *references, *_edge_rules(row))


def _edge_rules(row: Bar) -> Iterator[Markup]:
    """Yield the interval of the leading part as a line with two ends, below the bar."""
    ends = edge(row)
    if ends is None:
        return
    y = BAR + 5
    low, high = map(percent_of_width, ends)
    yield rule("edge", low, high, y, y)
    for x in (low, high):
        yield rule("edge", x, x, y - 3, y + 3)


def fits(part: ShareSegment) -> bool:
    """Check whether the name of a part fits into the part on every screen."""
    return _length(part) * NARROWEST > LETTER * len(_part_name(part)) + 14


def parted(parts: Sequence[ShareSegment]) -> list[float]:
    """Return the boundaries of a bar according to the reference shares, or none if a share is unknown."""
    references = [part.reference for part in parts if part.reference is not None]
    if len(references) < len(parts):
        return []
    return [sum(references[:number]) for number in range(1, len(references))]


def edge(row: Bar) -> tuple[float, float] | None:
    """Return the interval of a bar's leading part, as positions of one of its edges.

    Parameters
    ----------
    row : Bar
        Shares of one image set on one axis.

    Returns
    -------
    tuple of float or None
        Positions from 0 to 1 of the part's right edge, or of the last part's left edge.
    """
    leading = words.leading(row)
    if leading is None or not isinstance(leading.share, Estimate):
        return None
    low = leading.share.low
    high = leading.share.high
    if low is None or high is None:
        return None
    if leading is row.parts[-1]:
        return max(1 - high, 0.0), 1 - low
    start = sum(_length(part) for part in row.parts[: row.parts.index(leading)])
    return start + low, min(start + high, 1.0)


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
