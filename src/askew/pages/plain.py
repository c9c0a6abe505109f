"""Blocks as texts and tables, for where nothing can be drawn: terminals, Markdown, and numbers behind a plot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch

from askew.pages import words
from askew.pages.blocks import (
    Beside,
    Block,
    Cell,
    Code,
    Content,
    Effect,
    Fold,
    Lane,
    Lanes,
    Lines,
    Matrix,
    Network,
    Scatter,
    Section,
    Shares,
    Table,
    Terms,
    Text,
)
from askew.types import Estimate

EFFECTS: dict[Effect, str] = {"better": "helps", "worse": "harms", "changed": "unsettled"}


def plain(blocks: Iterable[Block]) -> Iterator[Section | Fold | Text | Code | Table]:
    """What a screen shows of blocks, in their order: pictures are left out, lines are the numbers behind them."""
    for one in blocks:
        match one:
            case Section():
                inner = tuple(plain(one.blocks)) if one.screen else ()
                yield from [Section(one.title, inner)] if inner else []
            case Fold():
                inner = tuple(plain(one.blocks))
                yield from [Fold(one.summary, inner)] if inner else []
            case Beside():
                yield from plain(one.blocks)
            case Text() | Code():
                yield one
            case Terms():
                yield Text(items=tuple(Text(meaning, f"{name}:") for name, meaning in one.terms))
            case Scatter():
                yield Text(one.said, f"{one.caption}.")
            case _:
                table = as_table(one)
                found = Fold(one.caption, (table,)) if table and isinstance(one, Lines) else table
                yield from [found] if found else []


@singledispatch
def as_table(one: Block) -> Table | None:
    """What a block says, in rows and columns; None for blocks that are no plot of scores."""
    return None


@as_table.register
def _(one: Table) -> Table | None:
    return one


@as_table.register
def _(one: Shares) -> Table | None:
    grouped = any(bar.group for bar in one.bars)
    rows: list[tuple[Content, ...]] = []
    for bar in one.bars:
        lead = words.leading(bar)
        known = sorted((p for p in bar.parts if isinstance(p.share, Estimate)), key=lambda p: -words.mark(p.share))  # type: ignore[arg-type]
        seen = (words.measured(p.share, "share") if p is lead else words.written(p.share.value, "share")  # type: ignore[union-attr]
                for p in known)  # fmt: skip
        told = ", ".join(f"{p.value} {text}" for p, text in zip(known, seen, strict=True))
        lost = sum(bar.missing.values())
        read = Cell(bar.n, f"{lost} not read" if lost else "")
        labels = (bar.group, bar.label) if grouped else (bar.label,)
        rows.append(
            (*labels, Cell(told or words.bar_note(bar), strong=bar.strong), read, Cell(bar.verdict, strong=bar.strong))
        )
    heads = (one.heading, "") if grouped else (one.heading,)
    return Table(one.caption, (*heads, "seen", "pictures", "found"), tuple(rows), labels=len(heads))


@as_table.register
def _(one: Lanes) -> Table | None:
    grouped = any(row.group for row in one.rows)
    marks = tuple(dict.fromkeys(m.name for row in one.rows for m in row.marks))
    rows = tuple(_lane(one, row, marks, grouped=grouped) for row in one.rows)
    labels = (one.heading, "") if grouped else (one.heading,)
    return Table(one.caption, (*labels, *heads(one), *marks), rows, labels=len(labels), scale=one.scale)


def flat_heads(one: Table) -> tuple[str, ...]:
    """The names of columns with those of their groups, for where there is one row of them."""
    groups = [name for name, count in one.groups for _ in range(count)]
    above = [""] * one.labels + groups + [""] * len(one.columns)
    return tuple(f"{group} {name}".strip() for group, name in zip(above, one.columns, strict=False))


def heads(one: Lanes) -> tuple[str, ...]:
    """What stands above the numbers of a plot."""
    return (*(words.head(column, one.name, one.chance[0]) for column in one.columns), *one.more)


def _lane(one: Lanes, row: Lane, marks: tuple[str, ...], *, grouped: bool) -> tuple[Content, ...]:
    at = {m.name: words.written(m.at, one.scale, one.digits) for m in row.marks}
    numbers = [words.part(row.score, column, one.scale, one.digits) for column in one.columns]
    notes = "; ".join(filter(None, (row.note, words.absence(row.score))))
    label = (row.group, Cell(row.label, notes)) if grouped else (Cell(row.label, notes),)
    return (
        *label,
        *(Cell(text, strong=words.is_strong(row)) for text in numbers),
        *row.more,
        *(at.get(name, "") for name in marks),
    )


@as_table.register
def _(one: Lines) -> Table | None:
    with_null = [any(isinstance(e, Estimate) and e.null is not None for e in line.points) for line in one.lines]
    columns: list[str] = [one.heading]
    for line, null in zip(one.lines, with_null, strict=True):
        columns += [line.name, *(["chance"] if null else [])]
    rows: list[tuple[Content, ...]] = []
    for k, step in enumerate(one.steps):
        cells: list[Content] = []
        for line, null in zip(one.lines, with_null, strict=True):
            e = line.points[k]
            text = words.measured(e, one.scale, one.digits)
            cells += [Cell(text, words.absence(e), strong=words.beyond_chance(e)),
                      *([words.part(e, "null", one.scale, one.digits)] if null else [])]  # fmt: skip
        rows.append((step, *cells))
    levels = "; ".join(f"{name} {words.written(value, one.scale, one.digits)}" for name, value in one.levels)
    return Table(one.caption, tuple(columns), tuple(rows), note=levels)


@as_table.register
def _(one: Matrix) -> Table | None:
    return Table(one.caption, (one.corner, *one.columns), tuple((label, *cells) for label, cells in one.rows),
                 scale=one.scale, note=one.note)  # fmt: skip


@as_table.register
def _(one: Network) -> Table | None:
    rows = tuple(
        (words.capital(e.source), e.target, Cell(words.signed(e.score.value), strong=e.effect != "changed"),
         words.interval(e.score, "signed"), *e.more, EFFECTS[e.effect])
        for e in sorted(one.edges, key=lambda e: -abs(e.score.value))
    )  # fmt: skip
    return Table(one.caption, (*one.ends, one.name, "interval", *one.more, ""), rows, labels=2)
