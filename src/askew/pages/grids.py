"""Blocks of cells, as HTML: tables, matrices, pictures. What is wider than the page scrolls in a region of its own."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import Cell, Content, Matrix, PictureRow, Pictures, Shot, Table
from askew.pages.elements import NOTHING, Axis, axis, bdi, joined, key, legend, note, reach, region, tag
from askew.types import Estimate

LONG, SHADES = 26, 5
"""Letters from which a column of a table breaks lines, and shades to either side of zero."""


def table(one: Table) -> Markup:
    """Numbers at the right, texts at the left and never narrower than a few words."""
    texts = [[words.content(cell, one.scale) for cell in row] for row in one.rows]
    columns = ([row[k] for row in texts] for k in range(len(one.columns)))
    kinds = [None if k < one.labels else "num" if all(map(words.is_number, column))
             else "texts" if max(map(len, column)) > LONG else "short" for k, column in enumerate(columns)]  # fmt: skip
    names = (tag("th", bdi(name), scope="col", class_=kind) for name, kind in zip(one.columns, kinds, strict=True))
    rows, before = [], None
    for row, told in zip(one.rows, texts, strict=True):
        cells = [_cell(*found) for found in zip(row, told, kinds, strict=True)]
        if one.labels > 1 and told[0] == before:
            cells[0] = tag("th", tag("span", bdi(told[0]), class_="hidden"), scope="row")
        rows.append(tag("tr", *cells))
        before = told[0]
    caption = tag("caption", one.caption) if one.caption else None
    made = tag("table", caption, tag("thead", tag("tr", *names)), tag("tbody", *rows), class_="lists")
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


def matrix(one: Matrix) -> Markup:
    """Cells with numbers, shaded or with a small lane each."""
    found = [cell.value if isinstance(cell, Cell) else cell for _, cells in one.rows for cell in cells]
    on = axis(one.scale, [v for cell in found for v in reach(cell)])
    head = tag("tr", tag("th", one.corner, scope="col"), *(tag("th", bdi(name), scope="col") for name in one.columns))
    rows = []
    for label, cells in one.rows:
        title = tag("th", bdi(label), scope="row")
        rows.append(tag("tr", title, *(_matrix_cell(on, one, k, label, cells) for k in range(len(cells)))))
    inner = (tag("caption", one.caption), tag("thead", head), tag("tbody", *rows))
    made = region(one.caption, tag("table", *inner, class_="matrix"))
    return made + (tag("p", one.note, class_="note") if one.note else NOTHING)


def _matrix_cell(on: Axis, one: Matrix, k: int, label: str, cells: Sequence[Content]) -> Markup:
    content, strong = cells[k], words.strong(cells[k])
    score = content.value if isinstance(content, Cell) else content
    text = words.written(score.value, one.scale) if isinstance(score, Estimate) else words.content(score, one.scale)
    value = tag("span", text, class_="value")
    within = words.interval(score, one.scale) if isinstance(score, Estimate) else ""
    remark = note((content.note if isinstance(content, Cell) else "") or within)
    own = "own" if one.diagonal and label == one.columns[k] else ""
    kind = f"{'strong' if strong else ''} {own} {_shade(on, content, cells)}"
    return tag("td", value, remark, class_=" ".join(kind.split()) or None)


def _shade(on: Axis, content: Content, cells: Sequence[Content]) -> str:
    """The class of a cell's shading: a score by its value, a count by its share of the row."""
    score = content.value if isinstance(content, Cell) else content
    level = content.level if isinstance(content, Cell) else None
    if level is None and isinstance(score, Estimate):
        level = score.mark / (on.high or 1.0)
    if level is None and isinstance(score, int):
        counts = (cell.value if isinstance(cell, Cell) else cell for cell in cells)
        level = score / (sum(one for one in counts if isinstance(one, int)) or 1)
    steps = round(SHADES * min(abs(level or 0.0), 1.0))
    return f"{'up' if (level or 0) > 0 else 'down'}-{steps}" if steps else ""


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
