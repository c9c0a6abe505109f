"""Matplotlib figures of a page's main findings, for papers.

A figure has one panel for each plot on the page, with the same colors and marks.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from askew.errors import MissingPackage
from askew.pages import words
from askew.pages.blocks import (
    Block,
    ChangeChart,
    ChangeRow,
    Deviation,
    GraphDiagram,
    IntervalChart,
    IntervalRow,
    LineChart,
    LineSeries,
    Page,
    Scatter,
    ScoreMatrix,
    Section,
    ValueChart,
    ValueGroup,
    ValueShare,
)
from askew.pages.plain import ENDS, SENSITIVITY
from askew.pages.plots import lanes_axis
from askew.pages.value_rows import change_scale, deviation, interval, shown_values
from askew.stats.intervals import ends
from askew.types import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 4
ROWS = 24
"""Maximum number of plots in a figure, and of rows in a plot."""

RUNS = ("#3d444b", "#0072b2", "#c04f00", "#00815f", "#b0589a", "#966a00")
"""Colors for series."""

COLORS: dict[Deviation, str] = {"over": "#b2440a", "under": "#0a5fa6", "none": "#6d747b"}
FILLS: dict[Deviation, tuple[float, float, float]] = {
    "over": (226 / 255, 120 / 255, 40 / 255),
    "under": (60 / 255, 140 / 255, 214 / 255),
    "none": (0.955, 0.96, 0.968),
}
"""Colors of marks and of shaded cells for each direction; pages use the same colors."""

NULL = "#d3d6da"
INK = "#1b1d1f"
WIDTH = 7.0
ROW = 0.28
DPI = 160
"""Width of a figure and height of a row, in inches, and pixels per inch in PNG files."""

LEAST_LETTERS = 11
ALL_LETTERS = 90
"""Characters per line: the minimum for a matrix cell, and the total for all cells in a row."""

Plot = ValueChart | ChangeChart | ScoreMatrix | IntervalChart | LineChart | Scatter


def main_chart(page: Page, format: str) -> bytes:
    """Return the main chart of a page as an image file.

    Parameters
    ----------
    page : Page
        The page.
    format : {"png", "svg", "pdf"}
        Format of the file.

    Returns
    -------
    bytes
        Content of the file. The bytes depend only on the page, since the file contains no date.

    Raises
    ------
    MissingPackage
        If matplotlib is not installed.
    """
    drawn = figure(page, panels=1)
    import matplotlib

    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "askew", "svg.fonttype": "none"}):
        drawn.savefig(content, format=format, dpi=DPI, metadata=metadata.get(format))
    return content.getvalue()


def figure(page: Page, panels: int = PANELS) -> Figure:
    """Return a figure with the first plots of a page.

    Parameters
    ----------
    page : Page
        The page.
    panels : int
        Maximum number of plots.

    Returns
    -------
    Figure
        Figure with one panel per plot.

    Raises
    ------
    MissingPackage
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("matplotlib", "plot", "a figure") from error
    first = page.first.chart if page.first else ()
    plots = list(_plots([*first, *page.sections]))[:panels]
    heights = [0.7 + ROW * max(2, min(_rows(plot), ROWS)) for plot in plots]
    drawn = Figure(figsize=(WIDTH, sum(heights) + 0.6), layout="constrained")
    title = "\n".join(textwrap.wrap(page.answer, 90))
    drawn.suptitle(title, fontsize=10, x=0.01, ha="left")
    rows = drawn.subplots(max(len(plots), 1), 1, squeeze=False, height_ratios=heights or None)
    for panel, plot in zip(rows[:, 0], plots, strict=False):
        _draw(panel, plot)
    return drawn


def _plots(blocks: Iterable[Block]) -> Iterator[Plot]:
    """Yield the plots that a screen shows, with each graph replaced by a chart of its edges."""
    for block in blocks:
        if isinstance(block, Section) and block.screen:
            yield from _plots(block.blocks)
        elif isinstance(block, Plot):
            yield block
        elif isinstance(block, GraphDiagram) and block.edges:
            rows = (
                IntervalRow(f"{edge.source} → {edge.target}", edge.score)
                for edge in block.strongest
            )
            yield IntervalChart(block.caption, ENDS[0], tuple(rows), SENSITIVITY, "signed")


