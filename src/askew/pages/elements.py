"""Elements of a page: tags, drawings, links, legends, and scales: where values lie, and how ticks
are written.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import Scale
from askew.types import Estimate

Ids = Mapping[str, str]
"""By anchor the id of the element that carries it."""

NOTHING = Markup("")
COLORS = 8
RUNS = 6
"""Of parts of a bar, and of series; further ones begin again."""
_ROUND = tuple(m * 10.0**e for e in range(-5, 6) for m in (1, 2, 5))
_TICKS = 4
_MOST = 6
FEW = 4
"""Steps of a scale around 0 and of another at most; those that all have room for a label, also on a
narrow screen.
"""

_PERCENT = re.compile(r"(?<=\d) %")


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. `class_` is class, `a_b` is a-b; None, False and "" leave an attribute out, True
    has no value.
    """
    told = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False and value != ""
    )
    return Markup(
        f"<{name}{told}>"
        if name in ("img", "meta")
        else f"<{name}{told}>{joined(children)}</{name}>"
    )


def joined(parts: Iterable[object]) -> Markup:
    """Parts one after the other; texts are escaped, and a number stays with its percent sign."""
    return Markup(
        "".join(
            p if isinstance(p, Markup) else _PERCENT.sub("\u00a0%", escape(str(p)))
            for p in parts
            if p is not None
        )
    )


def drawing(
    kind: str, height: int, title: str, said: str, *parts: object, **attributes: object
) -> Markup:
    """A drawing as wide as its place, with what it says for who cannot see it."""
    size = {"width": "100%", "height": height, **attributes}
    return tag(
        "svg",
        tag("title", title),
        tag("desc", said) if said else None,
        *parts,
        class_=kind,
        role="img",
        **size,
    )


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
    return tag("a", bdi(text), href=f"#{ids[anchor]}") if anchor and anchor in ids else bdi(text)


def note(*parts: str) -> Markup | None:
    """Small print; nothing where there is none."""
    told = "; ".join(filter(None, parts))
    return tag("span", told, class_="note") if told else None


def key(series: int | None) -> Markup | None:
    """The coloured dot of a series."""
    return None if series is None else tag("i", class_=f"key run-{series % RUNS}")


def legend(keys: Sequence[tuple[str, str]]) -> Markup:
    """What marks mean: (class of the mark, meaning); a mark without a class is words alone."""
    found = (
        tag("span", tag("i", class_=f"key {kind}") if kind else None, text) for kind, text in keys
    )
    return tag("p", *found, class_="legend") if keys else NOTHING


def figure(caption: str, *parts: object) -> Markup:
    """What is drawn, below its caption."""
    return tag("figure", tag("figcaption", caption) if caption else None, *parts)


def region(name: str, table: Markup) -> Markup:
    """Scrolls by itself where it is wider than the page."""
    return tag(
        "div", table, class_="wide", role="region", aria_label=words.shorten(name, 80), tabindex=0
    )


@dataclass(frozen=True, slots=True)
class LinearScale:
    """A linear scale from `low` to `high`, its ticks, and their labels."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]

    def share(self, value: float) -> float:
        """Where a value lies, 0 to 1, kept inside."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def at(self, value: float) -> str:
        """The same in percent of the width."""
        return at(self.share(value))

    def drawn(self) -> Markup:
        """The labels, of many the ends and the middle; hidden from screen readers, whom every row
        tells its numbers.
        """
        last = len(self.ticks) - 1
        kept = {0, len(self.ticks) // 2, last} if last > FEW else set(range(last + 1))
        anchors = ["start", *["middle"] * (last - 1), "end"]
        labels = (
            tag("text", self.labels[k], x=self.at(tick), y=13, text_anchor=anchors[k])
            for k, tick in enumerate(self.ticks)
            if k in kept and self.labels[k]
        )
        return tag("svg", *labels, class_="scale", width="100%", height=18, aria_hidden="true")


def axis(scale: Scale, values: Iterable[float]) -> LinearScale:
    """An axis of a scale that holds these values: shares and scores from 0 to 1, differences to
    both sides of 0.
    """
    found = list(values)
    if scale == "share" or (scale == "unit" and max(found, default=1.0) <= 1):
        labels = ("0 %", "", "50 %", "", "100 %") if scale == "share" else ("0", "", "0.5", "", "1")
        return LinearScale(0, 1, (0.0, 0.25, 0.5, 0.75, 1.0), labels)
    high = max(found, default=1.0)
    low = 0.0 if scale == "unit" else min(found, default=0.0)
    if scale in words.SIGNED:
        high = (max(high, -low) if found else 0.0) or 0.1
        low = -high
    length = (high - low) or abs(high) or 1.0
    step = next((s for s in _ROUND if length / s <= (_TICKS if low == -high else _MOST)), length)
    step = max(step, 0.01) if scale == "points" else step
    first = math.floor(low / step)
    ticks = tuple(k * step for k in range(first, max(math.ceil(high / step), first + 1) + 1))
    places = 0 if scale == "points" else len(f"{step:.5f}".rstrip("0").partition(".")[2])
    return LinearScale(
        ticks[0], ticks[-1], ticks, tuple(words.format_value(tick, scale, places) for tick in ticks)
    )


def reach(score: object) -> list[float]:
    """What an axis must hold of a score."""
    if not isinstance(score, Estimate):
        return []
    return [v for v in (score.value, score.mark, score.low, score.high) if v is not None]
