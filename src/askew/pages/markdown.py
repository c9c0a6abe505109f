"""A page as Markdown, for a pull request or a model card: the answer, its tables, and folds where they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from askew.pages import words
from askew.pages.blocks import (
    Beside,
    Block,
    Code,
    Content,
    Fold,
    Lines,
    Page,
    Pictures,
    Scatter,
    Section,
    Table,
    Terms,
    Text,
)  # fmt: skip
from askew.pages.tables import as_table, flat_heads

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&])")


def text(page: Page) -> str:
    """The sections that a screen shows. Pictures stay with the page: most places that read Markdown take none."""
    parts = [f"## {escaped(page.title)}", f"**{escaped(page.answer)}**", escaped(page.detail)]
    parts.append(" · ".join(f"{escaped(name)}: {escaped(value)}" for name, value in page.facts))
    parts += [f"> **Warning:** {escaped(one)}" for one in page.warnings]
    for section in page.sections:
        parts += _section(section, 3) if section.screen else ()
    made = f"Made by askew {page.version}: {page.kicker}" if page.version else page.kicker
    parts += [f"<sub>{escaped(one)}</sub>" for one in (*page.notes, made)]
    return "\n\n".join(filter(None, parts)) + "\n"


def escaped(said: str) -> str:
    """Text on one line in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(words.clean(said).split())).replace("@", "@\u200b")


def _section(one: Section, level: int) -> Iterator[str]:
    found = list(_blocks(one.blocks, level + 1))
    if found:
        yield f"{'#' * min(level, 6)} {escaped(one.title)}"
        yield from found


def _blocks(blocks: Sequence[Block], level: int) -> Iterator[str]:
    for one in blocks:
        match one:
            case Section():
                yield from _section(one, level) if one.screen else ()
            case Beside():
                yield from _blocks(one.blocks, level)
            case Fold():
                yield from _fold(one.summary, list(_blocks(one.blocks, level)))
            case Lines():
                table = as_table(one)
                yield from _fold(one.caption, [_table(table)] if table else [])
            case Text():
                yield _text(one)
            case Code():
                fence = "`" * (3 + max(map(len, re.findall("`+", one.text)), default=0))
                yield f"{fence}\n{words.clean(one.text)}\n{fence}"
            case Terms():
                yield "\n".join(f"- **{escaped(name)}** {escaped(meaning)}" for name, meaning in one.terms)
            case Scatter():
                yield f"{escaped(one.caption)}: {escaped(one.said)}"
            case Pictures():
                pass
            case _:
                table = as_table(one)
                yield from [_table(table)] if table else []


def _fold(summary: str, inside: Sequence[str]) -> Iterator[str]:
    if inside:
        yield "\n\n".join([f"<details><summary>{escaped(summary)}</summary>", *inside, "</details>"])


def _text(one: Text) -> str:
    lead = f"**{escaped(one.lead)}** " if one.lead else ""
    items = (_text(item) if isinstance(item, Text) else escaped(item) for item in one.items)
    return "\n".join(filter(None, (lead + escaped(one.text), *(f"- {item}" for item in items))))


def _table(one: Table) -> str:
    rows = [[_cell(cell, one) for cell in row] for row in one.rows]
    texts = [[words.content(row[k], one.scale) for row in one.rows] for k in range(len(one.columns))]
    rule = ["---:" if k >= one.labels and all(map(words.is_number, found)) else "---" for k, found in enumerate(texts)]
    lines = [map(escaped, flat_heads(one)), rule, *rows]
    made = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join(filter(None, (escaped(one.caption), made, escaped(one.note))))


def _cell(cell: Content, one: Table) -> str:
    notes, said = words.notes(cell), escaped(words.content(cell, one.scale))
    told = f"**{said}**" if said and words.strong(cell) else said
    return f"{told} ({escaped(notes)})" if notes else told
