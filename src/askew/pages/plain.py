"""Blocks as texts and tables, for where nothing can be drawn: Markdown, terminals, and numbers
behind a plot.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import singledispatch

from askew.pages import blocks, words
from askew.pages.blocks import (
    Block,
    CodeBlock,
    Content,
    Details,
    Effect,
    IntervalChart,
    LineChart,
    Page,
    Paragraph,
    Section,
    Table,
    TableCell,
)
from askew.types import Estimate

EFFECTS: dict[Effect, str] = {"better": "helps", "worse": "harms", "changed": "unsettled"}
ENDS = ("Making equal", "moves")
SENSITIVITY = "IS"
"""Of a network: what the source and the target of an edge are called, and its score."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&])")


def plain(found: Iterable[Block]) -> Iterator[Section | Details | Paragraph | CodeBlock | Table]:
    """What a screen shows of blocks, in their order: pictures are left out, lines are the numbers
    behind them.
    """
    for one in found:
        match one:
            case Section() | Details():
                kept = replace(
                    one, blocks=plain(one.blocks) if one.screen or isinstance(one, Details) else ()
                )
                yield from [kept] if kept.blocks else []
            case Paragraph() | CodeBlock():
                yield one
            case blocks.DefinitionList():
                yield Paragraph(
                    items=tuple(Paragraph(meaning, f"{name}:") for name, meaning in one.terms)
                )
            case blocks.Scatter():
                yield Paragraph(one.said, f"{one.caption}.")
            case _:
                table = as_table(one)
                if table is not None:
                    yield Details(one.caption, (table,)) if isinstance(one, LineChart) else table


@singledispatch
def as_table(one: Block) -> Table | None:
    """What a block says, in rows and columns; None for blocks that are no plot of scores."""
    return one if isinstance(one, Table) else None


@as_table.register
def _(one: blocks.ShareBars) -> Table | None:
    grouped = any(bar.group for bar in one.bars)
    references = any(p.reference is not None for b in one.bars for p in b.parts)
    heads = (one.heading, "") if grouped else (one.heading,)
    rows = []
    for bar in one.bars:
        lead = words.leading(bar)
        lost = sum(bar.missing.values())
        known = [
            (p, p.share)
            for p in bar.parts
            if isinstance(p.share, Estimate) and (p.share.value or p is lead)
        ]
        told = ", ".join(
            f"{p.value} {words.measured(share, 'share') if p is lead else words.percent(share.value)}"
            for p, share in sorted(known, key=lambda item: -item[1].value)
        )
        reference = (
            (words.percent(lead.reference) if lead and lead.reference is not None else None,)
            if references
            else ()
        )
        seen, found = (
            TableCell(text, strong=bar.strong)
            for text in (told or words.bar_note(bar), bar.verdict)
        )
        label = (bar.group, bar.label) if grouped else (bar.label,)
        rows.append(
            (*label, seen, *reference, TableCell(bar.n, f"{lost} not read" if lost else ""), found)
        )
    columns = (*heads, "seen", *(("reference",) if references else ()), "pictures", "found")
    return Table(one.caption, columns, tuple(rows), labels=len(heads))


@as_table.register
def _(one: IntervalChart) -> Table | None:
    grouped = any(row.group for row in one.rows)
    at = [{m.name: words.format_value(m.at, one.scale) for m in row.marks} for row in one.rows]
    marks = {
        name: {own.get(name, "") for own in at}
        for own in at
        for name in own
        if name not in one.more
    }
    alike = [name for name, found in marks.items() if len(found) == 1 and len(at) > 1]
    apart = [name for name in marks if name not in alike]
    rows = []
    for row, own in zip(one.rows, at, strict=True):
        notes = "; ".join(filter(None, (row.note, words.absence(row.score))))
        label = (*((row.group,) if grouped else ()), TableCell(row.label, notes))
        texts = (words.part(row.score, column, one.scale) for column in one.columns)
        scores = (TableCell(text, strong=words.is_bold(row)) for text in texts)
        rows.append((*label, *scores, *row.more, *(own.get(name, "") for name in apart)))
    labels = (one.heading, "") if grouped else (one.heading,)
    note = "; ".join(f"{name}: {at[0][name]}" for name in alike)
    columns = (*labels, *heads(one), *apart)
    return Table(one.caption, columns, tuple(rows), labels=len(labels), scale=one.scale, note=note)