def _rows(plot: Plot) -> int:
    """Return the height of a plot, as a number of rows."""
    if isinstance(plot, ValueChart):
        return len(_value_rows(plot))
    if isinstance(plot, IntervalChart | ChangeChart):
        return len(plot.rows)
    return len(plot.rows) * 2 if isinstance(plot, ScoreMatrix) else 8


def _value_rows(chart: ValueChart) -> list[tuple[ValueGroup, ValueShare]]:
    """Return the rows of a value chart, up to the last complete group that fits into a plot."""
    rows: list[tuple[ValueGroup, ValueShare]] = []
    for group in chart.groups:
        shown = [(group, value) for value in shown_values(chart, group)]
        if rows and len(rows) + len(shown) > ROWS:
            break
        rows += shown
    return rows


def _draw(panel: Axes, plot: Plot) -> None:
    title = "\n".join(textwrap.wrap(plot.caption, 95))
    panel.set_title(title, fontsize=8, loc="left", color=INK)
    panel.tick_params(labelsize=7, length=2)
    panel.spines[["top", "right"]].set_visible(False)
    if isinstance(plot, ValueChart):
        _draw_values(panel, plot)
    elif isinstance(plot, ChangeChart):
        _draw_changes(panel, plot)
    elif isinstance(plot, ScoreMatrix):
        _draw_matrix(panel, plot)
    elif isinstance(plot, IntervalChart):
        _draw_intervals(panel, plot)
    elif isinstance(plot, LineChart):
        _draw_lines(panel, plot)
    else:
        _draw_points(panel, plot)


def _draw_values(panel: Axes, chart: ValueChart) -> None:
    """Draw a row for each value, with a reference line, an interval and a dot."""
    rows = _value_rows(chart)
    labels = []
    for position, (group, value) in enumerate(rows):
        _draw_value(panel, position, value, COLORS[deviation(group, value)])
        labels.append(f"{words.shorten(_row_label(group), 26)}: {words.shorten(value.value, 18)}")
    _label_rows(panel, labels)
    panel.set_xlim(0, 100)
    panel.set_xlabel(
        "percent of images; line: confidence interval; mark: reference share\norange and blue: "
        "significantly over- and under-represented",
        fontsize=7,
    )


def _draw_value(panel: Axes, position: int, value: ValueShare, color: str) -> None:
    if value.reference is not None:
        panel.vlines(100 * value.reference, position - 0.5, position + 0.5, color=INK, linewidth=1)
    ends_of_share = interval(value)
    if ends_of_share is not None:
        low, high = ends_of_share
        panel.hlines(position, 100 * low, 100 * high, color=color, linewidth=1.5)
    if isinstance(value.share, Estimate):
        panel.plot(100 * value.share.value, position, "o", color=color, markersize=4)


def _draw_changes(panel: Axes, chart: ChangeChart) -> None:
    """Draw a row for each score: a ring before the change, and a dot with an interval after it."""
    rows = chart.rows[:ROWS]
    for position, row in enumerate(rows):
        _draw_change(panel, position, row)
    _label_rows(panel, list(map(_row_label, rows)))
    axis = change_scale(chart)
    panel.set_xticks(axis.ticks, axis.labels)
    panel.set_xlim(axis.low, axis.high)
    panel.set_xlabel(f"{chart.name}; ring: {chart.before}; dot: {chart.after}", fontsize=7)


def _draw_change(panel: Axes, position: int, row: ChangeRow) -> None:
    color = COLORS[row.deviation]
    if row.reference is not None:
        panel.vlines(row.reference, position - 0.5, position + 0.5, color=INK, linewidth=1)
    if isinstance(row.before, Estimate):
        panel.plot(
            row.before.mark, position, "o", color=COLORS["none"], markersize=5, fillstyle="none"
        )
    if isinstance(row.after, Estimate):
        panel.hlines(position, *ends(row.after), color=color, linewidth=1.5)
        panel.plot(row.after.mark, position, "o", color=color, markersize=4)


