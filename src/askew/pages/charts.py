"""Lines over steps and points in a plane, as wide as the page; directed graphs, drawn for narrow
and for wide screens. Text has its own size at every width. Places in a graph are complex numbers,
in pixels: right, and down times i.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import (
    Arrow,
    Effect,
    GraphDiagram,
    LineChart,
    LineSeries,
    Scatter,
    ScatterPoint,
)
from askew.pages.elements import (
    NOTHING,
    RUNS,
    LinearScale,
    axis,
    drawing,
    figure,
    joined,
    legend,
    reach,
    rule,
    tag,
)
from askew.pages.media import ImageLink
from askew.types import Estimate, Missing

HEIGHT = 300
TOP = 14
BOTTOM = 44
SIDE = 320
"""Of a plane and its margins, in pixels; of a square one the side."""
NARROW = 290
WIDE = 880
LETTER = 6.8
"""The plane on the narrowest screen, and on a wide one: how many labels have room."""
BESIDE = 9
MARK = 44
"""Between two series on one step, and the side of a picture in a plane."""

EFFECTS: Mapping[Effect, str] = {
    "better": "brings it nearer to its ideal",
    "worse": "takes it further away",
    "changed": "changes it, to which side is not settled",
}
"""What the three kinds of edges mean."""

NODE = 10.0
HEAD = (11.0, 5.0)
BEND = 0.13
NAME_LETTER = 8.2
"""Of a graph: radius of a node, an arrow's head, how far an edge bends, and a letter."""
LABELLED = 16
LABEL_AT = (0.6, 0.5, 0.4, 0.3, 0.7)
"""Edges up to which each carries its number, and where: nearer to the target, so that those of a
pair keep apart.
"""

THINNEST = 1.3
PER_UNIT = 14.0
THICKEST = 7.5
PALEST = 0.65
FULL_AT = 0.25


class DiagramSize(NamedTuple):
    """Of a drawing and the half axes of its circle, in pixels; `letters` of a name are shown."""

    name: str
    width: int
    height: int
    across: float
    down: float
    letters: int


Label = tuple[str, float, float, float]
"""A node's name, the middle of its line, and half its width."""

SIZES = (DiagramSize("broad", 720, 520, 215, 195, 22), DiagramSize("slim", 340, 400, 118, 140, 16))


@dataclass(frozen=True, slots=True)
class ValuePlane:
    """Where values lie: across in percent, down in pixels."""

    x: LinearScale
    y: LinearScale
    height: int

    def down(self, value: float) -> float:
        return round(TOP + (1 - self.y.share(value)) * (self.height - TOP - BOTTOM), 1)

    def floor(self) -> float:
        return self.down(self.y.low)

    def rows(self) -> Markup:
        """Horizontal grid lines."""
        return joined(
            rule("grid", 0, "100%", self.down(tick), self.down(tick)) for tick in self.y.ticks
        )

    def path(self, points: Iterable[tuple[float, float]], kind: str) -> Markup:
        """A line through (x, y), drawn from 0 to 100 across; stretched with the plane, its stroke
        is not.
        """
        found = " ".join(f"{100 * self.x.share(x):.3f},{self.down(y)}" for x, y in points)
        size = {"viewBox": f"0 0 100 {self.height}", "width": "100%", "height": self.height}
        line = tag("polyline", class_=kind, points=found)
        return tag("svg", line, preserveAspectRatio="none", **size) if found else NOTHING


def chart(
    plane: ValuePlane,
    above: str,
    below: str,
    title: str,
    said: str,
    *parts: object,
    kind: str = "chart",
) -> Markup:
    """The plane between the names of its axes, with the vertical one in a drawing of its own width."""
    width = round(12 + LETTER * max(map(len, plane.y.labels), default=0))
    labels = (
        tag("text", label, x=width - 8, y=plane.down(tick) + 4, text_anchor="end")
        for tick, label in zip(plane.y.ticks, plane.y.labels, strict=True)
        if label
    )
    ticks = tag(
        "svg", *labels, class_="ticks", width=width, height=plane.height, aria_hidden="true"
    )
    name = tag("text", below, class_="name", x="50%", y=plane.height - 4, text_anchor="middle")
    plot = tag("div", ticks, drawing("plane", plane.height, title, said, *parts, name), class_=kind)
    return (tag("p", f"↑ {above}", class_="above") if above else NOTHING) + plot


