"""A page as one HTML file that needs nothing else and runs nothing: no script, no inline style, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources

from markupsafe import Markup

from askew.pages import blocks, grids, plots, words
from askew.pages.blocks import Block, Fold, Page, Section, Terms, Text
from askew.pages.elements import NOTHING, Ids, bdi, joined, tag
from askew.pages.plain import as_table

LONG_TITLE = 60


def page(one: Page) -> str:
    """The whole file. Its style is allowed by its hash, nothing else is."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
    head = tag(
        "head", tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"askew {one.version}".strip()),
        tag("title", f"askew: {words.shorten(one.title, 100)}"), tag("style", Markup(_style())),
    )  # fmt: skip
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
        "header", tag("p", bdi(one.kicker), class_="kicker"),
        tag("h1", bdi(one.title), class_="long" if len(one.title) > LONG_TITLE else None),
        tag("p", one.answer, class_="answer"), tag("p", one.detail, class_="detail") if one.detail else None,
        _facts(one.facts),
        tag("div", tag("strong", title), items, class_="warnings", role="note") if one.warnings else None,
    )  # fmt: skip
    links = (tag("a", section.title, href=f"#{ids[_anchor(section)]}") for section in sections)
    yield tag("nav", *links, aria_label="Contents") if len(sections) > 1 else NOTHING
    yield joined(block(section, ids) for section in sections)
    made = f"Made by askew {one.version}." if one.version else ""
    yield tag("footer", *(tag("p", note) for note in (*one.notes, made) if note))


def _anchor(one: Section) -> str:
    return one.anchor or one.title


def _anchors(found: Iterable[Block]) -> Iterator[str]:
    for one in found:
        if isinstance(one, Section):
            yield _anchor(one)
        elif isinstance(one, Fold) and one.anchor:
            yield one.anchor
        if isinstance(one, Section | Fold | blocks.Beside):
            yield from _anchors(one.blocks)


def _ids(sections: Sequence[Section], prefix: str) -> dict[str, str]:
    """Readable ids, each used once."""
    found: dict[str, str] = {}
    for anchor in _anchors(sections):
        stem = prefix + (re.sub(r"[^a-z0-9]+", "-", anchor.lower()).strip("-")[:60] or "section")
        taken, k, name = set(found.values()), 2, stem
        while name in taken:
            name, k = f"{stem}-{k}", k + 1
        found.setdefault(anchor, name)
    return found


def block(one: Block, ids: Ids, level: int = 2) -> Markup:
    """A block as HTML. `level` is that of headings in it."""
    match one:
        case Section():
            name = ids[_anchor(one)]
            link = tag("a", "#", class_="anchor", href=f"#{name}", aria_label="Link to this section")
            heading = tag(f"h{min(level, 6)}", bdi(one.title), link, id=name)
            return tag("section", heading, *(block(inner, ids, level + 1) for inner in one.blocks))
        case Fold():
            return _fold(one, ids, level)
        case blocks.Beside():
            inner = (tag("div", block(part, ids, level)) for part in one.blocks)
            return tag("div", *inner, class_="beside")
        case Text():
            told = tag("p", _led(one), class_="note" if one.muted else None) if one.lead or one.text else None
            items = (tag("li", item if isinstance(item, str) else _led(item)) for item in one.items)
            return tag("div", told, tag("ul", *items) if one.items else None, class_="prose")
        case blocks.Code():
            return tag("pre", one.text, tabindex=0)
        case Terms(facts=True):
            return _facts(one.terms)
        case Terms():
            return tag("dl", *(tag("dt", name) + tag("dd", meaning) for name, meaning in one.terms), class_="terms")
        case blocks.Shares():
            return plots.shares(one, ids)
        case blocks.Lanes():
            return plots.lanes(one, ids)
        case blocks.Lines():
            numbers = Fold("The numbers", tuple(filter(None, [as_table(one)])))
            return plots.lines(one) + _fold(numbers, ids, level, class_="numbers")
        case blocks.Scatter():
            return plots.scatter(one)
        case blocks.Network():
            return plots.network(one)
        case blocks.Table():
            return grids.table(one)
        case blocks.Pictures():
            return grids.pictures(one)


def _fold(one: Fold, ids: Ids, level: int, class_: str | None = None) -> Markup:
    inside = (block(inner, ids, level + 1) for inner in one.blocks)
    name = ids.get(one.anchor) if one.anchor else None
    summary = tag("summary", bdi(one.summary), " ")
    return tag("details", summary, *inside, id=name, open=one.open, class_=class_)


def _led(one: Text) -> Markup:
    return joined([tag("strong", one.lead) if one.lead else None, " " if one.lead else None, one.text])


def _facts(found: Sequence[tuple[str, str]]) -> Markup:
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", bdi(value))) for name, value in found), class_="facts")