def _draw_matrix(panel: Axes, matrix: ScoreMatrix) -> None:
    """Draw the cells of a matrix with the same shades as on the page."""
    letters = max(LEAST_LETTERS, ALL_LETTERS // max(len(matrix.columns), 1))
    for down, row in enumerate(matrix.rows[:ROWS]):
        for across, cell in enumerate(row.cells):
            if cell is None or not cell.text:
                continue
            direction: Deviation = "over" if cell.level > 0 else "under"
            fill = FILLS[direction if cell.level else "none"]
            alpha = 0.15 + 0.45 * min(abs(cell.level), 1.0) if cell.level else 1.0
            panel.barh(down, 0.94, height=0.94, left=across - 0.47, color=fill, alpha=alpha)
            text = textwrap.fill(cell.text.replace(" %", "\u00a0%"), letters)
            weight = "bold" if cell.significant else "normal"
            panel.text(across, down, text, fontsize=5.5, weight=weight, ha="center", va="center")
    panel.set_xticks(
        range(len(matrix.columns)), [textwrap.fill(name, letters) for name in matrix.columns]
    )
    panel.set_xlim(-0.5, len(matrix.columns) - 0.5)
    panel.tick_params(length=0)
    panel.spines[["left", "bottom"]].set_visible(False)
    _label_rows(panel, [words.shorten(row.label, 30) for row in matrix.rows[:ROWS]])


def _draw_intervals(panel: Axes, chart: IntervalChart) -> None:
    rows = chart.rows[:ROWS]
    for position, row in enumerate(rows):
        _draw_interval(panel, position, row)
    _label_rows(panel, list(map(_row_label, rows)))
    axis = lanes_axis(chart)
    panel.set_xticks(axis.ticks, axis.labels)
    panel.set_xlim(axis.low, axis.high)
    label = f"{chart.name}; line: {chart.interval}; gray: {chart.chance[1]}"
    panel.set_xlabel(label, fontsize=7)


def _draw_interval(panel: Axes, position: int, row: IntervalRow) -> None:
    score = row.score
    band = row.chance
    if band is None and isinstance(score, Estimate) and score.null:
        band = (0.0, score.null)
    if band:
        panel.barh(position, band[1] - band[0], left=band[0], height=0.8, color=NULL)
    if isinstance(score, Estimate):
        color = RUNS[(row.series or 0) % len(RUNS)]
        panel.plot(ends(score), [position, position], color=color, linewidth=1.5)
        panel.plot(score.mark, position, "o", color=color, markersize=4)
    for mark in row.marks:
        panel.plot(mark.at, position, "|", color=RUNS[1], markersize=9)


def _draw_lines(panel: Axes, chart: LineChart) -> None:
    for line in chart.lines:
        _draw_line(panel, line)
    for name, value in chart.levels:
        panel.axhline(value, color=INK, linestyle="--", linewidth=0.8, label=name)
    step = 1 + len(chart.steps) // 12
    panel.set_xticks(range(0, len(chart.steps), step), chart.steps[::step])
    panel.set_xlabel(chart.heading, fontsize=7)
    panel.set_ylabel(chart.name, fontsize=7)
    panel.legend(fontsize=6.5, frameon=False)


def _draw_line(panel: Axes, line: LineSeries) -> None:
    scores = [
        (step, score) for step, score in enumerate(line.points) if isinstance(score, Estimate)
    ]
    steps = [step for step, _ in scores]
    marks = [score.mark for _, score in scores]
    color = RUNS[line.series % len(RUNS)]
    width = 0.6 if line.thin else 1.4
    panel.plot(steps, marks, color=color, linewidth=width, label=line.name)
    if not line.thin:
        lows = [ends(score)[0] for _, score in scores]
        highs = [ends(score)[1] for _, score in scores]
        panel.fill_between(steps, lows, highs, color=color, alpha=0.15, linewidth=0)


def _draw_points(panel: Axes, plot: Scatter) -> None:
    xs = [point.x for point in plot.points]
    ys = [point.y for point in plot.points]
    colors = [RUNS[point.series % len(RUNS)] for point in plot.points]
    panel.scatter(xs, ys, s=12, c=colors)
    panel.set(xlabel=plot.x[0], ylabel=plot.y[0])


def _label_rows(panel: Axes, labels: Sequence[str]) -> None:
    """Write a label to the left of each row."""
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.4, -0.6)


def _row_label(row: ValueGroup | ChangeRow | IntervalRow) -> str:
    if row.group:
        return f"{words.shorten(row.group, 22)}: {words.shorten(row.label, 18)}"
    return words.shorten(row.label, 40)
