"""Directed graphs: names on a circle, an arrow per edge. Drawn twice, for narrow and for wide screens, never scaled.

Places are complex numbers, in pixels: to the right, and downward the imaginary part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import Edge, Effect, Network
from askew.pages.elements import drawing, figure, tag

EFFECTS: Mapping[Effect, str] = {
    "better": "brings it nearer to its ideal",
    "worse": "takes it further away",
    "changed": "changes it, to which side is not settled",
}
"""What the three kinds of edges mean."""

NODE = 10.0
BEND = 0.13
HEAD = (11.0, 5.0)
LABELLED, LABEL_AT = 16, (0.6, 0.5, 0.4, 0.3, 0.7)
"""Edges up to which each carries its number, and where: nearer to the target, so that those of a pair keep apart."""

THINNEST, PER_UNIT, THICKEST = 1.3, 14.0, 7.5
PALEST, FULL_AT = 0.65, 0.25
LETTER = 8.2


class Size(NamedTuple):
    """Of a drawing and the half axes of its circle, in pixels; `letters` of a name are shown."""

    name: str
    width: int
    height: int
    across: float
    down: float
    letters: int


Label = tuple[str, float, float, float]
"""A node's name, the middle of its line, and half its width."""

SIZES = (Size("broad", 720, 520, 215, 195, 22), Size("slim", 340, 400, 118, 140, 16))


def drawn(one: Network) -> Markup:
    """The graph in both sizes, of which the stylesheet shows the one that fits, with its key."""
    keys, found = [], {e.effect for e in one.edges}
    for effect, text in EFFECTS.items():
        line = tag("path", class_=f"edge {effect}", d="M1 6H34", stroke_width=3)
        head = tag("path", class_=f"head {effect}", d="M44 6L34 1.5L34 10.5Z")
        arrow = tag("svg", line, head, class_="graph sample", width=46, height=12, aria_hidden="true")
        keys += [tag("span", arrow, text)] if effect in found else []
    named = tag("p", *keys, tag("span", "wider: stronger"), class_="legend") if found else None
    return figure(one.caption, tag("div", *(_sized(one, size) for size in SIZES), class_="network"), named)


def _sized(one: Network, size: Size) -> Markup:
    angles = [2 * math.pi * k / len(one.nodes) - math.pi / 2 for k in range(len(one.nodes))]  # from the top, clockwise
    places = {
        name: complex(size.width / 2 + size.across * math.cos(a), size.height / 2 + size.down * math.sin(a))
        for (name, _), a in zip(one.nodes, angles, strict=True)
    }
    labels = {name: _label(name, note, places[name], size) for name, note in one.nodes}
    parts = [_edge(e, *_curve(places[e.source], places[e.target])) for e in reversed(one.strongest)]
    for name, note in one.nodes:
        place, (label, x, y, _) = places[name], labels[name]
        at = {"x": f"{x:.1f}", "text_anchor": "middle"}
        parts.append(tag(
            "g", tag("circle", class_="node", cx=f"{place.real:.1f}", cy=f"{place.imag:.1f}", r=NODE),
            tag("text", label, class_="halo axis", y=f"{y:.1f}", **at),
            tag("text", note, class_="halo own", y=f"{y + 15:.1f}", **at) if note else None,
        ))  # fmt: skip
    if len(one.edges) <= LABELLED:
        parts += [_number(e, places, [*labels.values()], size) for e in reversed(one.strongest)]
    said = "; ".join(f"{e.source} to {e.target} {words.measured(e.score, 'signed')}" for e in one.strongest)
    return drawing(f"graph {size.name}", size.height, one.caption, said or "no edges", *parts, width=size.width)


def _edge(edge: Edge, start: complex, bend: complex, tip: complex) -> Markup:
    strength = abs(edge.score.value)
    width = min(THINNEST + PER_UNIT * strength, THICKEST)
    base = _towards(tip, bend, HEAD[0])
    aside = 1j * _towards(0, tip - base, HEAD[1] + width / 3)
    said = f"{words.capital(edge.source)} → {edge.target}: {words.measured(edge.score, 'signed')}"
    line, head = f"M{_xy(start)} Q{_xy(bend)} {_xy(base)}", f"M{_xy(tip)} L{_xy(base + aside)} L{_xy(base - aside)}Z"
    opacity = PALEST + (1 - PALEST) * min(strength / FULL_AT, 1.0)
    return tag(
        "g", tag("title", said), tag("path", class_=f"edge {edge.effect}", d=line, stroke_width=f"{width:.1f}"),
        tag("path", class_=f"head {edge.effect}", d=head), class_="arrow", opacity=f"{opacity:.2f}",
    )  # fmt: skip


def _number(edge: Edge, places: Mapping[str, complex], labels: Sequence[Label], size: Size) -> Markup:
    """On its edge where that hides no name, else beside it, nearer to the middle of the drawing."""
    a, b, c = _curve(places[edge.source], places[edge.target])
    found = [(1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c for t in LABEL_AT]
    found += [_towards(place, complex(size.width / 2, size.height / 2), 20.0) for place in found]
    free = (
        p for p in found if all(abs(p.real - x) > half + 18 or not -19 < p.imag - y < 27 for _, x, y, half in labels)
    )
    place, text = next(free, found[0]), words.signed(edge.score.value)
    at = {"x": f"{place.real:.1f}", "y": f"{place.imag + 4:.1f}", "text_anchor": "middle"}
    return tag("text", text, class_=f"halo number {edge.effect}", **at)


def _label(name: str, note: str, place: complex, size: Size) -> Label:
    """Outside the circle, moved to keep in the drawing."""
    across, down = (place.real - size.width / 2) / size.across, (place.imag - size.height / 2) / size.down
    label = words.shorten(words.capital(name), size.letters)
    half = LETTER * max(len(label), 0.8 * len(note)) / 2
    side = (half + 20) * across if size.name == "broad" else 0.0
    x = min(max(place.real + side, half + 2), size.width - half - 2)
    y = place.imag + (down * 28 + 4 if size.name == "broad" else 27 if down > -0.5 else -17)
    return label, x, y - 14 if note and y < place.imag else y, half


def _curve(source: complex, target: complex) -> tuple[complex, complex, complex]:
    """Start, control point and end of an edge that bends to its right, clear of both nodes."""
    bend = (source + target) / 2 + BEND * 1j * (target - source)
    return _towards(source, bend, NODE + 3), bend, _towards(target, bend, NODE + 4)


def _towards(start: complex, goal: complex, step: float) -> complex:
    return start + step * (goal - start) / (abs(goal - start) or 1.0)


def _xy(place: complex) -> str:
    return f"{place.real:.1f} {place.imag:.1f}"
