"""HTML elements of a page: tags, drawings, links, legends, and linear scales with ticks."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import IntervalRow, Scale
from askew.types import Estimate

Ids = Mapping[str, str]
"""Ids of elements, by anchor."""

NOTHING = Markup("")
RUNS = 6
"""Number of colors for series; the colors repeat if there are more series."""

_ROUND = tuple(m * 10.0**e for e in range(-5, 6) for m in (1, 2, 5))
_TICKS = 4
_MOST = 6
"""Maximum numbers of steps: on scales that are symmetric around 0, and on all other scales."""

FEW = 3
"""Maximum number of steps for which all ticks have labels on a narrow screen."""

_PERCENT = re.compile(r"(?<=\d) %")


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an HTML element.

    Parameters
    ----------
    name : str
        Name of the element.
    *children : object
        Content of the element. Text is escaped.
    **attributes : object
        Attributes of the element. For the attribute `class`, write `class_`; for `a-b`, write
        `a_b`. Attributes that are None, False or "" are omitted, and True results in an attribute
        without a value.

    Returns
    -------
    Markup
        The element.
    """
    texts = (_attribute(key, value) for key, value in attributes.items())
    start = f"<{name}{''.join(texts)}>"
    if name in ("br", "img", "input", "link", "meta"):
        return Markup(start)
    return Markup(f"{start}{joined(children)}</{name}>")


def _attribute(key: str, value: object) -> str:
    if value is None or value is False or value == "":
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def joined(parts: Iterable[object]) -> Markup:
    """Concatenate parts; escape text and omit None.

    The result does not allow a line break between a number and its percent sign.
    """
    texts = []
    for part in parts:
        if isinstance(part, Markup):
            texts.append(str(part))
        elif part is not None:
            texts.append(_PERCENT.sub("\u00a0%", escape(str(part))))
    return Markup("".join(texts))


def drawing(
    kind: str, height: int, title: str, description: str, *parts: object, **attributes: object
) -> Markup:
    """Return a drawing that fills the available width.

    Parameters
    ----------
    kind : str
        CSS class of the drawing.
    height : int
        Height of the drawing in pixels.
    title, description : str
        Title and description for readers who cannot see the drawing.
    *parts : object
        Elements of the drawing.
    **attributes : object
        Other attributes, as in `tag`.

    Returns
    -------
    Markup
        The element.
    """
    size = {"width": "100%", "height": height, **attributes}
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description) if description else None,
        *parts,
        class_=kind,
        role="img",
        **size,
    )


def rule(kind: str, x1: object, x2: object, y1: object, y2: object) -> Markup:
    """Return a straight line in a drawing."""
    return tag("line", class_=kind, x1=x1, x2=x2, y1=y1, y2=y2)


def at(share: float) -> str:
    """Convert a position from a fraction of the width to a percentage for HTML."""
    return f"{100 * share:.2f}%"


def bdi(text: str) -> Markup:
    """Return text in an element that isolates its writing direction from the text around it."""
    return tag("bdi", text)


def link(text: str, anchor: str | None, ids: Ids) -> Markup:
    """Return a link to an anchor; return plain text if the page does not have the anchor."""
    if anchor and anchor in ids:
        return tag("a", bdi(text), href=f"#{ids[anchor]}")
    return bdi(text)


def note(*parts: str) -> Markup | None:
    """Combine texts into a small note; return None if all texts are empty."""
    text = "; ".join(filter(None, parts))
    return tag("span", text, class_="note") if text else None


def key(series: int | None) -> Markup | None:
    """Return the colored dot of a series."""
    return None if series is None else tag("i", class_=f"key run-{series % RUNS}")


def legend(keys: Sequence[tuple[str, str]]) -> Markup:
    """Return a legend that explains marks.

    Parameters
    ----------
    keys : sequence of (str, str)
        CSS class and meaning of each mark; an entry without a class has only text.

    Returns
    -------
    Markup
        The legend, or nothing if there are no marks.
    """
    if not keys:
        return NOTHING
    items = (
        tag("span", tag("i", class_=f"key {kind}") if kind else None, text) for kind, text in keys
    )
    return tag("p", *items, class_="legend")


def hidden(text: str) -> Markup:
    """Return text that is hidden on screens and read aloud by screen readers."""
    return tag("span", text, class_="hidden")


def captioned(title: str, remark: str = "") -> Markup:
    """Return a chart's title and a sentence below it, or nothing if both are empty."""
    if not title and not remark:
        return NOTHING
    small = tag("span", remark) if remark else None
    return tag("p", tag("b", title) if title else None, small, class_="cap")


