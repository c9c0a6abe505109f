"""A page as one HTML file that needs nothing else and runs nothing: no script, no inline style,
nothing fetched.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import count

from markupsafe import Markup

from askew.pages import blocks, charts, plots, words
from askew.pages.blocks import (
    Block,
    Content,
    DefinitionList,
    Details,
    Page,
    Paragraph,
    PictureGrid,
    PictureRow,
    Section,
    Table,
    TableCell,
    Thumbnail,
)
from askew.pages.elements import (
    NOTHING,
    Ids,
    LinearScale,
    axis,
    bdi,
    figure,
    joined,
    key,
    legend,
    note,
    reach,
    region,
    tag,
)
from askew.pages.plain import as_table
from askew.types import Estimate

LONG_TITLE = 60
LONG = 26
SHADES = 5
"""Letters from which a column of a table breaks lines, and shades to either side of zero."""


def page(one: Page) -> str:
    """The whole file. Its style is allowed by its hash, nothing else is."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"askew {one.version}".strip()),
        tag("title", f"askew: {words.shorten(one.title, 100)}"),
        tag("style", Markup(_style())),
    )
    body = tag("body", tag("main", *_document(one, one.sections, "")), class_="askew whole")
    return words.clean(f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n")


def fragment(one: Page) -> str:
    """The sections that a screen shows, for a notebook; its style holds inside it alone."""
    prefix = hashlib.sha256(repr((one.title, one.answer, one.facts)).encode()).hexdigest()[:8]
    shown = tuple(section for section in one.sections if section.screen)
    style = tag("style", Markup(_style()))
    return words.clean(tag("div", style, *_document(one, shown, f"{prefix}-"), class_="askew part"))


@cache
def _style() -> str:
    return resources.files("askew.pages").joinpath("style.css").read_text(encoding="utf-8")


def _document(one: Page, sections: Sequence[Section], prefix: str) -> Iterator[Markup]:
    ids = _ids(sections, prefix)
    title = "Warning" if len(one.warnings) == 1 else f"{len(one.warnings)} warnings"
    items = tag("ul", *(tag("li", warning) for warning in one.warnings))
    yield tag(
        "header",
        tag("p", bdi(one.kicker), class_="kicker"),
        tag("h1", bdi(one.title), class_="long" if len(one.title) > LONG_TITLE else None),
        tag("p", one.answer, class_="answer"),
        tag("p", one.detail, class_="detail") if one.detail else None,
        _facts(one.facts),
        tag("div", tag("strong", title), items, class_="warnings", role="note")
        if one.warnings
        else None,
    )
    links = (tag("a", section.title, href=f"#{ids[section.name]}") for section in sections)
    yield tag("nav", *links, aria_label="Contents") if len(sections) > 1 else NOTHING
    yield joined(block(section, ids) for section in sections)
    made = f"Made by askew {one.version}." if one.version else ""
    yield tag("footer", *(tag("p", note) for note in (*one.notes, made) if note))


def _anchors(found: Iterable[Block]) -> Iterator[str]:
    for one in found:
        if isinstance(one, Section | Details):
            name = one.name if isinstance(one, Section) else one.anchor
            if name:
                yield name
            yield from _anchors(one.blocks)


def _ids(sections: Sequence[Section], prefix: str) -> dict[str, str]:
    """Readable ids, each used once."""
    found: dict[str, str] = {}
    for anchor in _anchors(sections):
        stem = prefix + (re.sub(r"[^a-z0-9]+", "-", anchor.lower()).strip("-")[:60] or "section")
        names = (f"{stem}-{k}" if k > 1 else stem for k in count(1))
        found.setdefault(anchor, next(name for name in names if name not in found.values()))
    return found


def block(one: Block, ids: Ids, level: int = 2) -> Markup:
    """A block as HTML. `level` is that of headings in it."""
    match one:
        case Section():
            name = ids[one.name]
            link = tag(
                "a", "#", class_="anchor", href=f"#{name}", aria_label="Link to this section"
            )
            heading = tag(f"h{min(level, 6)}", bdi(one.title), link, id=name)
            return tag("section", heading, *(block(inner, ids, level + 1) for inner in one.blocks))
        case Details():
            return _fold(one, ids, level)
        case Paragraph():
            told = (
                tag("p", _led(one), class_="note" if one.muted else None)
                if one.lead or one.text
                else None
            )
            items = (tag("li", item if isinstance(item, str) else _led(item)) for item in one.items)
            return tag("div", told, tag("ul", *items) if one.items else None, class_="prose")
        case blocks.CodeBlock():
            return tag("pre", one.text, tabindex=0)
        case DefinitionList(facts=True):
            return _facts(one.terms)
        case DefinitionList():
            return tag(
                "dl",
                *(tag("dt", name) + tag("dd", meaning) for name, meaning in one.terms),
                class_="terms",
            )
        case blocks.ShareBars():
            return plots.shares(one, ids)
        case blocks.IntervalChart():
            return plots.lanes(one, ids)
        case blocks.LineChart():
            numbers = Details("The numbers", tuple(filter(None, [as_table(one)])))
            return charts.lines(one) + _fold(numbers, ids, level, class_="numbers")
        case blocks.Scatter():
            return charts.scatter(one)
        case blocks.GraphDiagram():
            return charts.network(one)
        case blocks.Table():
            return table(one)
        case blocks.PictureGrid():
            return pictures(one)


def _fold(one: Details, ids: Ids, level: int, class_: str | None = None) -> Markup:
    inside = (block(inner, ids, level + 1) for inner in one.blocks)
    summary = tag("summary", bdi(one.summary), " ")
    return tag(
        "details", summary, *inside, id=ids.get(one.anchor or ""), open=one.open, class_=class_
    )


def _led(one: Paragraph) -> Markup:
    return joined(
        [tag("strong", one.lead) if one.lead else None, " " if one.lead else None, one.text]
    )


def _facts(found: Sequence[tuple[str, str]]) -> Markup:
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", bdi(value))) for name, value in found),
        class_="facts",
    )


