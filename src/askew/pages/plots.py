"""Functions that draw interval charts as HTML: a plot in each row, with numbers beside it.

Positions are percentages of the width, so that text has the same size at every width.
"""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import IntervalChart, IntervalRow, ReferenceMark
from askew.pages.elements import (
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
    table_bodies,
    tag,
)
from askew.pages.elements import at as percent_of_width
from askew.pages.plain import columns, heads
from askew.types import Estimate

LANE = 24
"""Height of an interval row, in pixels."""


def lanes(chart: IntervalChart, ids: Ids) -> Markup:
    """Return an interval chart as a table with a plot in each row.

    Readers who cannot see the plots can use the table without them.

    Parameters
    ----------
    chart : IntervalChart
        The scores.
    ids : mapping of str to str
        Ids of elements, keyed by anchor.

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
    bodies = table_bodies(chart.rows, 2 + len(names), lambda row: _lane(row, chart, scale, ids))
    title, separator, rest = chart.caption.partition(". ")
    small = tag("span", f" {rest}", class_="rest") if rest else None
    caption = tag("caption", title + separator.strip(), small)
    table = tag("table", caption, tag("thead", head), *bodies, class_="plot-table")
    return tag("div", table, legend(_lane_keys(chart, scale)), class_="fit")


def _lane(row: IntervalRow, chart: IntervalChart, scale: LinearScale, ids: Ids) -> Markup:
    """Return a row of an interval chart, with its label, plot and numbers."""
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
    """Return the legend entries for the marks that occur in a chart."""
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
    """Return the legend text for dots, including whether they show bias-corrected estimates."""
    corrected = any(
        words.format_value(score.value, chart.scale) != words.format_value(score.mark, chart.scale)
        for score in scores
    )
    if "value" in chart.columns and corrected:
        return f"{chart.name}, bias-corrected estimate"
    return chart.name


def lanes_axis(chart: IntervalChart) -> LinearScale:
    """Return an axis that includes all values in an interval chart."""
    values: list[float] = []
    for row in chart.rows:
        values += (*reach(row.score), *row.points, *(row.chance or ()))
    values += [mark.at for row in chart.rows for mark in row.marks]
    return axis(chart.scale, values)


def _plot(scale: LinearScale, chart: IntervalChart, row: IntervalRow) -> Markup:
    """Return a row's plot: the band of values expected by chance, the marks and the score."""
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
    """Yield the gray band for the range expected by chance.

    By default, the band runs from 0 to the estimate's `null`. There is no default band if the scale
    includes negative values.
    """
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
    """Yield a line for the interval and a dot for the score, or text if the score is missing."""
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
