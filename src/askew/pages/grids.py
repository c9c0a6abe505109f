"""Blocks of cells, as HTML: tables and pictures. What is wider than the page scrolls in a region of its own."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import Cell, Content, PictureRow, Pictures, Shot, Table
from askew.pages.elements import NOTHING, Axis, axis, bdi, joined, key, legend, note, reach, region, tag
from askew.types import Estimate

LONG, SHADES = 26, 5
"""Letters from which a column of a table breaks lines, and shades to either side of zero."""


def table(one: Table) -> Markup:
    """Numbers at the right, texts at the left and never narrower than a few words; or shaded cells."""
    texts = [[words.content(cell, one.scale) for cell in row] for row in one.rows]
    columns = ([row[k] for row in texts] for k in range(len(one.columns)))
    kinds = [None if k < one.labels or one.shaded else "num" if all(map(words.is_number, column))
             else "texts" if max(map(len, column)) > LONG else "short" for k, column in enumerate(columns)]  # fmt: skip
    names = (tag("th", bdi(name), scope="col", class_=kind) for name, kind in zip(one.columns, kinds, strict=True))
    on = axis(one.scale, [v for row in one.rows for cell in row for v in reach(_score(cell))])
    rows, before = [], None
    for row, told in zip(one.rows, texts, strict=True):
        cells = [_shaded(on, one, k, row) if one.shaded and k else _cell(*found)
                 for k, found in enumerate(zip(row, told, kinds, strict=True))]  # fmt: skip
        if one.labels > 1 and told[0] == before:
            cells[0] = tag("th", tag("span", bdi(told[0]), class_="hidden"), scope="row")
        rows.append(tag("tr", *cells))
        before = told[0]
    parts = (tag("caption", one.caption) if one.caption else None, tag("thead", tag("tr", *names)), tag("tbody", *rows))
    made = tag("table", *parts, class_="matrix" if one.shaded else "lists")
    return region(one.caption or "Table", made) + (tag("p", one.note, class_="note") if one.note else NOTHING)


def _cell(content: Content, text: str, kind: str | None) -> Markup:
    """A cell; one of no kind is the label of its row."""
    several = isinstance(content, tuple) and len(content) > 1
    told = joined(tag("span", bdi(str(one)), class_="item") for one in content) if several else bdi(text)  # type: ignore[union-attr]
    small = note(words.notes(content))
    strong = "strong" if words.strong(content) else ""
    if kind is None:
        return tag("th", told, small, scope="row", class_=strong or None)
    return tag("td", told, small, class_=f"{kind} {strong}".strip())


def _score(content: Content) -> Content:
    return content.value if isinstance(content, Cell) else content


def _shaded(on: Axis, one: Table, k: int, row: Sequence[Content]) -> Markup:
    """A score or a count in the shade of its value, of a count of its share of the row; its interval or note below."""
    content, score = row[k], _score(row[k])
    text, small, level = words.content(score, one.scale), "", None
    if isinstance(score, Estimate):
        text, small, level = (
            words.written(score.value, one.scale),
            words.interval(score, one.scale),
            score.mark / on.high,
        )
    elif isinstance(score, int):
        level = score / (sum(n for n in map(_score, row) if isinstance(n, int)) or 1)
    if isinstance(content, Cell):
        small, level = content.note or small, level if content.level is None else content.level
    steps = round(SHADES * min(abs(level or 0.0), 1.0))
    shade = f"{'up' if (level or 0) > 0 else 'down'}-{steps}" if steps else ""
    own = "own" if one.diagonal and words.content(row[0]) == one.columns[k] else ""
    kind = " ".join(filter(None, ("strong" if words.strong(content) else "", own, shade)))
    return tag("td", tag("span", text, class_="value"), note(small), class_=kind or None)


def pictures(one: Pictures) -> Markup:
    """Rows of pictures: grids of their own, or under each other cell by cell."""
    caption = tag("figcaption", one.caption) if one.caption else None
    keys = legend([(f"swatch {kind}", text) for kind, text in one.keys])
    if not one.aligned:
        return tag("figure", caption, keys, *(_row(row, one.size) for row in one.rows))
    names = (tag("th", bdi(name), scope="col") for name in one.heads)
    head = tag("thead", tag("tr", tag("td"), *names)) if one.heads else None
    made = tag("table", head, tag("tbody", *map(_aligned, one.rows)), class_=f"aligned {one.size}")
    return tag("figure", caption, keys, region(one.caption or "Pictures", made))


def _row(row: PictureRow, size: str) -> Markup:
    label = tag("p", key(row.series), tag("strong", bdi(row.label)), " ", note(row.note), class_="label")
    shots = tag("div", *map(_shot, row.shots), class_=f"cells {size}", role="group", aria_label=row.label or None)
    return tag("div", label if row.label or row.note else None, shots, class_="row")


def _aligned(row: PictureRow) -> Markup:
    label = tag("th", key(row.series), bdi(row.label), " ", note(row.note), scope="row")
    return tag("tr", label, *(tag("td", _shot(shot)) for shot in row.shots))


def _shot(one: Shot) -> Markup:
    empty = tag("span", class_="empty", role="img", aria_label=f"{one.alt} is missing")
    picture = tag("img", src=one.uri, alt=one.alt, loading="lazy", decoding="async") if one.uri else empty
    return tag("figure", picture, tag("figcaption", bdi(one.caption))) if one.caption else picture
