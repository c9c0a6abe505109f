"""Renderer that shows a page in a terminal with at least 80 columns."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import text
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.containers import Lines
from rich.table import Table as Grid

from askew.pages import words
from askew.pages.blocks import CodeBlock, Content, Details, Page, Paragraph, Section, Table
from askew.pages.plain import PlainBlock, plain

ROWS = 24
"""Maximum number of rows in a table; a note states how many rows are omitted."""

WARNINGS = 12
"""Maximum number of warnings to show."""

LABEL = 28
TEXT = 40
LEAST = 12
WORD = 16
"""Widths in a terminal of 80 columns.

The values are the maximum width of a label, the maximum width of a text cell, the minimum width of
labels and text cells, and the width up to which words are not broken.
"""

_UNBROKEN = re.compile(
    r"(?<=\d) (?=%)|(?<=\b\w) (?=[=<] ?\d)|(?<=[=<]) (?=\d)|(?<=\d,) (?=[−+]?[\d.]+\])"
)
HELD = "\ue000"
"""Placeholder for spaces at which lines must not break, because rich breaks at no-break spaces."""


class UnbrokenText(text.Text):
    """Text whose lines never break inside an interval, in "q = 0.03", or before a percent sign."""

    def wrap(self, *args: object, **options: object) -> Lines:
        """Return the lines of the wrapped text.

        The `rich` package calls this method to wrap the text.
        """
        held = self.copy()
        held.plain = _UNBROKEN.sub(HELD, self.plain)
        lines = held.wrap(*args, **options)  # type: ignore[arg-type]
        for line in lines:
            line.plain = line.plain.replace(HELD, " ")
        return lines


def screen(page: Page, width: int | None = None) -> RenderableType:
    """Return the parts of a page to show in a terminal.

    Parameters
    ----------
    page : Page
        The page.
    width : int, optional
        Number of columns (by default, the width of the terminal).

    Returns
    -------
    RenderableType
        The main result, the sections that screens show, the notes and the warnings.
    """
    parts: list[RenderableType] = [UnbrokenText(words.clean(page.answer), style="bold")]
    if page.detail:
        parts.append(UnbrokenText(words.clean(page.detail)))
    if page.meta:
        parts.append(UnbrokenText(words.clean(page.meta), style="dim"))
    if page.first:
        for block in plain(page.first.chart):
            parts += _block(block)
    for section in page.sections:
        if section.screen:
            parts += _blocks(section)
    parts.append(UnbrokenText())
    parts += [
        UnbrokenText(words.clean(note), style="dim") for note in (*page.notes, *page.screen_notes)
    ]
    shown = page.warnings[:WARNINGS]
    parts += [UnbrokenText(f"Warning: {words.clean(warning)}") for warning in shown]
    rest = len(page.warnings) - len(shown)
    if rest:
        parts.append(UnbrokenText(f"… and {words.plural(rest, 'more warning')}."))
    return Constrain(Group(*parts), width)


def _blocks(container: Section | Details) -> Iterator[RenderableType]:
    for block in plain(container.blocks):
        yield from _block(block)


def _block(block: PlainBlock) -> Iterator[RenderableType]:
    """Convert a block to elements that the terminal can show.

    Details are omitted unless screens show them.
    """
    match block:
        case Section():
            yield UnbrokenText(f"\n{words.clean(block.title)}", style="bold")
            yield from _blocks(block)
        case Details(screen=True):
            yield from _blocks(block)
        case Paragraph():
            yield from _paragraph(block)
        case CodeBlock():
            yield UnbrokenText("\n" + words.clean(block.text))
        case Table():
            yield FittedTable(block)


def _paragraph(paragraph: Paragraph) -> Iterator[RenderableType]:
    style = "dim" if paragraph.muted else ""
    if paragraph.lead or paragraph.text:
        start = UnbrokenText("\n", end="\n" if paragraph.items else "")
        yield start.append_text(_led(paragraph, style))
    else:
        yield UnbrokenText()
    for item in paragraph.items:
        led = item if isinstance(item, Paragraph) else Paragraph(item)
        yield UnbrokenText("- ").append_text(_led(led, style))


def _led(paragraph: Paragraph, style: str) -> text.Text:
    return UnbrokenText.assemble(
        (words.clean(paragraph.lead), "bold"),
        " " if paragraph.lead else "",
        (words.clean(paragraph.text), style),
    )


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """Possible widths of a column in a terminal table.

    Attributes
    ----------
    numeric : bool
        Whether the column contains only numbers, so that it is right-aligned and never wrapped.
    least : int
        Minimum width.
    preferred : int
        Width of the column if there is enough room.
    """

    numeric: bool
    least: int
    preferred: int


@dataclass(frozen=True, slots=True)
class FittedTable:
    """A table that never truncates numbers.

    Columns that do not fit follow in another table with the same labels.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self.table
        width = options.max_width
        rows = [_row_texts(row, table) for row in table.rows[:ROWS]]
        layouts = [_layout(table, rows, column, width) for column in range(len(table.columns))]
        if table.caption:
            yield UnbrokenText(f"\n{words.clean(table.caption)}", style="italic")
        for columns in _packed([layout.least for layout in layouts], table.labels, width):
            yield self._grid(rows, layouts, columns, width)
        more = len(table.rows) - ROWS
        if more > 0:
            yield UnbrokenText(f"… and {more} more in the report", style="dim")
        if table.note:
            yield UnbrokenText(words.clean(table.note), style="dim")

    def _grid(
        self,
        rows: Sequence[Sequence[str]],
        layouts: Sequence[ColumnLayout],
        columns: Sequence[int],
        width: int,
    ) -> Grid:
        """Return some columns of the table, with repetitions in the first column hidden."""
        grid = Grid(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        widths = _widths([layouts[column] for column in columns], width)
        for column, column_width in zip(columns, widths, strict=True):
            numeric = layouts[column].numeric
            grid.add_column(
                UnbrokenText(self.table.columns[column]),
                justify="right" if numeric else "left",
                no_wrap=numeric,
                overflow="fold",
                width=column_width,
            )
        before = ""
        for row, texts in zip(self.table.rows, rows, strict=False):
            cells = []
            for column in columns:
                repeated = self.table.labels > 1 and column == 0 and texts[0] == before
                style = "bold" if words.is_bold(row[column]) else ""
                cells.append(UnbrokenText("" if repeated else texts[column], style=style))
            grid.add_row(*cells)
            before = texts[0]
        return grid


def _row_texts(row: Sequence[Content], table: Table) -> list[str]:
    return [_cell_text(cell, table, column) for column, cell in enumerate(row)]


def _cell_text(cell: Content, table: Table, column: int) -> str:
    """Return the text of a cell, followed by its notes in parentheses."""
    longest = 2 * LABEL if column < table.labels else 3 * TEXT
    shown = words.shorten(words.content(cell, table.scale), longest)
    notes = words.notes(cell)
    if not notes:
        return shown
    beside = notes if notes.startswith("[") else f"({words.shorten(notes, 3 * TEXT)})"
    return f"{shown} {beside}".strip()


def _layout(table: Table, rows: Sequence[Sequence[str]], column: int, width: int) -> ColumnLayout:
    """Return the possible widths of a column in a terminal with a given width."""
    texts = [row[column] for row in rows]
    longest = max([len(table.columns[column]), *map(len, texts)])
    label = column < table.labels
    if not label and all(map(words.is_number, texts)):
        return ColumnLayout(numeric=True, least=longest, preferred=longest)
    parts = [part for shown in texts for part in shown.split()]
    longest_word = max(map(len, parts), default=0)
    room = max(LABEL, width // 3) if label else max(TEXT, width // 2)
    least = min(longest, max(LEAST, min(longest_word, WORD)))
    return ColumnLayout(numeric=False, least=least, preferred=max(least, min(longest, room)))


def _widths(layouts: Sequence[ColumnLayout], width: int) -> list[int]:
    """Return the widths of columns that are separated by a space.

    If all columns fit, they have their preferred widths. Otherwise the widest text column is
    repeatedly narrowed by one character, down to its minimum width.
    """
    widths = [layout.preferred for layout in layouts]
    while sum(widths) + len(widths) - 1 > width:
        wide = [
            column
            for column, layout in enumerate(layouts)
            if not layout.numeric and widths[column] > layout.least
        ]
        if not wide:
            break
        widest = max(wide, key=lambda column: widths[column])
        widths[widest] -= 1
    return widths


def _packed(least: Sequence[int], labels: int, width: int) -> Iterator[list[int]]:
    """Divide columns among tables that fit into a width, and yield the columns of each table.

    Each table has the label columns and as many other columns as fit, but at least one. A space
    separates columns.
    """
    columns = list(range(labels))
    used = sum(least[:labels]) + labels
    for column in range(labels, len(least)):
        if len(columns) > labels and used + least[column] > width:
            yield columns
            columns = list(range(labels))
            used = sum(least[:labels]) + labels
        columns.append(column)
        used += least[column] + 1
    yield columns