def heads(one: IntervalChart) -> tuple[str, ...]:
    """What stands above the numbers of a plot."""
    named = {"value": one.name, "mark": one.name, "null": one.chance[0]}
    return (*(named.get(column, column) for column in one.columns), *one.more)


@as_table.register
def _(one: LineChart) -> Table | None:
    names = [one.heading]
    columns = [list[Content](one.steps)]
    for line in one.lines:
        names.append(line.name)
        cells = (
            TableCell(words.measured(e, one.scale), words.absence(e), words.has_significant_q(e))
            for e in line.points
        )
        columns.append([*cells])
        if any(isinstance(e, Estimate) and e.null is not None for e in line.points):
            names.append("chance")
            columns.append([words.part(e, "null", one.scale) for e in line.points])
    levels = "; ".join(
        f"{name} {words.format_value(value, one.scale)}" for name, value in one.levels
    )
    return Table(one.caption, tuple(names), tuple(zip(*columns, strict=True)), note=levels)


@as_table.register
def _(one: blocks.GraphDiagram) -> Table | None:
    if not one.edges:
        return None
    rows = tuple(
        (
            words.capital(e.source),
            e.target,
            TableCell(words.signed(e.score.value), strong=e.effect != "changed"),
            words.interval(e.score, "signed"),
            *e.more,
            EFFECTS[e.effect],
        )
        for e in one.strongest
    )
    return Table(one.caption, (*ENDS, SENSITIVITY, "interval", *one.more, ""), rows, labels=2)


def markdown(page: Page) -> str:
    """A page as Markdown, for a pull request or a model card: the answer, its tables, and folds
    where they are.
    """
    parts = [f"## {escaped(page.title)}", f"**{escaped(page.answer)}**", escaped(page.detail)]
    parts.append(" · ".join(f"{escaped(name)}: {escaped(value)}" for name, value in page.facts))
    parts += [f"> **Warning:** {escaped(one)}" for one in page.warnings]
    parts += _blocks(page.sections, 3)
    made = f"Made by askew {page.version}: {page.kicker}" if page.version else page.kicker
    parts += [f"<sub>{escaped(one)}</sub>" for one in (*page.notes, made)]
    return "\n\n".join(filter(None, parts)) + "\n"


def escaped(said: str) -> str:
    """Text on one line in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(words.clean(said).split())).replace("@", "@\u200b")


def _block(one: Section | Details | Paragraph | CodeBlock | Table, level: int) -> str:
    match one:
        case Section():
            return "\n\n".join(
                [f"{'#' * min(level, 6)} {escaped(one.title)}", *_blocks(one.blocks, level + 1)]
            )
        case Details():
            summary = f"<details><summary>{escaped(one.summary)}</summary>"
            return "\n\n".join([summary, *_blocks(one.blocks, level), "</details>"])
        case Paragraph():
            return _text(one)
        case CodeBlock():
            fence = "`" * (3 + max(map(len, re.findall("`+", one.text)), default=0))
            return f"{fence}\n{words.clean(one.text)}\n{fence}"
        case Table():
            return _table(one)


def _blocks(blocks: Iterable[Block], level: int) -> list[str]:
    return [_block(one, level) for one in plain(blocks)]


def _text(one: Paragraph) -> str:
    lead = f"**{escaped(one.lead)}** " if one.lead else ""
    items = (_text(item) if isinstance(item, Paragraph) else escaped(item) for item in one.items)
    return "\n".join(filter(None, (lead + escaped(one.text), *(f"- {item}" for item in items))))


def _table(one: Table) -> str:

    def cell(found: Content) -> str:
        notes = words.notes(found)
        said = escaped(words.content(found, one.scale))
        told = f"**{said}**" if said and words.is_bold(found) else said
        return f"{told} ({escaped(notes)})" if notes else told

    texts = [
        [words.content(row[k], one.scale) for row in one.rows] for k in range(len(one.columns))
    ]
    rule = [
        "---:" if k >= one.labels and all(map(words.is_number, found)) else "---"
        for k, found in enumerate(texts)
    ]
    lines = [map(escaped, one.columns), rule, *(map(cell, row) for row in one.rows)]
    made = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join(filter(None, (escaped(one.caption), made, escaped(one.note))))
