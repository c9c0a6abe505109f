"""A page in a terminal of 80 columns or more: the answer, its tables in their order, and what a
reader must know.
"""

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
from askew.pages.plain import plain

ROWS = 24
"""Of a table, before the rest is only counted."""

WARNINGS = 12
LABEL = 28
TEXT = 40
LEAST = 12
WORD = 16
"""Letters of a label and of a text at most in 80 columns, of either at least, and of a word that is
not broken.
"""

_KEPT = re.compile(r"(?<=\d) (?=%)|(?<=\b\w) (?=[=<] ?\d)|(?<=[=<]) (?=\d)")
HELD = "\ue000"
"""Spaces that are no end of a line, and what stands for them while lines are broken: rich breaks at
no-break spaces.
"""


class UnbrokenText(text.Text):
    """Text in which a number stays with its percent sign, and a value with its name: "p = 0.64"."""

    def wrap(self, *args: object, **options: object) -> Lines:
        """The lines."""
        held = self.copy()
        held.plain = _KEPT.sub(HELD, self.plain)
        lines = held.wrap(*args, **options)  # type: ignore[arg-type]
        for line in lines:
            line.plain = line.plain.replace(HELD, " ")
        return lines


def screen(page: Page, width: int | None = None) -> RenderableType:
    """What a terminal shows of a page; as wide as the terminal unless `width` is given."""
    parts: list[RenderableType] = [UnbrokenText(words.clean(page.answer), style="bold")]
    parts += [UnbrokenText(words.clean(page.detail))] if page.detail else []
    blocks = (
        block for section in page.sections if section.screen for block in plain(section.blocks)
    )
    parts += [shown for block in blocks for shown in _shown(block)]
    parts += [
        UnbrokenText(),
        *(UnbrokenText(words.clean(note), style="dim") for note in page.notes),
    ]
    parts += [UnbrokenText(f"Warning: {words.clean(one)}") for one in page.warnings[:WARNINGS]]
    rest = len(page.warnings) - WARNINGS
    parts += [UnbrokenText(f"… and {words.plural(rest, 'more warning')}.")] if rest > 0 else []
    return Constrain(Group(*parts), width)


def _shown(one: Section | Details | Paragraph | CodeBlock | Table) -> Iterator[RenderableType]:
    """Folds are left to the page, but for those of scores that a terminal must tell."""
    match one:
        case Section():
            yield UnbrokenText(f"\n{words.clean(one.title)}", style="bold")
            yield from (shown for inner in plain(one.blocks) for shown in _shown(inner))
        case Details(screen=True):
            yield from (shown for inner in plain(one.blocks) for shown in _shown(inner))
        case Paragraph():
            style = "dim" if one.muted else ""
            end = "\n" if one.items else ""
            yield from (
                [UnbrokenText("\n", end=end).append_text(_led(one, style))]
                if one.lead or one.text
                else [UnbrokenText()]
            )
            led = (item if isinstance(item, Paragraph) else Paragraph(item) for item in one.items)
            yield from (UnbrokenText("- ").append_text(_led(item, style)) for item in led)
        case CodeBlock():
            yield UnbrokenText("\n" + words.clean(one.text))
        case Table():
            yield FittedTable(one)


def _led(one: Paragraph, style: str) -> text.Text:
    return UnbrokenText.assemble(
        (words.clean(one.lead), "bold"), " " if one.lead else "", (words.clean(one.text), style)
    )


@dataclass(frozen=True, slots=True)
class FittedTable:
    """A table that never cuts a number: columns that have no room follow in a further table with
    the same labels.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        one = self.table
        names = self.table.columns
        width = options.max_width
        texts = [[_told(cell, one, k) for k, cell in enumerate(row)] for row in one.rows[:ROWS]]
        numeric = [
            k >= one.labels and all(words.is_number(row[k]) for row in texts)
            for k in range(len(names))
        ]
        longest = [max([len(names[k]), *(len(row[k]) for row in texts)]) for k in range(len(names))]
        words_of = ([part for row in texts for part in row[k].split()] for k in range(len(names)))
        least = [
            size if number else min(size, max(LEAST, min(max(map(len, parts), default=0), WORD)))
            for size, number, parts in zip(longest, numeric, words_of, strict=True)
        ]
        if one.caption:
            yield UnbrokenText(f"\n{words.clean(one.caption)}", style="italic")
        for columns in _packed(least, one.labels, width):
            grid = Grid(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
            for k in columns:
                room = max(LABEL, width // 3) if k < one.labels else max(TEXT, width // 2)
                most = None if numeric[k] else min(longest[k], room)
                grid.add_column(
                    UnbrokenText(names[k]),
                    justify="right" if numeric[k] else "left",
                    no_wrap=numeric[k],
                    overflow="fold",
                    min_width=least[k],
                    max_width=most,
                )
            before = ""
            for row, told in zip(one.rows, texts, strict=False):
                shown = [
                    "" if one.labels > 1 and k == 0 and text == before else text
                    for k, text in enumerate(told)
                ]
                grid.add_row(
                    *(
                        UnbrokenText(shown[k], style="bold" if words.is_bold(row[k]) else "")
                        for k in columns
                    )
                )
                before = told[0]
            yield grid
        more = len(one.rows) - ROWS
        yield from (
            [UnbrokenText(f"… and {more} more in the report", style="dim")] if more > 0 else []
        )
        yield from [UnbrokenText(words.clean(one.note), style="dim")] if one.note else []


def _told(cell: Content, one: Table, k: int) -> str:
    text = words.content(cell, one.scale)
    notes = words.notes(cell)
    text = words.shorten(text, 2 * LABEL if k < one.labels else 3 * TEXT)
    beside = notes if notes.startswith("[") else f"({words.shorten(notes, 3 * TEXT)})"
    return f"{text} {beside}".strip() if notes else text


def _packed(least: Sequence[int], labels: int, width: int) -> Iterator[list[int]]:
    """Columns in tables that fit: the labels, and as many others as have room, at least one."""
    left = list(range(labels))
    chosen = list(left)
    used = sum(least[k] + 1 for k in left)
    for k in range(labels, len(least)):
        if len(chosen) > labels and used + least[k] > width:
            yield chosen
            chosen = list(left)
            used = sum(least[j] + 1 for j in left)
        chosen.append(k)
        used += least[k] + 1
    yield chosen