def figure(caption: str, *parts: object) -> Markup:
    """Return a figure with its caption above it."""
    return tag("figure", tag("figcaption", caption) if caption else None, *parts)


def region(name: str, table: Markup) -> Markup:
    """Return a table inside a region that scrolls if the table is wider than the page."""
    return tag(
        "div", table, class_="wide", role="region", aria_label=words.shorten(name, 80), tabindex=0
    )


def table_bodies(
    rows: Iterable[IntervalRow], width: int, draw: Callable[[IntervalRow], Markup]
) -> Iterator[Markup]:
    """Yield a chart's rows in groups, with the name of each group above its rows.

    Parameters
    ----------
    rows : iterable of IntervalRow
        Rows to draw.
    width : int
        Number of columns in the table.
    draw : callable
        Function that draws a row and returns it as an element.
    """
    for group, members in groupby(rows, key=lambda row: row.group):
        title = None
        if group:
            name = tag("th", bdi(group), colspan=width, scope="rowgroup")
            title = tag("tr", name, class_="group")
        yield tag("tbody", title, *map(draw, members))


@dataclass(frozen=True, slots=True)
class LinearScale:
    """A linear scale.

    Attributes
    ----------
    low, high : float
        Values at the ends of the scale.
    ticks : tuple of float
        Values of the ticks.
    labels : tuple of str
        Labels of the ticks.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]

    def share(self, value: float) -> float:
        """Return the position of a value, from 0 to 1; values beyond an end are clipped."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def at(self, value: float) -> str:
        """Return the position of a value as a percentage of the width."""
        return at(self.share(value))

    def drawn(self) -> Markup:
        """Return a drawing of all tick labels, or of only three labels if there are many ticks.

        Screen readers skip the labels, because each row states its numbers.
        """
        last = len(self.ticks) - 1
        shown = {0, len(self.ticks) // 2, last} if last > FEW else set(range(last + 1))
        anchors = ["start", *["middle"] * (last - 1), "end"]
        labels = (
            tag("text", self.labels[k], x=self.at(tick), y=13, text_anchor=anchors[k])
            for k, tick in enumerate(self.ticks)
            if k in shown and self.labels[k]
        )
        return tag("svg", *labels, class_="scale", width="100%", height=18, aria_hidden="true")


def axis(scale: Scale, values: Iterable[float]) -> LinearScale:
    """Return an axis that includes all given values.

    Parameters
    ----------
    scale : Scale
        Scale of the values.
    values : iterable of float
        Values that the axis must include.

    Returns
    -------
    LinearScale
        Axis that runs from 0 to 1 for shares and scores (or further if a score is above 1), is
        symmetric around 0 for differences, and otherwise covers the lowest to the highest value.
    """
    held = list(values)
    if scale == "share":
        return LinearScale(0, 1, (0.0, 0.25, 0.5, 0.75, 1.0), ("0 %", "", "50 %", "", "100 %"))
    if scale == "unit" and max(held, default=1.0) <= 1:
        return LinearScale(0, 1, (0.0, 0.25, 0.5, 0.75, 1.0), ("0", "", "0.5", "", "1"))
    low, high = _ends(scale, held)
    step = _step(scale, low, high)
    first = math.floor(low / step)
    last = max(math.ceil(high / step), first + 1)
    ticks = tuple(k * step for k in range(first, last + 1))
    decimals = f"{step:.5f}".rstrip("0").partition(".")[2]
    places = 0 if scale == "points" else len(decimals)
    labels = tuple(words.format_value(tick, scale, places) for tick in ticks)
    return LinearScale(ticks[0], ticks[-1], ticks, labels)


def _ends(scale: Scale, values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis before rounding to ticks."""
    high = max(values, default=1.0)
    low = 0.0 if scale == "unit" else min(values, default=0.0)
    if scale not in words.SIGNED:
        return low, high
    reach = max(high, -low) if values else 0.0
    high = reach or 0.1
    return -high, high


def _step(scale: Scale, low: float, high: float) -> float:
    """Return the smallest round step that divides an axis into few enough parts."""
    length = (high - low) or abs(high) or 1.0
    most = _TICKS if low == -high else _MOST
    step = next((size for size in _ROUND if length / size <= most), length)
    return max(step, 0.01) if scale == "points" else step


def reach(score: object) -> list[float]:
    """Return the values that an axis must include to show a score."""
    if not isinstance(score, Estimate):
        return []
    values = (score.value, score.mark, score.low, score.high)
    return [value for value in values if value is not None]
