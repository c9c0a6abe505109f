"""Pairwise causal graphs as inline SVG: axes on a circle, an arrow per edge, on one layout for all models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from askew.report.formatting import Record, axis_label, capital, measured, number, shorten
from askew.report.reading import is_estimate

Effect = Literal["better", "worse", "changed"]

WIDTH, HEIGHT = 760.0, 560.0
_CENTRE = (WIDTH / 2, HEIGHT / 2)
_RADII = (230.0, 215.0)
_NODE = 11.0
_BEND = 0.13
_HEAD = (11.0, 5.0)
_LABELLED = 16
"""Edges up to which each carries its number."""

_LABEL_AT = 0.6
"""Where along its edge a number stands: nearer to the target, so that the two edges of a pair keep apart."""

_THINNEST, _PER_UNIT, _THICKEST = 1.3, 14.0, 7.5
_PALEST, _FULL_AT = 0.65, 0.25

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge to draw. `effect` is "changed" where the distribution changes, but it is not settled to which side."""

    source: str
    target: str
    sensitivity: Record
    effect: Effect


def effect(sensitivity: Record) -> Effect:
    """Nearer to the ideal, further from it, or neither within the interval."""
    low, high = sensitivity.get("low"), sensitivity.get("high")
    if low is not None and low > 0:
        return "better"
    return "worse" if high is not None and high < 0 else "changed"


def drawn_edges(entry: Record) -> list[Edge]:
    """The significant edges between different axes with a sensitivity, the weakest first, to lie below the others."""
    edges = [
        Edge(e["source"], e["target"], e["sensitivity"], effect(e["sensitivity"]))
        for e in entry["edges"]
        if e["significant"] and e["source"] != e["target"] and is_estimate(e["sensitivity"])
    ]
    return sorted(edges, key=lambda e: abs(e.sensitivity["value"]))


def axes_of(entries: Iterable[Record]) -> list[str]:
    """Every axis of some graphs, in order of first appearance."""
    return list(dict.fromkeys(e[end] for entry in entries for e in entry["edges"] for end in ("source", "target")))


def graph(entry: Record, axes: Sequence[str], title: str, *, focal: str | None = None) -> Markup:
    """The graph of one entry of `biasconnect`, `axes` deciding the layout. `focal` keeps that axis's effects alone."""
    places = dict(zip(axes, _circle(len(axes)), strict=True))
    edges = drawn_edges(entry)
    shown = [e for e in edges if focal in (None, e.source)]
    faded = [e for e in edges if focal not in (None, e.source)]
    direct = {e["source"]: e["sensitivity"] for e in entry["edges"] if e["source"] == e["target"]}
    parts = [_edge(e, places, "faded") for e in faded] + [_edge(e, places, "") for e in shown]
    parts += [_node(axis, places[axis], direct.get(axis), axis == focal) for axis in axes]
    if len(shown) <= _LABELLED:
        parts += [_number(e, places) for e in shown]
    return Markup('<svg class="graph" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>{}</svg>').format(
        f"{WIDTH:g}", f"{HEIGHT:g}", title, _described(shown), Markup("").join(parts)
    )


def sample_edge(kind: Effect) -> Markup:
    """The line of the legend."""
    return Markup(
        '<svg class="graph sample" width="46" height="12" viewBox="0 0 46 12" aria-hidden="true">'
        '<path class="edge {}" d="M1 6H36" stroke-width="3"/><path class="head {}" d="M45 6L35 1.5L35 10.5Z"/></svg>'
    ).format(kind, kind)


def _described(edges: Sequence[Edge]) -> str:
    told = (
        f"{axis_label(e.source)} to {axis_label(e.target)} {measured(e.sensitivity)}"
        for e in sorted(edges, key=lambda e: -abs(e.sensitivity["value"]))
    )
    return "; ".join(told) or "no edges"


def _circle(count: int) -> list[Point]:
    """Places from the top, clockwise."""
    angles = (2 * math.pi * k / max(count, 1) - math.pi / 2 for k in range(count))
    return [(_CENTRE[0] + _RADII[0] * math.cos(a), _CENTRE[1] + _RADII[1] * math.sin(a)) for a in angles]


