"""Conversion of blocks to text and tables, for Markdown, terminals, and the data behind plots."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import singledispatch

from askew.pages import blocks, words
from askew.pages.blocks import (
    Block,
    CodeBlock,
    Column,
    Content,
    Details,
    Effect,
    IntervalChart,
    IntervalRow,
    LineChart,
    Page,
    Paragraph,
    Section,
    Table,
    TableCell,
    ValueGroup,
)
from askew.types import Estimate

EFFECTS: dict[Effect, str] = {
    "better": "smaller deviation",
    "worse": "larger deviation",
    "changed": "not determined",
}
ENDS = ("Equalized axis", "affected axis")
SENSITIVITY = "IS"
"""Column headings in the table of a graph: source, target and score of an edge."""

NOT_SIGNIFICANT = "n.s.: not significant after correction"

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&])")
_LINK = re.compile(r"@|\bwww\.|:(?=//)", re.IGNORECASE)
"""Pattern for text that GitHub would otherwise convert to a mention or a link."""

PlainBlock = Section | Details | Paragraph | CodeBlock | Table
"""Blocks that a renderer can show without plots and images."""


def plain(shown: Iterable[Block]) -> Iterator[PlainBlock]:
    """Convert blocks to text and tables.

    Parameters
    ----------
    shown : iterable of Block
        Blocks of a page.

    Yields
    ------
    PlainBlock
        The converted blocks in the same order. Image grids, and sections that are not shown on
        screens, are omitted. A line chart becomes `Details` with a table of its numbers.
    """
    for block in shown:
        if isinstance(block, Section | Details):
            hidden = isinstance(block, Section) and not block.screen
            inner = replace(block, blocks=() if hidden else plain(block.blocks))
            if inner.blocks:
                yield inner
        else:
            yield from _plain_block(block)


def _plain_block(block: Block) -> Iterator[PlainBlock]:
    """Convert a block without nested blocks; yield nothing if it has neither text nor a table."""
    match block:
        case Paragraph() | CodeBlock():
            yield block
        case blocks.DefinitionList():
            terms = (Paragraph(meaning, f"{name}:") for name, meaning in block.terms)
            yield Paragraph(items=tuple(terms))
        case blocks.Scatter():
            yield Paragraph(block.description, f"{block.caption}.")
        case _:
            table = as_table(block)
            if table is not None and isinstance(block, LineChart):
                yield Details(block.caption, (table,))
            elif table is not None:
                yield table


@singledispatch
def as_table(block: Block) -> Table | None:
    """Return a table of the numbers in a plot, or None for a block that has no such table."""
    return block if isinstance(block, Table) else None


@as_table.register
def _(chart: blocks.ValueChart) -> Table | None:
    grouped = any(group.group for group in chart.groups)
    values = [value for group in chart.groups for value in group.values]
    with_reference = any(value.reference is not None for value in values)
    labels = ("", chart.heading) if grouped else (chart.heading,)
    reference = ("reference",) if with_reference else ()
    verdict = ("verdict",) if any(group.verdict for group in chart.groups) else ()
    return Table(
        caption=chart.caption,
        columns=(*labels, "shares", *reference, chart.counted, *verdict),
        rows=tuple(
            _group_row(group, grouped, with_reference, with_verdict=bool(verdict))
            for group in chart.groups
        ),
        labels=len(labels),
    )


def _group_row(
    group: ValueGroup, grouped: bool, with_reference: bool, with_verdict: bool
) -> tuple[Content, ...]:
    label = (group.group, group.label) if grouped else (group.label,)
    value = words.leading(group)
    reference: tuple[Content, ...] = ()
    if with_reference:
        known = value is not None and value.reference is not None
        reference = (words.percent(value.reference) if known and value else None,)
    verdict: tuple[Content, ...] = ()
    if with_verdict:
        verdict = (TableCell(group.verdict, strong=group.significant),)
    labeled = f"{group.n:,}"
    if any(group.missing.values()):
        labeled = f"{group.n:,} of {group.n + sum(group.missing.values()):,}"
    return (
        *label,
        TableCell(_shares_text(group) or words.missing_note(group), strong=group.significant),
        *reference,
        labeled,
        *verdict,
    )


def _shares_text(group: ValueGroup) -> str:
    """Return the shares of a group in decreasing order, with an interval for the main value."""
    leading = words.leading(group)
    shares = []
    for value in group.values:
        if isinstance(value.share, Estimate) and (value.share.value or value is leading):
            text = words.percent(value.share.value)
            if value is leading:
                text = words.measured(value.share, "share")
            shares.append((value.share.value, f"{value.value} {text}"))
    shares.sort(key=lambda share: -share[0])
    return ", ".join(text for _, text in shares)


@as_table.register
def _(chart: blocks.ChangeChart) -> Table | None:
    grouped = any(row.group for row in chart.rows)
    labels = ("", chart.heading) if grouped else (chart.heading,)
    rows = []
    for row in chart.rows:
        strong = row.significant
        label = (row.group, row.label) if grouped else (row.label,)
        before = words.part(row.before, "mark", chart.scale)
        after = words.measured(row.after, chart.scale)
        rows.append(
            (
                *label,
                before,
                TableCell(after, words.absence(row.after), strong),
                TableCell(row.brief or row.verdict, strong=strong),
            )
        )
    return Table(
        caption=chart.caption,
        columns=(*labels, chart.before, chart.after, chart.tested),
        rows=tuple(rows),
        labels=len(labels),
        note=NOT_SIGNIFICANT if any(row.brief for row in chart.rows) else "",
    )


@as_table.register
def _(matrix: blocks.ScoreMatrix) -> Table | None:
    rows = []
    for row in matrix.rows:
        cells = [_matrix_cell(cell, matrix.square) for cell in row.cells]
        rows.append((row.label, *cells))
    return Table(
        caption=matrix.caption,
        columns=(matrix.heading, *matrix.columns),
        rows=tuple(rows),
        note=""
        if matrix.square
        else "; ".join(text for kind, text in matrix.keys if kind == "none"),
    )


def _matrix_cell(cell: blocks.MatrixCell | None, square: bool) -> Content:
    """Return a cell of a matrix, with the first part of its small text ("n.s.") as its note.

    In a square matrix, the small text is omitted.
    """
    if cell is None or not cell.text:
        return None
    note = "" if square else cell.small.partition(",")[0]
    return TableCell(cell.text, note, cell.significant)


@as_table.register
def _(images: blocks.SortedImages) -> None:
    return None


@as_table.register
def _(chart: IntervalChart) -> Table | None:
    grouped = any(row.group for row in chart.rows)
    marks = [_mark_texts(row, chart) for row in chart.rows]
    common, separate = _common_marks(marks, chart)
    rows = []
    for row, texts in zip(chart.rows, marks, strict=True):
        rows.append((*_interval_row(row, chart, grouped), *(texts.get(m, "") for m in separate)))
    labels = ("", chart.heading) if grouped else (chart.heading,)
    return Table(
        caption=chart.caption,
        columns=(*labels, *heads(chart), *separate),
        rows=tuple(rows),
        labels=len(labels),
        scale=chart.scale,
        note="; ".join(f"{name}: {marks[0][name]}" for name in common),
    )


def _interval_row(row: IntervalRow, chart: IntervalChart, grouped: bool) -> tuple[Content, ...]:
    note = "; ".join(filter(None, (row.note, words.absence(row.score))))
    group = (row.group,) if grouped else ()
    texts = (words.part(row.score, column, chart.scale) for column in columns(chart))
    scores = (TableCell(text, strong=words.is_bold(row)) for text in texts)
    return (*group, TableCell(row.label, note), *scores, *row.more)


def _mark_texts(row: IntervalRow, chart: IntervalChart) -> dict[str, str]:
    """Return the name of each reference mark in a row, with the mark's value as text."""
    return {mark.name: words.format_value(mark.at, chart.scale) for mark in row.marks}


