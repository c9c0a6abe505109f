"""Functions that draw value charts and change charts as HTML, with a row for each value.

All rows have the same scale. Each row has a dot, its interval and a reference line, so the chart
cannot contradict the numbers beside it. Positions are percentages of the width, so text has the
same size at every width.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import ChangeChart, ChangeRow, Deviation, ValueChart, ValueGroup, ValueShare
from askew.pages.elements import (
    Ids,
    LinearScale,
    axis,
    bdi,
    captioned,
    drawing,
    hidden,
    legend,
    link,
    note,
    reach,
    rule,
    tag,
)
from askew.pages.media import QueryLink, no_list
from askew.types import Estimate

Row = TypeVar("Row", ValueGroup, ChangeRow)

ROW = 24
"""Height of a row, in pixels."""

SHORT_NAME = 14
"""Maximum number of characters in a group name that fits into a narrow column."""

COLUMNS = 5
"""Maximum number of columns: group, value, plot, number and verdict."""

_DEVIATIONS = {"over": "over-represented", "under": "under-represented", "none": ""}


def deviation(group: ValueGroup, value: ValueShare) -> Deviation:
    """Return the direction of a value's deviation, which determines its color.

    Parameters
    ----------
    group : ValueGroup
        Shares of the values of an axis, with a verdict.
    value : ValueShare
        One of the group's shares.

    Returns
    -------
    Deviation
        "over" or "under" if the group's bias is significant and the interval of the share excludes
        the reference share; otherwise "none".
    """
    ends = interval(value)
    if not group.significant or ends is None or value.reference is None:
        return "none"
    if ends[0] > value.reference:
        return "over"
    return "under" if ends[1] < value.reference else "none"


def interval(value: ValueShare) -> tuple[float, float] | None:
    """Return the interval of a share, clipped to [0, 1]; None if the share has no interval."""
    if not isinstance(value.share, Estimate):
        return None
    return words.possible_interval(value.share, "share")


def shown_values(chart: ValueChart, group: ValueGroup) -> list[ValueShare]:
    """Return the values of a group that get a row in the chart.

    Parameters
    ----------
    chart : ValueChart
        The chart.
    group : ValueGroup
        A group in the chart.

    Returns
    -------
    list of ValueShare
        All values in order of decreasing share, or only `chart.value` if it is set. In a
        brief chart, a group without significant bias shows only its main value.
    """
    if chart.value:
        return [value for value in group.values if value.value == chart.value]
    leading = words.leading(group)
    if chart.brief and not group.significant:
        return [leading or group.values[0]]
    return sorted(group.values, key=lambda value: words.largest_first(value.share))


def values(chart: ValueChart, ids: Ids, images: QueryLink = no_list) -> Markup:
    """Return shares as a table with a plot in each row.

    Parameters
    ----------
    chart : ValueChart
        The shares.
    ids : mapping of str to str
        Ids of elements, keyed by anchor.
    images : callable
        Function that returns the address of the image list for a query.

    Returns
    -------
    Markup
        The table and its legend.
    """
    single = bool(chart.value)
    tested = _is_tested(chart)
    scale = axis("share", ())
    head = tag(
        "tr",
        tag("th", chart.heading, scope="col", class_="axis"),
        None if single else tag("th", "Label", scope="col", class_="val"),
        _scale_head(scale),
        tag("th", _number_head(chart), scope="col"),
        tag("th", chart.tested, scope="col", class_="verdict") if tested else None,
    )
    width = COLUMNS - single - (not tested)
    rows = _ValueRows(chart=chart, scale=scale, ids=ids, images=images, tested=tested)
    bodies = _bodies(chart.groups, width, rows.group)
    longest = max((len(group.label) for group in chart.groups), default=0)
    kinds = ("values", "lone" if single else "", "named" if longest > SHORT_NAME else "")
    table = tag("table", tag("thead", head), *bodies, class_=" ".join(filter(None, kinds)))
    keys = legend(_value_keys(chart))
    return tag("div", captioned(chart.caption, chart.note), table, keys, class_="fit")


def _is_tested(chart: ValueChart) -> bool:
    """Check whether a chart needs a column for verdicts or for reasons why labels are missing."""
    return any(group.verdict or words.missing_note(group) for group in chart.groups)


def _number_head(chart: ValueChart) -> str:
    """Return the heading of the share column, followed by "(n)" if counts are known."""
    name = words.capital(chart.value) if chart.value else "Share"
    counted = any(value.count is not None for group in chart.groups for value in group.values)
    return f"{name} (n)" if counted else name


def _bodies(rows: Sequence[Row], width: int, draw: Callable[[Row], Markup]) -> Iterator[Markup]:
    """Yield a table body (tbody) for each group, with the group's name above its rows."""
    for name, members in groupby(rows, key=lambda row: row.group):
        if name:
            title = tag("th", bdi(name), colspan=width, scope="rowgroup")
            yield tag("tbody", tag("tr", title), class_="head")
        for member in members:
            yield draw(member)


