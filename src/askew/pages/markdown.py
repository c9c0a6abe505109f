"""A page as Markdown, for a pull request or a model card: the answer, its tables, and folds where they are."""

from __future__ import annotations

import re
from collections.abc import Iterable

from askew.pages import words
from askew.pages.blocks import Block, Code, Content, Fold, Page, Section, Table, Text
from askew.pages.plain import plain

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&])")


def text(page: Page) -> str:
    """The sections that a screen shows. Pictures stay with the page: most places that read Markdown take none."""
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
    rows = [[_cell(cell, one) for cell in row] for row in one.rows]
    texts = [[words.content(row[k], one.scale) for row in one.rows] for k in range(len(one.columns))]
    rule = ["---:" if k >= one.labels and all(map(words.is_number, found)) else "---" for k, found in enumerate(texts)]
    lines = [map(escaped, one.columns), rule, *rows]
    made = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join(filter(None, (escaped(one.caption), made, escaped(one.note))))


def _cell(cell: Content, one: Table) -> str:
    notes, said = words.notes(cell), escaped(words.content(cell, one.scale))
    told = f"**{said}**" if said and words.strong(cell) else said
    return f"{told} ({escaped(notes)})" if notes else told
