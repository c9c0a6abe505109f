"""The main findings of a page as a matplotlib figure, for papers: a panel per plot, the page's
colours and marks.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
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
    Page,
    Scatter,
    Section,
    ShareBars,
)
from askew.pages.plain import ENDS, SENSITIVITY
from askew.pages.plots import edge, lanes_axis, parted
from askew.stats.intervals import ends
from askew.types import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 4
ROWS = 24
"""Plots in a figure, and rows in a plot."""

RUNS = ("#0072b2", "#c04f00", "#00815f", "#b0589a", "#966a00", "#2a86b8")
PARTS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#9aa0a6")
NULL = "#d3d6da"
INK = "#1b1d1f"
WIDTH = 7.0
ROW = 0.28
"""In inches: the text of a page of paper, and a row."""


def figure(page: Page) -> Figure:
    """The first plots that a terminal shows as tables. Raises MissingPackage without the extra
    `plot`.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("matplotlib", "plot", "a figure") from error
    blocks = list(_plots(page.sections))[:PANELS]
    sizes = [
        len(b.bars)
        if isinstance(b, ShareBars)
        else len(b.rows)
        if isinstance(b, IntervalChart)
        else 8
        for b in blocks
    ]
    heights = [0.7 + ROW * max(2, min(rows, ROWS)) for rows in sizes]
    made = Figure(figsize=(WIDTH, sum(heights) + 0.6), layout="constrained")
    made.suptitle(
        "\n".join(textwrap.wrap(f"{page.title}: {page.answer}", 90)), fontsize=10, x=0.01, ha="left"
    )
    panels = made.subplots(max(len(blocks), 1), 1, squeeze=False, height_ratios=heights or None)[
        :, 0
    ]
    for on, one in zip(panels, blocks, strict=False):
        on.set_title("\n".join(textwrap.wrap(one.caption, 95)), fontsize=8, loc="left", color=INK)
        on.tick_params(labelsize=7, length=2)
        on.spines[["top", "right"]].set_visible(False)
        if isinstance(one, ShareBars):
            _shares(on, one.bars[:ROWS])
        elif isinstance(one, IntervalChart):
            _lanes(on, one)
        elif isinstance(one, LineChart):
            _lines(on, one)
        else:
            colours = [RUNS[p.series % len(RUNS)] for p in one.points]
            on.scatter([p.x for p in one.points], [p.y for p in one.points], s=12, c=colours)
            on.set(xlabel=one.x[0], ylabel=one.y[0])
    return made


Plot = ShareBars | IntervalChart | LineChart | Scatter


def _plots(blocks: Iterable[Block]) -> Iterator[Plot]:
    for one in blocks:
        if isinstance(one, Section) and one.screen:
            yield from _plots(one.blocks)
        elif isinstance(one, ShareBars | IntervalChart | LineChart | Scatter):
            yield one
        elif isinstance(one, GraphDiagram) and one.edges:
            rows = (IntervalRow(f"{e.source} → {e.target}", e.score) for e in one.strongest)
            yield IntervalChart(one.caption, ENDS[0], tuple(rows), SENSITIVITY, "signed")


def _shares(on: Axes, bars: Sequence[Bar]) -> None:
    for row, bar in enumerate(bars):
        start = 0.0
        small = []
        for k, part in enumerate(bar.parts):
            share = 100 * part.share.value if isinstance(part.share, Estimate) else 0.0
            on.barh(
                row, share, left=start, height=0.62, color=PARTS[k % len(PARTS)], edgecolor="white"
            )
            text = f"{part.value} {share:.0f}"
            colour = "white" if k % len(PARTS) == 0 else INK
            if share > 1.7 * len(text) + 2:
                on.text(start + 1, row, text, va="center", fontsize=6.5, color=colour)
            elif share:
                small.append(text)
            start += share
        on.text(101, row, textwrap.fill(", ".join(small), 36), va="center", fontsize=6)
        on.vlines(
            [100 * share for share in parted(bar.parts)],
            row + 0.31,
            row + 0.47,
            color=INK,
            linewidth=1.2,
        )
        found = edge(bar)
        if found is not None:
            on.hlines(row + 0.39, 100 * found[0], 100 * found[1], color=INK, linewidth=0.8)
    _named(on, bars)
    on.set_xlim(0, 100)
    on.set_xlabel(
        "percent of pictures; marks: ideal shares; lines: interval of the leading share", fontsize=7
    )


def _lanes(on: Axes, one: IntervalChart) -> None:
    rows = one.rows[:ROWS]
    for k, row in enumerate(rows):
        e = row.score
        colour = RUNS[(row.series or 0) % len(RUNS)]
        band = row.chance or ((0.0, e.null) if isinstance(e, Estimate) and e.null else None)
        if band:
            on.barh(k, band[1] - band[0], left=band[0], height=0.8, color=NULL)
        if isinstance(e, Estimate):
            on.plot(ends(e), [k, k], color=colour, linewidth=1.5)
            on.plot(e.mark, k, "o", color=colour, markersize=4)
        for mark in row.marks:
            on.plot(mark.at, k, "|", color=RUNS[1], markersize=9)
    _named(on, rows)
    axis = lanes_axis(one)
    on.set_xticks(axis.ticks, axis.labels)
    on.set_xlim(axis.low, axis.high)
    on.set_xlabel(f"{one.name}; line: {one.interval}; grey: {one.chance[1]}", fontsize=7)


def _lines(on: Axes, one: LineChart) -> None:
    for line in one.lines:
        known = [(k, e) for k, e in enumerate(line.points) if isinstance(e, Estimate)]
        at = [k for k, _ in known]
        colour = RUNS[line.series % len(RUNS)]
        on.plot(
            at,
            [e.mark for _, e in known],
            color=colour,
            linewidth=0.6 if line.thin else 1.4,
            label=line.name,
        )
        if not line.thin:
            low, high = zip(*(ends(e) for _, e in known), strict=True) if known else ((), ())
            on.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    for name, value in one.levels:
        on.axhline(value, color=INK, linestyle="--", linewidth=0.8, label=name)
    every = 1 + len(one.steps) // 12
    on.set_xticks(range(0, len(one.steps), every), one.steps[::every])
    on.set_xlabel(one.heading, fontsize=7)
    on.set_ylabel(one.name, fontsize=7)
    on.legend(fontsize=6.5, frameon=False)


def _named(on: Axes, rows: Sequence[Bar | IntervalRow]) -> None:
    """Rows have their group and label at the left."""
    labels = [
        f"{words.shorten(row.group, 22)}: {words.shorten(row.label, 18)}"
        if row.group
        else words.shorten(row.label, 40)
        for row in rows
    ]
    on.set_yticks(range(len(labels)), labels)
    on.set_ylim(len(labels) - 0.4, -0.6)
