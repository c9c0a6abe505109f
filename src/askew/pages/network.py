"""Directed graphs: names on a circle, an arrow per edge. Drawn twice, for narrow and for wide places, never scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import Edge, Network
from askew.pages.elements import drawing, tag

NODE = 10.0
BEND = 0.13
HEAD = (11.0, 5.0)
LABELLED, LABEL_AT = 16, (0.6, 0.5, 0.4, 0.3, 0.7)
"""Edges up to which each carries its number, and where: nearer to the target, so that those of a pair keep apart."""

THINNEST, PER_UNIT, THICKEST = 1.3, 14.0, 7.5
PALEST, FULL_AT = 0.65, 0.25
LETTER = 8.2

Place = tuple[float, float]


class Size(NamedTuple):
    """Of a drawing and the half axes of its circle, in pixels; `letters` of a name are shown."""

    name: str
    width: int
    height: int
    across: float
    down: float
    letters: int


SIZES = (Size("broad", 720, 520, 215, 195, 22), Size("slim", 340, 400, 118, 140, 16))


def drawn(one: Network) -> Markup:
    """The graph in both sizes; the stylesheet shows the one that fits."""
    return tag("div", *(_sized(one, size) for size in SIZES), class_="network")


def sample(effect: str) -> Markup:
    """An arrow for the legend."""
    line = tag("path", class_=f"edge {effect}", d="M1 6H34", stroke_width=3)
    head = tag("path", class_=f"head {effect}", d="M44 6L34 1.5L34 10.5Z")
    return tag("svg", line, head, class_="graph sample", width=46, height=12, aria_hidden="true")


def _sized(one: Network, size: Size) -> Markup:
    angles = [2 * math.pi * k / len(one.nodes) - math.pi / 2 for k in range(len(one.nodes))]  # from the top, clockwise
    places = {
        name: (size.width / 2 + size.across * math.cos(a), size.height / 2 + size.down * math.sin(a))
        for (name, _), a in zip(one.nodes, angles, strict=True)
    }
    edges = one.strongest[::-1]
    parts = [_edge(e, places) for e in edges] + [_node(name, note, places[name], size) for name, note in one.nodes]
    if len(edges) <= LABELLED:
        taken = [_label(name, note, places[name], size)[1:] for name, note in one.nodes]
        parts += [_number(e, places, taken, size) for e in edges]
    said = "; ".join(f"{e.source} to {e.target} {words.measured(e.score, 'signed')}" for e in reversed(edges))
    return drawing(f"graph {size.name}", size.height, one.caption, said or "no edges", *parts, width=size.width)


def _edge(edge: Edge, places: dict[str, Place]) -> Markup:
    strength = abs(edge.score.value)
    width = min(THINNEST + PER_UNIT * strength, THICKEST)
    start, bend, tip = _curve(places[edge.source], places[edge.target])
    base, half = _towards(tip, bend, HEAD[0]), HEAD[1] + width / 3
    left, right = _aside(base, tip, half), _aside(base, tip, -half)
    said = f"{words.capital(edge.source)} → {edge.target}: {words.measured(edge.score, 'signed')}"
    line = f"M{_xy(start)} Q{_xy(bend)} {_xy(base)}"
    opacity = PALEST + (1 - PALEST) * min(strength / FULL_AT, 1.0)
    return tag(
        "g", tag("title", said), tag("path", class_=f"edge {edge.effect}", d=line, stroke_width=f"{width:.1f}"),
        tag("path", class_=f"head {edge.effect}", d=f"M{_xy(tip)} L{_xy(left)} L{_xy(right)}Z"),
        class_="arrow", opacity=f"{opacity:.2f}",
    )  # fmt: skip


def _number(edge: Edge, places: dict[str, Place], names: Sequence[tuple[float, float, float]], size: Size) -> Markup:
    """On its edge where that hides no name, else beside it, nearer to the middle of the drawing."""
    curve, middle = _curve(places[edge.source], places[edge.target]), (size.width / 2, size.height / 2)
    found: list[Place] = []
    for t in LABEL_AT:
        x, y = ((1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c for a, b, c in zip(*curve, strict=True))
        found.append((x, y))
    found += [_towards(place, middle, 20.0) for place in found]
    free = [(x, y) for x, y in found
            if all(abs(x - at) > half + 18 or not -19 < y - top < 27 for at, top, half in names)]  # fmt: skip
    x, y = (free or found)[0]
    text = words.signed(edge.score.value)
    return tag("text", text, class_=f"halo number {edge.effect}", x=f"{x:.1f}", y=f"{y + 4:.1f}", text_anchor="middle")


def _label(name: str, note: str, place: Place, size: Size) -> tuple[str, float, float, float]:
    """A node's name, the middle of its line, and half its width: outside the circle, moved to keep in the drawing."""
    x, y = place
    across, down = (x - size.width / 2) / size.across, (y - size.height / 2) / size.down
    label = words.shorten(words.capital(name), size.letters)
    half = LETTER * max(len(label), 0.8 * len(note)) / 2
    side = (half + 20) * across if size.name == "broad" else 0.0
    tx = min(max(x + side, half + 2), size.width - half - 2)
    ty = y + (down * 28 + 4 if size.name == "broad" else 27 if down > -0.5 else -17)
    return label, tx, ty - 14 if note and ty < y else ty, half


def _node(name: str, note: str, place: Place, size: Size) -> Markup:
    (x, y), (label, tx, ty, _) = place, _label(name, note, place, size)
    at = {"x": f"{tx:.1f}", "text_anchor": "middle"}
    return tag(
        "g", tag("circle", class_="node", cx=f"{x:.1f}", cy=f"{y:.1f}", r=NODE),
        tag("text", label, class_="halo axis", y=f"{ty:.1f}", **at),
        tag("text", note, class_="halo own", y=f"{ty + 15:.1f}", **at) if note else None,
    )  # fmt: skip


def _curve(source: Place, target: Place) -> tuple[Place, Place, Place]:
    """Start, control point and end of an edge that bends to its right, clear of both nodes."""
    middle = ((source[0] + target[0]) / 2, (source[1] + target[1]) / 2)
    bend = _aside(middle, target, BEND * math.dist(source, target))
    return _towards(source, bend, NODE + 3), bend, _towards(target, bend, NODE + 4)


def _towards(start: Place, goal: Place, step: float) -> Place:
    length = math.dist(start, goal) or 1.0
    return start[0] + (goal[0] - start[0]) * step / length, start[1] + (goal[1] - start[1]) * step / length


def _aside(start: Place, goal: Place, step: float) -> Place:
    """`step` to the right of `start`, looking towards `goal`."""
    length = math.dist(start, goal) or 1.0
    return start[0] - (goal[1] - start[1]) * step / length, start[1] + (goal[0] - start[0]) * step / length


def _xy(place: Place) -> str:
    return f"{place[0]:.1f} {place[1]:.1f}"
