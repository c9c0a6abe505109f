"""Blocks as texts and tables, for where nothing can be drawn: Markdown, terminals, and numbers behind a plot."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import singledispatch

from askew.pages import blocks, words
from askew.pages.blocks import Block, Cell, Code, Content, Effect, Fold, Lanes, Lines, Page, Section, Table, Text
from askew.types import Estimate

EFFECTS: dict[Effect, str] = {"better": "helps", "worse": "harms", "changed": "unsettled"}
ENDS, SENSITIVITY = ("Making equal", "moves"), "IS"
"""Of a network: what the source and the target of an edge are called, and its score."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&])")


def plain(found: Iterable[Block]) -> Iterator[Section | Fold | Text | Code | Table]:
    """What a screen shows of blocks, in their order: pictures are left out, lines are the numbers behind them."""
    for one in found:
        match one:
            case Section() | Fold():
                kept = replace(one, blocks=plain(one.blocks) if one.screen or isinstance(one, Fold) else ())
                yield from [kept] if kept.blocks else []
            case Text() | Code():
                yield one
            case blocks.Terms():
                yield Text(items=tuple(Text(meaning, f"{name}:") for name, meaning in one.terms))
            case blocks.Scatter():
                yield Text(one.said, f"{one.caption}.")
            case _:
                if (table := as_table(one)) is not None:
                    yield Fold(one.caption, (table,)) if isinstance(one, Lines) else table


@singledispatch
def as_table(one: Block) -> Table | None:
    """What a block says, in rows and columns; None for blocks that are no plot of scores."""
    return one if isinstance(one, Table) else None


@as_table.register
def _(one: blocks.Shares) -> Table | None:
    grouped, ideals = any(bar.group for bar in one.bars), any(p.ideal is not None for b in one.bars for p in b.parts)
    heads = (one.heading, "") if grouped else (one.heading,)
    rows = []
    for bar in one.bars:
        lead, lost = words.leading(bar), sum(bar.missing.values())
        known = [(p, p.share) for p in bar.parts if isinstance(p.share, Estimate) and (p.share.value or p is lead)]
        told = ", ".join(f"{p.value} {words.measured(share, 'share') if p is lead else words.percent(share.value)}"
                         for p, share in sorted(known, key=lambda item: -item[1].value))  # fmt: skip
        ideal = (words.percent(lead.ideal) if lead and lead.ideal is not None else None,) if ideals else ()
        seen, found = (Cell(text, strong=bar.strong) for text in (told or words.bar_note(bar), bar.verdict))
        label = (bar.group, bar.label) if grouped else (bar.label,)
        rows.append((*label, seen, *ideal, Cell(bar.n, f"{lost} not read" if lost else ""), found))
    columns = (*heads, "seen", *(("ideal",) if ideals else ()), "pictures", "found")
    return Table(one.caption, columns, tuple(rows), labels=len(heads))


@as_table.register
def _(one: Lanes) -> Table | None:
    grouped = any(row.group for row in one.rows)
    at = [{m.name: words.written(m.at, one.scale) for m in row.marks} for row in one.rows]
    marks = {name: {own.get(name, "") for own in at} for own in at for name in own if name not in one.more}
    alike = [name for name, found in marks.items() if len(found) == 1 and len(at) > 1]
    apart = [name for name in marks if name not in alike]
    rows = []
    for row, own in zip(one.rows, at, strict=True):
        notes = "; ".join(filter(None, (row.note, words.absence(row.score))))
        label = (*((row.group,) if grouped else ()), Cell(row.label, notes))
        texts = (words.part(row.score, column, one.scale) for column in one.columns)
        scores = (Cell(text, strong=words.strong(row)) for text in texts)
        rows.append((*label, *scores, *row.more, *(own.get(name, "") for name in apart)))
    labels = (one.heading, "") if grouped else (one.heading,)
    note = "; ".join(f"{name}: {at[0][name]}" for name in alike)
    columns = (*labels, *heads(one), *apart)
    return Table(one.caption, columns, tuple(rows), labels=len(labels), scale=one.scale, note=note)


def heads(one: Lanes) -> tuple[str, ...]:
    """What stands above the numbers of a plot."""
    named = {"value": one.name, "mark": one.name, "null": one.chance[0]}
    return (*(named.get(column, column) for column in one.columns), *one.more)


@as_table.register
def _(one: Lines) -> Table | None:
    names, columns = [one.heading], [list[Content](one.steps)]
    for line in one.lines:
        names.append(line.name)
        cells = (Cell(words.measured(e, one.scale), words.absence(e), words.beyond_chance(e)) for e in line.points)
        columns.append([*cells])
        if any(isinstance(e, Estimate) and e.null is not None for e in line.points):
            names.append("chance")
            columns.append([words.part(e, "null", one.scale) for e in line.points])
    levels = "; ".join(f"{name} {words.written(value, one.scale)}" for name, value in one.levels)
    return Table(one.caption, tuple(names), tuple(zip(*columns, strict=True)), note=levels)


@as_table.register
def _(one: blocks.Network) -> Table | None:
    if not one.edges:
        return None
    rows = tuple((words.capital(e.source), e.target, Cell(words.signed(e.score.value), strong=e.effect != "changed"),
                  words.interval(e.score, "signed"), *e.more, EFFECTS[e.effect])
                 for e in one.strongest)  # fmt: skip
    return Table(one.caption, (*ENDS, SENSITIVITY, "interval", *one.more, ""), rows, labels=2)


def markdown(page: Page) -> str:
    """A page as Markdown, for a pull request or a model card: the answer, its tables, and folds where they are."""
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


def _block(one: Section | Fold | Text | Code | Table, level: int) -> str:
    match one:
        case Section():
            return "\n\n".join([f"{'#' * min(level, 6)} {escaped(one.title)}", *_blocks(one.blocks, level + 1)])
        case Fold():
            summary = f"<details><summary>{escaped(one.summary)}</summary>"
            return "\n\n".join([summary, *_blocks(one.blocks, level), "</details>"])
        case Text():
            return _text(one)
        case Code():
            fence = "`" * (3 + max(map(len, re.findall("`+", one.text)), default=0))
            return f"{fence}\n{words.clean(one.text)}\n{fence}"
        case Table():
            return _table(one)


def _blocks(blocks: Iterable[Block], level: int) -> list[str]:
    return [_block(one, level) for one in plain(blocks)]


def _text(one: Text) -> str:
    lead = f"**{escaped(one.lead)}** " if one.lead else ""
    items = (_text(item) if isinstance(item, Text) else escaped(item) for item in one.items)
    return "\n".join(filter(None, (lead + escaped(one.text), *(f"- {item}" for item in items))))


def _table(one: Table) -> str:

    def cell(found: Content) -> str:
        notes, said = words.notes(found), escaped(words.content(found, one.scale))
        told = f"**{said}**" if said and words.strong(found) else said
        return f"{told} ({escaped(notes)})" if notes else told

    texts = [[words.content(row[k], one.scale) for row in one.rows] for k in range(len(one.columns))]
    rule = ["---:" if k >= one.labels and all(map(words.is_number, found)) else "---" for k, found in enumerate(texts)]
    lines = [map(escaped, one.columns), rule, *(map(cell, row) for row in one.rows)]
    made = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join(filter(None, (escaped(one.caption), made, escaped(one.note))))