def _edge(edge: Edge, places: dict[str, Point], extra: str) -> Markup:
    size = abs(edge.sensitivity["value"])
    width = min(_THINNEST + _PER_UNIT * size, _THICKEST)
    start, bend, end = _curve(places[edge.source], places[edge.target])
    tip, base = end, _towards(end, bend, _HEAD[0])
    half = _HEAD[1] + width / 3
    left, right = _aside(base, tip, half), _aside(base, tip, -half)
    said = f"{capital(axis_label(edge.source))} → {axis_label(edge.target)}: {measured(edge.sensitivity)}"
    return Markup(
        '<g class="link {}" opacity="{}"><title>{}</title><path class="edge {}" d="M{} Q{} {}" stroke-width="{}"/>'
        '<path class="head {}" d="M{} L{} L{}Z"/></g>'
    ).format(
        extra, f"{_strength(size):.2f}", said, edge.effect, _xy(start), _xy(bend), _xy(base), f"{width:.1f}",
        edge.effect, _xy(tip), _xy(left), _xy(right),
    )  # fmt: skip


def _number(edge: Edge, places: dict[str, Point]) -> Markup:
    start, bend, end = _curve(places[edge.source], places[edge.target])
    t = _LABEL_AT
    x, y = ((1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c for a, b, c in zip(start, bend, end, strict=True))
    return Markup('<text class="number {}" x="{}" y="{}" text-anchor="middle">{}</text>').format(
        edge.effect, f"{x:.1f}", f"{y + 4:.1f}", signed(edge.sensitivity["value"])
    )


def signed(value: float) -> str:
    """A sensitivity with its sign."""
    text = number(value)
    return text if text.startswith("−") or not float(text) else f"+{text}"


def _node(axis: str, place: Point, direct: Record | None, focal: bool) -> Markup:
    x, y = place
    across, down = (x - _CENTRE[0]) / _RADII[0], (y - _CENTRE[1]) / _RADII[1]
    anchor = "middle" if abs(across) < 0.2 else "start" if across > 0 else "end"
    note = f"itself {signed(direct['value'])}" if direct is not None and is_estimate(direct) else ""
    tx, ty = x + across * 22, y + down * 30 - (14 if note and down < -0.5 else 0)
    label = Markup('<text class="axis{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        " focal" if focal else "", f"{tx:.1f}", f"{ty:.1f}", anchor, shorten(capital(axis_label(axis)), 22)
    )
    own = Markup('<text class="own" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        f"{tx:.1f}", f"{ty + 15:.1f}", anchor, note
    )
    dot = Markup('<circle class="node{}" cx="{}" cy="{}" r="{}"/>').format(
        " focal" if focal else "", f"{x:.1f}", f"{y:.1f}", f"{_NODE:g}"
    )
    return dot + label + (own if note else Markup(""))


def _curve(source: Point, target: Point) -> tuple[Point, Point, Point]:
    """Start, control point and end of an edge that bends to its right, clear of both nodes."""
    middle = ((source[0] + target[0]) / 2, (source[1] + target[1]) / 2)
    bend = _aside(middle, target, _BEND * math.dist(source, target))
    return _towards(source, bend, _NODE + 3), bend, _towards(target, bend, _NODE + 4)


def _towards(start: Point, goal: Point, step: float) -> Point:
    length = math.dist(start, goal) or 1.0
    return start[0] + (goal[0] - start[0]) * step / length, start[1] + (goal[1] - start[1]) * step / length


def _aside(start: Point, goal: Point, step: float) -> Point:
    """`step` to the right of `start`, looking towards `goal`."""
    length = math.dist(start, goal) or 1.0
    return start[0] - (goal[1] - start[1]) * step / length, start[1] + (goal[0] - start[0]) * step / length


def _strength(size: float) -> float:
    return _PALEST + (1 - _PALEST) * min(size / _FULL_AT, 1.0)


def _xy(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