def lines(one: LineChart) -> Markup:
    """Scores over steps: chance behind them, every series a line with intervals; the numbers follow
    as a table.
    """
    values = [v for line in one.lines for e in line.points for v in reach(e)] + [
        level for _, level in one.levels
    ]
    on = axis("range", [0.0, *values]) if one.scale == "unit" else axis(one.scale, values)
    plane = ValuePlane(LinearScale(0, max(len(one.steps), 1), (), ()), on, HEIGHT)
    main = [line for line in one.lines if not line.thin]
    shifts = {id(line): BESIDE * (k - (len(main) - 1) / 2) for k, line in enumerate(main)}
    parts = [plane.rows(), *(_chance(plane, line, k) for k, line in enumerate(main))]
    parts += [
        rule("level", 0, "100%", y, y) for y in (plane.down(value) for _, value in one.levels)
    ]
    for line in sorted(one.lines, key=lambda line: not line.thin):
        parts.append(_line(plane, one, line, shifts.get(id(line), 0.0)))
    gaps = (
        k
        for k in range(len(one.steps))
        if all(isinstance(line.points[k], Missing) for line in main)
    )
    parts += [
        tag("text", "–", x=plane.x.at(k + 0.5), y=plane.floor() - 6, text_anchor="middle")
        for k in gaps
    ]
    parts += _below(plane, one.steps)
    said = "; ".join(
        f"{step} {words.measured(e, one.scale)}"
        for line in main[:1]
        for step, e in zip(one.steps, line.points, strict=True)
    )
    keys = [(f"run-{line.series % RUNS}", line.name) for line in main]
    thin = [li.name for li in one.lines if li.thin]
    keys += [("thin", f"thin: {words.shorten(words.listing(thin), 120)}")] if thin else []
    known = [e for line in one.lines for e in line.points if isinstance(e, Estimate)]
    keys += [("null", one.chance)] if any(e.null is not None for e in known) else []
    keys += [("level", name) for name, _ in one.levels]
    return figure(
        one.caption, chart(plane, one.name, one.heading, one.caption, said, *parts), legend(keys)
    )


def _line(plane: ValuePlane, one: LineChart, line: LineSeries, shift: float) -> Markup:
    known = [(k, e) for k, e in enumerate(line.points) if isinstance(e, Estimate)]
    run = f"run-{line.series % RUNS}"
    path = plane.path(((k + 0.5, e.mark) for k, e in known), f"thin {run}" if line.thin else run)
    if line.thin:
        return path
    ends = [(k, e.low, e.high) for k, e in known if e.low is not None and e.high is not None]
    at = {k: plane.x.at(k + 0.5) for k, _ in known}
    whiskers = (
        rule(f"whisker {run}", at[k], at[k], plane.down(low), plane.down(high))
        for k, low, high in ends
    )
    dots = (
        tag("circle", class_=f"dot {run}", cx=at[k], cy=plane.down(e.mark), r=4.5) for k, e in known
    )
    return tag("g", path, *whiskers, *dots, transform=f"translate({shift:g} 0)")


def _chance(plane: ValuePlane, line: LineSeries, place: int) -> Markup:
    """The first line's chance as a grey band, that of others dotted in their colour."""
    parts = []
    for k, e in enumerate(line.points):
        if isinstance(e, Estimate) and e.null is not None and plane.y.low >= 0:
            left = plane.x.at(k)
            right = plane.x.at(k + 1)
            y = plane.down(e.null)
            kind = f"chance run-{line.series % RUNS}" if place else "null-edge"
            if not place:
                parts.append(
                    tag(
                        "rect",
                        class_="null",
                        x=left,
                        width=plane.x.at(1),
                        y=y,
                        height=plane.floor() - y,
                    )
                )
            parts.append(rule(kind, left, right, y, y))
    return joined(parts)