def _common_marks(marks: list[dict[str, str]], chart: IntervalChart) -> tuple[list[str], list[str]]:
    """Return names of marks whose value is the same in all rows, and names of all other marks.

    The table needs a column for each of the other marks.
    """
    names = [name for texts in marks for name in texts if name not in chart.more]
    common: list[str] = []
    separate: list[str] = []
    for name in dict.fromkeys(names):
        values = {texts.get(name, "") for texts in marks}
        alike = len(values) == 1 and len(marks) > 1
        (common if alike else separate).append(name)
    return common, separate


def columns(chart: IntervalChart) -> tuple[Column, ...]:
    """Return the columns to show beside a chart.

    Column q contains only q-values. Column p contains the p-values of tests that are not corrected
    for multiple testing.

    Parameters
    ----------
    chart : IntervalChart
        The chart, with the requested columns.

    Returns
    -------
    tuple of Column
        The requested columns. If no tested score has a q-value, column p replaces column q; if only
        some tested scores have a q-value, both columns are shown.
    """
    tests = _test_columns(chart)
    if "q" not in chart.columns or tests == ("q",):
        return chart.columns
    shown: list[Column] = []
    for column in chart.columns:
        if column == "q":
            shown += tests
        elif column != "p":
            shown.append(column)
    return tuple(shown)


def _test_columns(chart: IntervalChart) -> tuple[Column, ...]:
    """Return the columns (p, q or both) that the tested scores in a chart need."""
    scores = [row.score for row in chart.rows if isinstance(row.score, Estimate)]
    if all(score.q is not None or score.p is None for score in scores):
        return ("q",)
    if all(score.q is None for score in scores):
        return ("p",)
    return ("p", "q")


