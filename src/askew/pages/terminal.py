"""A page in a terminal of 80 columns or more: the answer, its tables in their order, and what a reader must know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.table import Table as Grid
from rich.text import Text as Line

from askew.pages import words
from askew.pages.blocks import Beside, Block, Code, Content, Lines, Page, Scatter, Section, Table, Terms, Text
from askew.pages.tables import as_table, flat_heads

ROWS = 24
"""Of a table, before the rest is only counted."""

WARNINGS = 12
LABEL, TEXT, LEAST = 28, 40, 12
"""Letters of a label and of a text at most, and of either at least."""


def screen(page: Page, width: int | None = None) -> RenderableType:
    """What a terminal shows of a page; as wide as the terminal unless `width` is given."""
    parts: list[RenderableType] = [Line(words.clean(page.answer), style="bold")]
    parts += [Line(words.clean(page.detail))] if page.detail else []
    parts += [shown for section in page.sections if section.screen for shown in _blocks(section.blocks)]
    parts += [Line(), *(Line(words.clean(note), style="dim") for note in page.notes)]
    parts += [Line(f"Warning: {words.clean(one)}") for one in page.warnings[:WARNINGS]]
    rest = len(page.warnings) - WARNINGS
    parts += [Line(f"… and {words.plural(rest, 'more warning')}.")] if rest > 0 else []
    return Constrain(Group(*parts), width)


def _blocks(blocks: Sequence[Block]) -> Iterator[RenderableType]:
    """Folds, pictures and lines are left to the page."""
    for one in blocks:
        if isinstance(one, Section) and one.screen:
            yield Line(f"\n{words.clean(one.title)}", style="bold")
        if isinstance(one, Beside) or (isinstance(one, Section) and one.screen):
            yield from _blocks(one.blocks)
        elif isinstance(one, Text):
            yield from _text(one)
        elif isinstance(one, Code | Scatter):
            yield Line("\n" + words.clean(one.text if isinstance(one, Code) else f"{one.caption}: {one.said}"))
        elif isinstance(one, Terms):
            yield Line("\n" + "\n".join(words.clean(f"{name}: {meaning}") for name, meaning in one.terms))
        elif not isinstance(one, Lines) and (table := as_table(one)) is not None:
            yield Fitted(table)


def _text(one: Text) -> Iterator[Line]:
    style = "dim" if one.muted else ""
    if one.lead or one.text:
        yield Line.assemble(
            "\n", (words.clean(one.lead), "bold"), " " if one.lead else "", (words.clean(one.text), style)
        )
    for item in one.items:
        led = Text(item) if isinstance(item, str) else item
        yield Line.assemble("- ", (words.clean(led.lead), "bold"), " " if led.lead else "", words.clean(led.text))


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table that never cuts a number: columns that have no room follow in a further table with the same labels."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        one, names = self.table, flat_heads(self.table)
        texts = [[_told(cell, one, k) for k, cell in enumerate(row)] for row in one.rows[:ROWS]]
        numeric = [k >= one.labels and all(words.is_number(row[k]) for row in texts) for k in range(len(names))]
        widths = [max([len(names[k]), *(len(row[k]) for row in texts)]) for k in range(len(names))]
        least = [width if is_number else min(width, LEAST) for width, is_number in zip(widths, numeric, strict=True)]
        if one.caption:
            yield Line(f"\n{words.clean(one.caption)}", style="italic")
        for columns in _packed(least, one.labels, options.max_width):
            grid = Grid(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
            for k in columns:
                most = None if numeric[k] else min(widths[k], LABEL if k < one.labels else TEXT)
                grid.add_column(Line(names[k]), justify="right" if numeric[k] else "left", no_wrap=numeric[k],
                                overflow="fold", min_width=least[k], max_width=most)  # fmt: skip
            before = ""
            for row, told in zip(one.rows, texts, strict=False):
                shown = ["" if one.labels > 1 and k == 0 and text == before else text for k, text in enumerate(told)]
                grid.add_row(*(Line(shown[k], style="bold" if words.strong(row[k]) else "") for k in columns))
                before = told[0]
            yield grid
        more = len(one.rows) - ROWS
        yield from [Line(f"… and {more} more in the report", style="dim")] if more > 0 else []
        yield from [Line(words.clean(one.note), style="dim")] if one.note else []


def _told(cell: Content, one: Table, k: int) -> str:
    text, notes = words.content(cell, one.scale), words.notes(cell)
    text = words.shorten(text, 2 * LABEL if k < one.labels else 3 * TEXT)
    beside = notes if notes.startswith("[") else f"({words.shorten(notes, 3 * TEXT)})"
    return f"{text} {beside}".strip() if notes else text


def _packed(least: Sequence[int], labels: int, width: int) -> Iterator[list[int]]:
    """Columns in tables that fit: the labels, and as many others as have room, at least one."""
    left = list(range(labels))
    chosen, used = list(left), sum(least[k] + 1 for k in left)
    for k in range(labels, len(least)):
        if len(chosen) > labels and used + least[k] > width:
            yield chosen
            chosen, used = list(left), sum(least[j] + 1 for j in left)
        chosen.append(k)
        used += least[k] + 1
    yield chosen