def table(one: Table) -> Markup:
    """Numbers at the right, texts at the left and never narrower than a few words; or shaded cells."""
    texts = [[words.content(cell, one.scale) for cell in row] for row in one.rows]
    columns = ([row[k] for row in texts] for k in range(len(one.columns)))
    kinds = [
        None
        if k < one.labels or one.shaded
        else "num"
        if all(map(words.is_number, column))
        else "texts"
        if max(map(len, column)) > LONG
        else "short"
        for k, column in enumerate(columns)
    ]
    names = (
        tag("th", bdi(name), scope="col", class_=kind)
        for name, kind in zip(one.columns, kinds, strict=True)
    )
    on = axis(
        one.scale, [v for row in one.rows for cell in row for v in reach(words.score_in(cell))]
    )
    rows = []
    before = None
    for row, told in zip(one.rows, texts, strict=True):
        cells = [
            _shaded(on, one, k, row) if one.shaded and k else _cell(*found)
            for k, found in enumerate(zip(row, told, kinds, strict=True))
        ]
        if one.labels > 1 and told[0] == before:
            cells[0] = tag("th", tag("span", bdi(told[0]), class_="hidden"), scope="row")
        rows.append(tag("tr", *cells))
        before = told[0]
    parts = (
        tag("caption", one.caption) if one.caption else None,
        tag("thead", tag("tr", *names)),
        tag("tbody", *rows),
    )
    made = tag("table", *parts, class_="matrix" if one.shaded else "lists")
    return region(one.caption or "Table", made) + (
        tag("p", one.note, class_="note") if one.note else NOTHING
    )


def _cell(content: Content, text: str, kind: str | None) -> Markup:
    """A cell; one of no kind is the label of its row."""
    several = isinstance(content, tuple) and len(content) > 1
    told = bdi(text)
    if isinstance(content, tuple) and several:
        told = joined(tag("span", bdi(str(item)), class_="item") for item in content)
    small = note(words.notes(content))
    strong = "strong" if words.is_bold(content) else ""
    if kind is None:
        return tag("th", told, small, scope="row", class_=strong or None)
    return tag("td", told, small, class_=f"{kind} {strong}".strip())


def _shaded(on: LinearScale, one: Table, k: int, row: Sequence[Content]) -> Markup:
    """A score or a count in the shade of its value, of a count of its share of the row; its
    interval or note below.
    """
    content = row[k]
    small = ""
    level = 0.0
    score = content.value if isinstance(content, TableCell) else content
    text = words.content(score, one.scale)
    if isinstance(score, Estimate):
        text = words.format_value(score.value, one.scale)
        small = words.interval(score, one.scale)
        level = score.mark / on.high
    elif isinstance(score, int):
        counts = (c.value if isinstance(c, TableCell) else c for c in row)
        level = score / (sum(n for n in counts if isinstance(n, int)) or 1)
    if isinstance(content, TableCell):
        small = content.note or small
        level = level if content.level is None else content.level
    steps = round(SHADES * min(abs(level), 1.0))
    shade = f"{'up' if level > 0 else 'down'}-{steps}" if steps else ""
    own = "own" if one.diagonal and words.content(row[0]) == one.columns[k] else ""
    kind = " ".join(filter(None, ("strong" if words.is_bold(content) else "", own, shade)))
    return tag("td", tag("span", text, class_="value"), note(small), class_=kind)


def pictures(one: PictureGrid) -> Markup:
    """Rows of pictures: grids of their own, or under each other cell by cell."""
    keys = legend([(f"swatch {kind}", text) for kind, text in one.keys])
    if not one.aligned:
        return figure(one.caption, keys, *(_row(row, one.size) for row in one.rows))
    names = (tag("th", bdi(name), scope="col") for name in one.heads)
    head = tag("thead", tag("tr", tag("td"), *names)) if one.heads else None
    rows = (
        tag(
            "tr",
            tag("th", key(row.series), bdi(row.label), " ", note(row.note), scope="row"),
            *(tag("td", _shot(shot)) for shot in row.shots),
        )
        for row in one.rows
    )
    made = tag("table", head, tag("tbody", *rows), class_=f"aligned {one.size}")
    return figure(one.caption, keys, region(one.caption or "Pictures", made))


def _row(row: PictureRow, size: str) -> Markup:
    label = tag(
        "p", key(row.series), tag("strong", bdi(row.label)), " ", note(row.note), class_="label"
    )
    shots = tag(
        "div", *map(_shot, row.shots), class_=f"cells {size}", role="group", aria_label=row.label
    )
    return tag("div", label if row.label or row.note else None, shots, class_="row")


def _shot(one: Thumbnail) -> Markup:
    empty = tag("span", class_="empty", role="img", aria_label=f"{one.alt} is missing")
    picture = (
        tag("img", src=one.uri, alt=one.alt, loading="lazy", decoding="async") if one.uri else empty
    )
    return tag("figure", picture, tag("figcaption", bdi(one.caption))) if one.caption else picture