def heads(chart: IntervalChart) -> tuple[str, ...]:
    """Return the headings of the columns beside a chart."""
    names: Mapping[Column, str] = {
        "value": chart.name,
        "mark": chart.name,
        "null": chart.chance[0],
    }
    return (*(names.get(column, column) for column in columns(chart)), *chart.more)


@as_table.register
def _(chart: LineChart) -> Table | None:
    names = [chart.heading]
    cells: list[list[Content]] = [list(chart.steps)]
    for line in chart.lines:
        names.append(line.name)
        cells.append([_line_cell(score, chart) for score in line.points])
        if any(isinstance(score, Estimate) and score.null is not None for score in line.points):
            names.append("chance")
            cells.append([words.part(score, "null", chart.scale) for score in line.points])
    levels = (f"{name} {words.format_value(value, chart.scale)}" for name, value in chart.levels)
    return Table(
        caption=chart.caption,
        columns=tuple(names),
        rows=tuple(zip(*cells, strict=True)),
        note="; ".join(levels),
    )


def _line_cell(score: blocks.E | None, chart: LineChart) -> TableCell:
    text = words.measured(score, chart.scale)
    return TableCell(text, words.absence(score), words.has_significant_q(score))


@as_table.register
def _(graph: blocks.GraphDiagram) -> Table | None:
    if not graph.edges:
        return None
    return Table(
        caption=graph.caption,
        columns=(*ENDS, SENSITIVITY, "interval", *graph.more, ""),
        rows=tuple(_edge_row(edge) for edge in graph.strongest),
        labels=2,
    )


def _edge_row(edge: blocks.Arrow) -> tuple[Content, ...]:
    sensitivity = TableCell(words.signed(edge.score.value), strong=edge.effect != "changed")
    return (
        words.capital(edge.source),
        edge.target,
        sensitivity,
        words.interval(edge.score, "signed"),
        *edge.more,
        EFFECTS[edge.effect],
    )


def markdown(page: Page) -> str:
    """Return a page as Markdown, for a pull request or a model card.

    Parameters
    ----------
    page : Page
        The page. Image grids are omitted.

    Returns
    -------
    str
        The main result, the tables, and the details of the report.
    """
    version = f"Made by askew {page.version}: {page.kicker}" if page.version else page.kicker
    parts = [
        f"## {escaped(page.answer)}",
        escaped(page.detail),
        escaped(page.meta),
        *(f"> **Warning:** {escaped(warning)}" for warning in page.warnings),
        *_blocks(page.first.chart if page.first else (), 3),
        *_blocks(page.sections, 3),
        *(f"<sub>{escaped(note)}</sub>" for note in (*page.notes, version)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def escaped(text: str) -> str:
    """Return a text on one line, with all Markdown and HTML markup escaped."""
    line = " ".join(words.clean(text).split())
    return _LINK.sub("\\g<0>\u200b", _SPECIAL.sub(r"\\\1", line))


def _block(block: PlainBlock, level: int) -> str:
    match block:
        case Section():
            heading = f"{'#' * min(level, 6)} {escaped(block.title)}"
            return "\n\n".join([heading, *_blocks(block.blocks, level + 1)])
        case Details():
            summary = f"<details><summary>{escaped(block.summary)}</summary>"
            return "\n\n".join([summary, *_blocks(block.blocks, level), "</details>"])
        case Paragraph():
            return _text(block)
        case CodeBlock():
            ticks = re.findall("`+", block.text)
            fence = "`" * (3 + max(map(len, ticks), default=0))
            return f"{fence}\n{words.clean(block.text)}\n{fence}"
        case Table():
            return _table(block)


def _blocks(shown: Iterable[Block], level: int) -> list[str]:
    return [_block(block, level) for block in plain(shown)]


def _text(paragraph: Paragraph) -> str:
    lead = f"**{escaped(paragraph.lead)}** " if paragraph.lead else ""
    lines = [lead + escaped(paragraph.text)]
    for item in paragraph.items:
        text = _text(item) if isinstance(item, Paragraph) else escaped(item)
        lines.append(f"- {text}")
    return "\n".join(filter(None, lines))


def _table(table: Table) -> str:
    rule = [_rule(table, column) for column in range(len(table.columns))]
    lines = [[escaped(name) for name in table.columns], rule]
    for row in table.rows:
        lines.append([_cell(cell, table) for cell in row])
    grid = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join(filter(None, (escaped(table.caption), grid, escaped(table.note))))


def _rule(table: Table, column: int) -> str:
    """Return the Markdown that aligns a column; numbers are right-aligned."""
    texts = [words.content(row[column], table.scale) for row in table.rows]
    return "---:" if column >= table.labels and all(map(words.is_number, texts)) else "---"


def _cell(cell: Content, table: Table) -> str:
    text = escaped(words.content(cell, table.scale))
    if text and words.is_bold(cell):
        text = f"**{text}**"
    notes = words.notes(cell)
    return f"{text} ({escaped(notes)})" if notes else text