def _below(plane: ValuePlane, labels: Sequence[str]) -> Iterator[Markup]:
    """Names of the steps, as many as have room; on a narrow screen fewer."""
    space = LETTER * max(map(len, labels), default=1) + 12
    wide = max(1, -(-round(len(labels) * space) // WIDE))
    narrow = wide * max(1, -(-round(len(labels) * space) // (NARROW * wide)))
    for k in range(0, len(labels), wide):
        at = {"x": plane.x.at(k + 0.5), "y": plane.floor() + 18, "text_anchor": "middle"}
        yield tag("text", labels[k], class_="spare" if k % narrow else None, **at)


def scatter(one: Scatter, image_link: ImageLink) -> Markup:
    """Points in a plane, with their key."""
    xs = [p.x for p in one.points]
    ys = [p.y for p in one.points]
    if one.square:
        xs = ys = [*xs, *ys]
    bare = one.x[1] is None or one.y[1] is None
    plane = ValuePlane(
        axis(one.x[1] or "range", xs),
        axis(one.y[1] or "range", ys),
        SIDE if one.square else HEIGHT + 80,
    )
    parts = [] if bare else [plane.rows()]
    last = len(plane.x.ticks) - 1
    for k, (tick, label) in (
        enumerate(zip(plane.x.ticks, plane.x.labels, strict=True)) if not bare else ()
    ):
        at = plane.x.at(tick)
        anchor = "start" if k == 0 else "end" if k == last else "middle"
        parts += [
            rule("grid", at, at, TOP, plane.floor()),
            tag("text", label, x=at, y=plane.floor() + 18, text_anchor=anchor),
        ]
    parts += (
        [plane.path(((end, end) for end in (plane.x.low, plane.x.high)), "diagonal")]
        if one.diagonal
        else []
    )
    parts += [_point(plane, p, image_link) for p in one.points]
    kind = "chart square" if one.square else "chart bare" if bare else "chart"
    framed = "frame " if any(p.image for p in one.points) else ""
    keys = [(f"{framed}run-{k % RUNS}", name) for k, name in enumerate(one.keys)]
    keys += [("diagonal", one.diagonal)] if one.diagonal else []
    plot = chart(plane, one.y[0], one.x[0], one.caption, one.said, *parts, kind=kind)
    return figure(one.caption, plot, legend(keys))


def _point(plane: ValuePlane, one: ScatterPoint, image_link: ImageLink) -> Markup:
    x = plane.x.at(one.x)
    y = plane.down(one.y)
    hover = tag("title", one.name)
    run = f"run-{one.series % RUNS}"
    address = image_link(one.image) if one.image else None
    if address:
        box = {"x": -MARK / 2, "y": -MARK / 2, "width": MARK, "height": MARK}
        picture = tag("image", href=address, **box) + tag("rect", class_=f"frame {run}", **box)
        return tag("svg", hover, picture, x=x, y=y, overflow="visible", class_="pin")
    return tag("circle", hover, class_=f"dot {run}", cx=x, cy=y, r=4)


def network(one: GraphDiagram) -> Markup:
    """The graph in both sizes, of which the stylesheet shows the one that fits, with its key."""
    keys = []
    found = {e.effect for e in one.edges}
    for effect, text in EFFECTS.items():
        line = tag("path", class_=f"edge {effect}", d="M1 6H34", stroke_width=3)
        head = tag("path", class_=f"head {effect}", d="M44 6L34 1.5L34 10.5Z")
        arrow = tag(
            "svg", line, head, class_="graph sample", width=46, height=12, aria_hidden="true"
        )
        keys += [tag("span", arrow, text)] if effect in found else []
    named = tag("p", *keys, tag("span", "wider: stronger"), class_="legend") if found else None
    return figure(
        one.caption, tag("div", *(_sized(one, size) for size in SIZES), class_="network"), named
    )


def _sized(one: GraphDiagram, size: DiagramSize) -> Markup:
    angles = [
        2 * math.pi * k / len(one.nodes) - math.pi / 2 for k in range(len(one.nodes))
    ]  # from the top, clockwise
    places = {
        name: complex(
            size.width / 2 + size.across * math.cos(a), size.height / 2 + size.down * math.sin(a)
        )
        for (name, _), a in zip(one.nodes, angles, strict=True)
    }
    labels = {name: _node_label(name, note, places[name], size) for name, note in one.nodes}
    parts = [
        _arrow(e, *_curve(places[e.source], places[e.target])) for e in reversed(one.strongest)
    ]
    for name, note in one.nodes:
        place, (label, x, y, _) = places[name], labels[name]
        at = {"x": f"{x:.1f}", "text_anchor": "middle"}
        parts.append(
            tag(
                "g",
                tag(
                    "circle", class_="node", cx=f"{place.real:.1f}", cy=f"{place.imag:.1f}", r=NODE
                ),
                tag("text", label, class_="halo axis", y=f"{y:.1f}", **at),
                tag("text", note, class_="halo own", y=f"{y + 15:.1f}", **at) if note else None,
            )
        )
    if len(one.edges) <= LABELLED:
        parts += [_number(e, places, [*labels.values()], size) for e in reversed(one.strongest)]
    said = "; ".join(
        f"{e.source} to {e.target} {words.measured(e.score, 'signed')}" for e in one.strongest
    )
    return drawing(
        f"graph {size.name}", size.height, one.caption, said or "no edges", *parts, width=size.width
    )


def _arrow(edge: Arrow, start: complex, bend: complex, tip: complex) -> Markup:
    strength = abs(edge.score.value)
    width = min(THINNEST + PER_UNIT * strength, THICKEST)
    base = _towards(tip, bend, HEAD[0])
    aside = 1j * _towards(0, tip - base, HEAD[1] + width / 3)
    said = f"{words.capital(edge.source)} → {edge.target}: {words.measured(edge.score, 'signed')}"
    line = f"M{_xy(start)} Q{_xy(bend)} {_xy(base)}"
    head = f"M{_xy(tip)} L{_xy(base + aside)} L{_xy(base - aside)}Z"
    opacity = PALEST + (1 - PALEST) * min(strength / FULL_AT, 1.0)
    return tag(
        "g",
        tag("title", said),
        tag("path", class_=f"edge {edge.effect}", d=line, stroke_width=f"{width:.1f}"),
        tag("path", class_=f"head {edge.effect}", d=head),
        class_="arrow",
        opacity=f"{opacity:.2f}",
    )


def _number(
    edge: Arrow, places: Mapping[str, complex], labels: Sequence[Label], size: DiagramSize
) -> Markup:
    """On its edge where that hides no name, else beside it, nearer to the middle of the drawing."""
    a, b, c = _curve(places[edge.source], places[edge.target])
    found = [(1 - t) ** 2 * a + 2 * t * (1 - t) * b + t**2 * c for t in LABEL_AT]
    found += [_towards(place, complex(size.width / 2, size.height / 2), 20.0) for place in found]
    free = (
        p
        for p in found
        if all(abs(p.real - x) > half + 18 or not -19 < p.imag - y < 27 for _, x, y, half in labels)
    )
    place = next(free, found[0])
    text = words.signed(edge.score.value)
    at = {"x": f"{place.real:.1f}", "y": f"{place.imag + 4:.1f}", "text_anchor": "middle"}
    return tag("text", text, class_=f"halo number {edge.effect}", **at)


def _node_label(name: str, note: str, place: complex, size: DiagramSize) -> Label:
    """Outside the circle, moved to keep in the drawing."""
    across = (place.real - size.width / 2) / size.across
    down = (place.imag - size.height / 2) / size.down
    label = words.shorten(words.capital(name), size.letters)
    half = NAME_LETTER * max(len(label), 0.8 * len(note)) / 2
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
