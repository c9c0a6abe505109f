"""The main findings of a page as a matplotlib figure, for papers.

Each plot of the page has a panel with the page's colors and marks.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from askew.errors import MissingPackage
from askew.pages import words
from askew.pages.blocks import (
    Bar,
    Block,
    GraphDiagram,
    IntervalChart,
    IntervalRow,
    LineChart,
    LineSeries,
    Page,
    Scatter,
    Section,
    ShareBars,
    ShareSegment,
)
from askew.pages.plain import ENDS, SENSITIVITY
from askew.pages.plots import lanes_axis
from askew.pages.share_bars import ShareMarks, is_stacked, stacked_marks, value_marks
from askew.stats.intervals import ends
from askew.types import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 4
ROWS = 24
"""Largest number of plots in a figure, and of rows in a plot."""

RUNS = ("#0072b2", "#c04f00", "#00815f", "#b0589a", "#966a00", "#2a86b8")
PARTS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#9aa0a6")
NULL = "#d3d6da"
INK = "#1b1d1f"
WIDTH = 7.0
ROW = 0.28
"""Width of a figure and height of a row, in inches."""

Plot = ShareBars | IntervalChart | LineChart | Scatter


def figure(page: Page) -> Figure:
    """Return the first plots of a page as a figure.

    Parameters
    ----------
    page : Page
        The page.

    Returns
    -------
    Figure
        At most four panels, of the plots that a terminal shows as tables.

    Raises
    ------
    MissingPackage
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("matplotlib", "plot", "a figure") from error
    plots = list(_plots(page.sections))[:PANELS]
    heights = [0.7 + ROW * max(2, min(_rows(plot), ROWS)) for plot in plots]
    drawn = Figure(figsize=(WIDTH, sum(heights) + 0.6), layout="constrained")
    title = "\n".join(textwrap.wrap(f"{page.title}: {page.answer}", 90))
    drawn.suptitle(title, fontsize=10, x=0.01, ha="left")
    panels = drawn.subplots(max(len(plots), 1), 1, squeeze=False, height_ratios=heights or None)
    for panel, plot in zip(panels[:, 0], plots, strict=False):
        _draw(panel, plot)
    return drawn


def _plots(blocks: Iterable[Block]) -> Iterator[Plot]:
    """Yield the plots that a screen shows; a graph is replaced by its edges."""
    for block in blocks:
        if isinstance(block, Section) and block.screen:
            yield from _plots(block.blocks)
        elif isinstance(block, ShareBars | IntervalChart | LineChart | Scatter):
            yield block
        elif isinstance(block, GraphDiagram) and block.edges:
            rows = (
                IntervalRow(f"{edge.source} → {edge.target}", edge.score)
                for edge in block.strongest
            )
            yield IntervalChart(block.caption, ENDS[0], tuple(rows), SENSITIVITY, "signed")


def _rows(plot: Plot) -> int:
    """Return the height of a plot in rows."""
    if isinstance(plot, ShareBars):
        return sum(map(_bar_rows, plot.bars))
    return len(plot.rows) if isinstance(plot, IntervalChart) else 8


def _bar_rows(bar: Bar) -> int:
    return 1 if is_stacked(bar) else len(bar.parts)


def _first_bars(bars: Sequence[Bar]) -> list[Bar]:
    """Return the first bars, as many as fit into a plot, and always one."""
    rows = accumulate(map(_bar_rows, bars))
    return [bar for bar, row in zip(bars, rows, strict=True) if row <= ROWS] or list(bars[:1])


def _draw(panel: Axes, plot: Plot) -> None:
    title = "\n".join(textwrap.wrap(plot.caption, 95))
    panel.set_title(title, fontsize=8, loc="left", color=INK)
    panel.tick_params(labelsize=7, length=2)
    panel.spines[["top", "right"]].set_visible(False)
    if isinstance(plot, ShareBars):
        _draw_shares(panel, _first_bars(plot.bars))
    elif isinstance(plot, IntervalChart):
        _draw_intervals(panel, plot)
    elif isinstance(plot, LineChart):
        _draw_lines(panel, plot)
    else:
        _draw_points(panel, plot)


def _draw_shares(panel: Axes, bars: Sequence[Bar]) -> None:
    """Draw a row for each stacked bar, and for each value of the other bars."""
    labels: list[str] = []
    for bar in bars:
        if is_stacked(bar):
            _draw_stacked_bar(panel, len(labels), bar)
            labels.append(_row_label(bar))
            continue
        for number, part in enumerate(bar.parts):
            _draw_value_bar(panel, len(labels), number, part)
            value = words.shorten(part.value, 18)
            labels.append(f"{words.shorten(_row_label(bar), 22)}: {value}")
    _label_rows(panel, labels)
    panel.set_xlim(0, 100)
    panel.set_xlabel(
        "percent of images; marks: reference shares; lines: confidence intervals, in bars of two "
        "values of the leading value",
        fontsize=7,
    )


def _draw_stacked_bar(panel: Axes, row: int, bar: Bar) -> None:
    """Draw a stacked bar, with the names of narrow parts at its right and its interval below."""
    start = 0.0
    small = []
    for number, part in enumerate(bar.parts):
        share = 100 * part.share.value if isinstance(part.share, Estimate) else 0.0
        color = PARTS[number % len(PARTS)]
        panel.barh(row, share, left=start, height=0.62, color=color, edgecolor="white")
        text = f"{part.value} {share:.0f}"
        if share > 1.7 * len(text) + 2:
            ink = "white" if number % len(PARTS) == 0 else INK
            panel.text(start + 1, row, text, va="center", fontsize=6.5, color=ink)
        elif share:
            small.append(text)
        start += share
    panel.text(101, row, textwrap.fill(", ".join(small), 36), va="center", fontsize=6)
    _draw_marks(panel, row, stacked_marks(bar))


def _draw_value_bar(panel: Axes, row: int, number: int, part: ShareSegment) -> None:
    share = 0.0
    if isinstance(part.share, Estimate):
        share = 100 * part.share.value
        panel.text(101, row, f"{share:.0f}", va="center", fontsize=6)
    panel.barh(row, share, height=0.62, color=PARTS[number % len(PARTS)], edgecolor="white")
    _draw_marks(panel, row, value_marks(part))


def _draw_marks(panel: Axes, row: int, marks: ShareMarks) -> None:
    """Draw a reference share and an interval below a bar."""
    if marks.reference is not None:
        x = 100 * marks.reference
        panel.vlines([x], row + 0.31, row + 0.47, color=INK, linewidth=1.2)
    if marks.interval is not None:
        low, high = marks.interval
        panel.hlines(row + 0.39, 100 * low, 100 * high, color=INK, linewidth=0.8)


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
    """Write the label of each row at its left."""
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.4, -0.6)


def _row_label(row: Bar | IntervalRow) -> str:
    if row.group:
        return f"{words.shorten(row.group, 22)}: {words.shorten(row.label, 18)}"
    return words.shorten(row.label, 40)
