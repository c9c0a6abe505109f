"""Elements of a page: tags, drawings, links, legends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from markupsafe import Markup

from askew.pages import words

Ids = Mapping[str, str]
"""By anchor the id of the element that carries it."""

NOTHING = Markup("")
COLOURS, RUNS = 8, 6
"""Of parts of a bar, and of series; further ones begin again."""


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. `class_` is class, `a_b` is a-b; None, False and "" leave an attribute out, True has no value."""
    told = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False and value != ""
    )
    return Markup(f"<{name}{told}>" if name in ("img", "meta") else f"<{name}{told}>{joined(children)}</{name}>")


def joined(parts: Iterable[object]) -> Markup:
    """Parts one after the other; texts are escaped."""
    return Markup("".join(p if isinstance(p, Markup) else escape(str(p)) for p in parts if p is not None))


def drawing(kind: str, height: int, title: str, said: str, *parts: object, **attributes: object) -> Markup:
    """A drawing as wide as its place, with what it says for who cannot see it."""
    size = {"width": "100%", "height": height, **attributes}
    return tag("svg", tag("title", title), tag("desc", said) if said else None, *parts, class_=kind, role="img", **size)


def rule(kind: str, x1: object, x2: object, y1: object, y2: object) -> Markup:
    """A straight line in a drawing."""
    return tag("line", class_=kind, x1=x1, x2=x2, y1=y1, y2=y2)


def at(share: float) -> str:
    """A share of the width."""
    return f"{100 * share:.2f}%"


def bdi(text: str) -> Markup:
    """Text of others, whose direction turns nothing around it."""
    return tag("bdi", text)


def link(text: str, anchor: str | None, ids: Ids) -> Markup:
    """A text that leads to what carries an anchor; plain text if nothing does."""
    name = ids.get(anchor) if anchor else None
    return tag("a", bdi(text), href=f"#{name}") if name else bdi(text)


def note(*parts: str) -> Markup | None:
    """Small print; nothing where there is none."""
    told = "; ".join(filter(None, parts))
    return tag("span", told, class_="note") if told else None


def key(series: int | None) -> Markup | None:
    """The coloured dot of a series."""
    return None if series is None else tag("i", class_=f"key run-{series % RUNS}")


def legend(keys: Sequence[tuple[str, str]]) -> Markup:
    """What marks mean: (class of the mark, meaning); a mark without a class is words alone."""
    found = (tag("span", tag("i", class_=f"key {kind}") if kind else None, text) for kind, text in keys)
    return tag("p", *found, class_="legend") if keys else NOTHING


def region(name: str, table: Markup) -> Markup:
    """Scrolls by itself where it is wider than the page."""
    return tag("div", table, class_="wide", role="region", aria_label=words.shorten(name, 80), tabindex=0)