def _scale_head(scale: LinearScale) -> Markup:
    return tag("th", scale.drawn(), hidden("plot"), class_="plot", scope="col")


@dataclass(frozen=True, slots=True)
class _ValueRows:
    """The rows of a value chart, as HTML."""

    chart: ValueChart
    scale: LinearScale
    ids: Ids
    images: QueryLink
    tested: bool

    def group(self, group: ValueGroup) -> Markup:
        """Return the rows of a group: its name, its values and, if it was tested, its verdict."""
        shown = shown_values(self.chart, group)
        rows = []
        for number, value in enumerate(shown):
            cells: list[Markup | None] = []
            if number == 0:
                name = link(group.label, group.link, self.ids)
                cells.append(tag("th", name, scope="rowgroup", rowspan=len(shown), class_="axis"))
            cells += self._cells(group, value)
            if number == 0 and self.tested:
                verdict = _verdict(group.verdict, group.significant, words.missing_note(group))
                cells.append(tag("td", verdict, rowspan=len(shown), class_="verdict"))
            rows.append(tag("tr", *cells))
        kinds = ("sig" if group.significant else "ns", "multi" if len(shown) > 1 else "")
        return tag("tbody", *rows, class_=" ".join(filter(None, kinds)))

    def _cells(self, group: ValueGroup, value: ValueShare) -> Iterator[Markup | None]:
        """Yield the name, plot and share of a value.

        Both the plot and the share are links to the images.
        """
        direction = deviation(group, value)
        bold = "strong" if direction != "none" else None
        if not self.chart.value:
            name = bdi(words.shorten(value.value, 40))
            yield tag("th", name, scope="row", class_=f"val {bold or ''}".strip())
        title = ", ".join(filter(None, (group.group, group.label, value.value)))
        plot = value_plot(value, direction, self.scale, title)
        number = tag("span", words.part(value.share, "value", "share"), class_=bold)
        address = self._address(group, value)
        if address:
            plot = tag("a", plot, href=address, tabindex=-1, aria_hidden="true")
            number = tag("a", number, href=address, title=f"Images labeled {value.value}")
        yield tag("td", plot, class_="plot")
        count = f" ({value.count:,})" if value.count is not None else ""
        meaning = _DEVIATIONS[direction]
        remark = hidden(f", {meaning}") if meaning else None
        yield tag("td", number, count, remark, class_="num")

    def _address(self, group: ValueGroup, value: ValueShare) -> str | None:
        if group.images is None or not value.count:
            return None
        return self.images(replace(group.images, value=value.value))


def value_plot(value: ValueShare, direction: Deviation, scale: LinearScale, title: str) -> Markup:
    """Return the plot of a value, with grid, reference line, interval and dot."""
    grid = (rule("grid", scale.at(tick), scale.at(tick), 0, ROW) for tick in scale.ticks)
    description = words.value_text(value)
    marks: list[Markup] = []
    if value.reference is not None:
        x = scale.at(value.reference)
        marks.append(rule("ref", x, x, 0, ROW))
        description += f"; reference {words.percent(value.reference)}"
    ends = interval(value)
    middle = ROW // 2
    if ends is not None:
        marks.append(rule("ci", scale.at(ends[0]), scale.at(ends[1]), middle, middle))
    if isinstance(value.share, Estimate):
        marks.append(tag("circle", class_="dot", cx=scale.at(value.share.value), cy=middle, r=5))
    kind = "lane" if direction == "none" else f"lane {direction}"
    return drawing(kind, ROW, title, description, *grid, *marks)


def _verdict(text: str, strong: bool, remark: str = "") -> Markup:
    """Return a verdict with a remark below it. A significant decision is bold."""
    decision, separator, rest = text.partition(" (")
    if separator:
        q = tag("span", f"({rest}", class_="nobreak")
        shown = tag("span", tag("b" if strong else "span", decision), " ", q)
    else:
        shown = tag("b" if strong else "span", text)
    small = note(remark)
    return tag("span", shown, tag("br") if small else None, small)


def _value_keys(chart: ValueChart) -> list[tuple[str, str]]:
    """Return the legend entries for the marks that occur in a value chart."""
    shown = [(group, value) for group in chart.groups for value in shown_values(chart, group)]
    directions = [deviation(group, value) for group, value in shown]
    tested = any(value.reference is not None for _, value in shown)
    intervals = any(interval(value) is not None for _, value in shown)
    neutral = "not significant" if any(group.verdict for group in chart.groups) else "share"
    keys = (
        ("over" in directions, "over", "over-represented"),
        ("under" in directions, "under", "under-represented"),
        ("none" in directions and tested, "dot", neutral),
        (intervals, "ci", "confidence interval"),
        (tested, "ref", _reference_name(chart.groups)),
    )
    return [(kind, name) for appears, kind, name in keys if appears]


def _reference_name(groups: Iterable[ValueGroup]) -> str:
    even = True
    for group in groups:
        even &= len({round(value.reference or 0.0, 9) for value in group.values}) == 1
    return "uniform reference" if even else "reference"


def changes(chart: ChangeChart, ids: Ids) -> Markup:
    """Return scores before and after a change as a table with a plot in each row.

    Parameters
    ----------
    chart : ChangeChart
        The scores.
    ids : mapping of str to str
        Ids of elements, keyed by anchor.

    Returns
    -------
    Markup
        The table and its legend.
    """
    scale = change_scale(chart)
    head = tag(
        "tr",
        tag("th", chart.heading, scope="col", class_="axis"),
        _scale_head(scale),
        tag("th", chart.name, scope="col"),
        tag("th", chart.tested, scope="col", class_="verdict"),
    )
    bodies = _bodies(chart.rows, COLUMNS - 1, lambda row: _change_row(chart, row, scale, ids))
    table = tag("table", tag("thead", head), *bodies, class_="values lone")
    keys = legend(_change_keys(chart))
    return tag("div", captioned(chart.caption, chart.note), table, keys, class_="fit")


def change_scale(chart: ChangeChart) -> LinearScale:
    """Return an axis that includes all scores and references in a change chart."""
    held: list[float] = []
    for row in chart.rows:
        held += (*reach(row.before), *reach(row.after))
        if row.reference is not None:
            held.append(row.reference)
    if chart.scale == "unit":
        return axis("range", [0.0, *held])
    return axis(chart.scale, held)


def _change_row(chart: ChangeChart, row: ChangeRow, scale: LinearScale, ids: Ids) -> Markup:
    """Return a row with its name, its plot, both scores and the verdict on the change."""
    bold = "strong" if row.significant else None
    after = tag("span", words.part(row.after, "mark", chart.scale), class_=bold)
    before = words.part(row.before, "mark", chart.scale)
    remark = words.absence(row.after)
    cells = (
        tag("th", link(row.label, row.link, ids), scope="row", class_="axis"),
        tag("td", _change_plot(chart, row, scale), class_="plot"),
        tag("td", f"{before} → ", after, class_="num"),
        tag("td", _verdict(row.verdict, row.significant, remark), class_="verdict"),
    )
    return tag("tbody", tag("tr", *cells), class_="sig" if row.significant else "ns")


def _change_plot(chart: ChangeChart, row: ChangeRow, scale: LinearScale) -> Markup:
    """Return the plot of a change: a ring, a line, and a dot with its interval."""
    middle = ROW // 2
    marks = [rule("grid", scale.at(tick), scale.at(tick), 0, ROW) for tick in scale.ticks]
    if row.reference is not None:
        marks.append(rule("ref", scale.at(row.reference), scale.at(row.reference), 0, ROW))
    before = row.before
    after = row.after
    if isinstance(before, Estimate) and isinstance(after, Estimate):
        marks.append(rule("link", scale.at(before.mark), scale.at(after.mark), middle, middle))
    if isinstance(after, Estimate) and after.low is not None and after.high is not None:
        marks.append(rule("ci", scale.at(after.low), scale.at(after.high), middle, middle))
    if isinstance(before, Estimate):
        marks.append(tag("circle", class_="ring", cx=scale.at(before.mark), cy=middle, r=5))
    if isinstance(after, Estimate):
        marks.append(tag("circle", class_="dot", cx=scale.at(after.mark), cy=middle, r=5))
    description = (
        f"{chart.before} {words.measured(before, chart.scale)}; "
        f"{chart.after} {words.measured(after, chart.scale)}"
    )
    title = ", ".join(filter(None, (row.group, row.label)))
    kind = "lane" if row.deviation == "none" else f"lane {row.deviation}"
    return drawing(kind, ROW, title, description, *marks)


def _change_keys(chart: ChangeChart) -> list[tuple[str, str]]:
    """Return the legend entries for the marks that occur in a change chart."""
    directions = {row.deviation for row in chart.rows}
    neutral = [row for row in chart.rows if row.deviation == "none"]
    undetermined = any(row.significant for row in neutral)
    meaning = "change not significant"
    if undetermined:
        meaning += ", or direction not determined"
    references = any(row.reference is not None for row in chart.rows)
    keys = (
        (True, "ring", chart.before),
        ("under" in directions, "under", f"{chart.after}, significantly closer to the reference"),
        ("over" in directions, "over", f"{chart.after}, significantly further from the reference"),
        (bool(neutral), "dot", f"{chart.after}, {meaning}"),
        (True, "ci", f"confidence interval ({chart.after})"),
        (references, "ref", "reference"),
    )
    return [(kind, name) for appears, kind, name in keys if appears]
