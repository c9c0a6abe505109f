"""Functions that draw line charts, scatter plots and directed graphs as HTML.

Line charts and scatter plots are as wide as the page. Graphs are drawn twice, for narrow and for
wide screens. Text has the same size at every width. A position in a graph is a complex number, in
pixels: the real part points to the right, and the imaginary part points down.
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
"""Height of a plot area, and heights of its top and bottom margins, in pixels."""

SIDE = 320
"""Height of a square plot area, in pixels."""

NARROW = 290
WIDE = 880
LETTER = 6.8
"""Widths in pixels of a plot area (on narrow and on wide screens) and of a character.

These widths determine how many labels fit.
"""

BESIDE = 9
MARK = 44
"""Distance in pixels between two series at the same step, and side length in pixels of an image."""

EFFECTS: Mapping[Effect, str] = {
    "better": "decreases the deviation from the reference",
    "worse": "increases the deviation from the reference",
    "changed": "associated, direction not determined",
}
"""Meaning of each kind of edge."""

NODE = 10.0
HEAD = (11.0, 5.0)
BEND = 0.13
NAME_LETTER = 8.2
"""Radius of a node, size of an arrowhead, relative bend of an edge, and width of a character."""

LABELED = 16
LABEL_AT = (0.6, 0.5, 0.4, 0.3, 0.7)
"""Maximum number of edges for which a graph shows scores, and possible positions of a score.

Positions are fractions of an edge's length. The first position is closer to the target, so that the
scores of the two edges between a pair of nodes do not overlap.
"""

THINNEST = 1.3
PER_UNIT = 14.0
THICKEST = 7.5
PALEST = 0.65
FULL_AT = 0.25
"""Widths and opacity of edges.

The first three values are in pixels: the width of an edge with score 0, the added width per unit of
the score, and the maximum width. The other values are the opacity of the palest edge, and the
minimum score of a fully opaque edge.
"""


class DiagramSize(NamedTuple):
    """Size of a graph's drawing.

    Attributes
    ----------
    name : str
        CSS class. The style sheet uses this class to show only the drawing that fits the screen.
    width, height : int
        Width and height of the drawing, in pixels.
    across, down : float
        Horizontal and vertical radius of the ellipse on which the nodes are placed, in pixels.
    letters : int
        Maximum number of characters in a name.
    """

    name: str
    width: int
    height: int
    across: float
    down: float
    letters: int


class NodeLabel(NamedTuple):
    """The label of a node: its text, the position of its center, and half its width, in pixels."""

    text: str
    x: float
    y: float
    half: float


SIZES = (DiagramSize("broad", 720, 520, 215, 195, 22), DiagramSize("slim", 340, 400, 118, 140, 16))


@dataclass(frozen=True, slots=True)
class ValuePlane:
    """A plot area with horizontal positions in percent and vertical positions in pixels.

    Attributes
    ----------
    x, y : LinearScale
        Horizontal and vertical scale.
    height : int
        Height of the plot area in pixels.
    """

    x: LinearScale
    y: LinearScale
    height: int

    def down(self, value: float) -> float:
        """Return the position of a value, in pixels from the top."""
        return round(TOP + (1 - self.y.share(value)) * (self.height - TOP - BOTTOM), 1)

    def floor(self) -> float:
        """Return the position of the lowest value, in pixels from the top."""
        return self.down(self.y.low)

    def rows(self) -> Markup:
        """Return horizontal grid lines."""
        positions = [self.down(tick) for tick in self.y.ticks]
        return joined(rule("grid", 0, "100%", y, y) for y in positions)

    def path(self, points: Iterable[tuple[float, float]], kind: str) -> Markup:
        """Return a line through points (x, y), or nothing if there are no points.

        The line stretches with the width of the plot area, but its stroke width stays the same.
        """
        shares = [(100 * self.x.share(x), self.down(y)) for x, y in points]
        places = " ".join(f"{across:.3f},{down}" for across, down in shares)
        if not places:
            return NOTHING
        line = tag("polyline", class_=kind, points=places)
        size = {"viewBox": f"0 0 100 {self.height}", "width": "100%", "height": self.height}
        return tag("svg", line, preserveAspectRatio="none", **size)


def chart(
    plane: ValuePlane,
    above: str,
    below: str,
    title: str,
    description: str,
    *parts: object,
    kind: str = "chart",
) -> Markup:
    """Return a plot area with the names of its axes.

    Parameters
    ----------
    plane : ValuePlane
        Plot area that contains the drawing.
    above, below : str
        Name of the vertical axis, and name of the horizontal axis.
    title, description : str
        Title and description for readers who cannot see the drawing.
    *parts : object
        Elements in the plot area.
    kind : str
        CSS class of the chart.

    Returns
    -------
    Markup
        The plot area, and a separate drawing of the labels on the vertical axis.
    """
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
    plot = tag(
        "div", ticks, drawing("plane", plane.height, title, description, *parts, name), class_=kind
    )
    return (tag("p", f"↑ {above}", class_="above") if above else NOTHING) + plot


def lines(block: LineChart) -> Markup:
    """Return a line chart that shows each series with intervals, and the values expected by chance.

    Parameters
    ----------
    block : LineChart
        The scores.

    Returns
    -------
    Markup
        The chart with its legend.
    """
    plane = _line_plane(block)
    main = [line for line in block.lines if not line.thin]
    parts = [plane.rows(), *(_chance(plane, line, place) for place, line in enumerate(main))]
    for _, value in block.levels:
        parts.append(rule("level", 0, "100%", plane.down(value), plane.down(value)))
    parts += [_line(plane, line, 0.0) for line in block.lines if line.thin]
    for place, line in enumerate(main):
        parts.append(_line(plane, line, BESIDE * (place - (len(main) - 1) / 2)))
    parts += _gaps(plane, block, main)
    parts += _below(plane, block.steps)
    description = _line_description(block, main[0]) if main else ""
    plot = chart(plane, block.name, block.heading, block.caption, description, *parts)
    return figure(block.caption, plot, legend(_line_keys(block)))


def _line_plane(block: LineChart) -> ValuePlane:
    """Return a plot area whose scales include all scores and horizontal lines of a chart."""
    values: list[float] = []
    for line in block.lines:
        for score in line.points:
            values += reach(score)
    values += [level for _, level in block.levels]
    scale = axis("range", [0.0, *values]) if block.scale == "unit" else axis(block.scale, values)
    steps = LinearScale(0, max(len(block.steps), 1), (), ())
    return ValuePlane(x=steps, y=scale, height=HEIGHT)


def _gaps(plane: ValuePlane, block: LineChart, main: Sequence[LineSeries]) -> Iterator[Markup]:
    """Yield a dash for each step at which all scores are missing."""
    for step in range(len(block.steps)):
        if all(isinstance(line.points[step], Missing) for line in main):
            x = plane.x.at(step + 0.5)
            yield tag("text", "–", x=x, y=plane.floor() - 6, text_anchor="middle")


def _line_description(block: LineChart, line: LineSeries) -> str:
    return "; ".join(
        f"{step} {words.measured(score, block.scale)}"
        for step, score in zip(block.steps, line.points, strict=True)
    )


def _line_keys(block: LineChart) -> list[tuple[str, str]]:
    """Return the legend entries for the lines in a chart."""
    keys = [(f"run-{line.series % RUNS}", line.name) for line in block.lines if not line.thin]
    thin = [line.name for line in block.lines if line.thin]
    if thin:
        keys.append(("thin", f"thin: {words.shorten(words.listing(thin), 120)}"))
    scores = [score for line in block.lines for score in line.points]
    if any(isinstance(score, Estimate) and score.null is not None for score in scores):
        keys.append(("null", block.chance))
    keys += [("level", name) for name, _ in block.levels]
    return keys


def _line(plane: ValuePlane, line: LineSeries, shift: float) -> Markup:
    """Return a series as a line with intervals and dots, shifted right by a number of pixels.

    A thin line has no intervals and no dots.
    """
    run = f"run-{line.series % RUNS}"
    scores = [
        (step, score) for step, score in enumerate(line.points) if isinstance(score, Estimate)
    ]
    kind = f"thin {run}" if line.thin else run
    path = plane.path(((step + 0.5, score.mark) for step, score in scores), kind)
    if line.thin:
        return path
    whiskers = []
    dots = []
    for step, score in scores:
        x = plane.x.at(step + 0.5)
        if score.low is not None and score.high is not None:
            ends = (plane.down(score.low), plane.down(score.high))
            whiskers.append(rule(f"whisker {run}", x, x, *ends))
        dots.append(tag("circle", class_=f"dot {run}", cx=x, cy=plane.down(score.mark), r=4.5))
    return tag("g", path, *whiskers, *dots, transform=f"translate({shift:g} 0)")


def _chance(plane: ValuePlane, line: LineSeries, place: int) -> Markup:
    """Draw the values expected by chance: a gray band for the first series, dotted lines for others."""
    parts: list[Markup] = []
    if plane.y.low < 0:
        return NOTHING
    for step, score in enumerate(line.points):
        if isinstance(score, Estimate) and score.null is not None:
            left = plane.x.at(step)
            y = plane.down(score.null)
            kind = f"chance run-{line.series % RUNS}" if place else "null-edge"
            if not place:
                width = plane.x.at(1)
                box = {"x": left, "width": width, "y": y, "height": plane.floor() - y}
                parts.append(tag("rect", class_="null", **box))
            parts.append(rule(kind, left, plane.x.at(step + 1), y, y))
    return joined(parts)


def _below(plane: ValuePlane, labels: Sequence[str]) -> Iterator[Markup]:
    """Yield the names of as many steps as fit; on a narrow screen, some of them are hidden."""
    space = LETTER * max(map(len, labels), default=1) + 12
    length = round(len(labels) * space)
    wide = max(1, -(-length // WIDE))
    narrow = wide * max(1, -(-length // (NARROW * wide)))
    for step in range(0, len(labels), wide):
        place = {"x": plane.x.at(step + 0.5), "y": plane.floor() + 18, "text_anchor": "middle"}
        yield tag("text", labels[step], class_="spare" if step % narrow else None, **place)


def scatter(block: Scatter, image_link: ImageLink) -> Markup:
    """Return a scatter plot.

    Parameters
    ----------
    block : Scatter
        The points.
    image_link : callable
        Function that returns the address of an image.

    Returns
    -------
    Markup
        The plot with its legend.
    """
    bare = block.x[1] is None or block.y[1] is None
    plane = _scatter_plane(block)
    parts = [] if bare else [plane.rows(), *_columns(plane)]
    if block.diagonal:
        ends = (plane.x.low, plane.x.high)
        parts.append(plane.path(((end, end) for end in ends), "diagonal"))
    parts += [_point(plane, point, image_link) for point in block.points]
    kind = "chart bare" if bare else "chart"
    if block.square:
        kind = "chart square"
    plot = chart(plane, block.y[0], block.x[0], block.caption, block.description, *parts, kind=kind)
    return figure(block.caption, plot, legend(_scatter_keys(block)))


def _scatter_plane(block: Scatter) -> ValuePlane:
    xs = [point.x for point in block.points]
    ys = [point.y for point in block.points]
    if block.square:
        xs = [*xs, *ys]
        ys = xs
    return ValuePlane(
        x=axis(block.x[1] or "range", xs),
        y=axis(block.y[1] or "range", ys),
        height=SIDE if block.square else HEIGHT + 80,
    )


def _columns(plane: ValuePlane) -> Iterator[Markup]:
    """Yield vertical grid lines with their labels."""
    last = len(plane.x.ticks) - 1
    anchors = {0: "start", last: "end"} if last else {0: "start"}
    for number, (tick, label) in enumerate(zip(plane.x.ticks, plane.x.labels, strict=True)):
        x = plane.x.at(tick)
        anchor = anchors.get(number, "middle")
        yield rule("grid", x, x, TOP, plane.floor())
        yield tag("text", label, x=x, y=plane.floor() + 18, text_anchor=anchor)


def _scatter_keys(block: Scatter) -> list[tuple[str, str]]:
    framed = "frame " if any(point.image for point in block.points) else ""
    keys = [(f"{framed}run-{series % RUNS}", name) for series, name in enumerate(block.keys)]
    if block.diagonal:
        keys.append(("diagonal", block.diagonal))
    return keys


def _point(plane: ValuePlane, point: ScatterPoint, image_link: ImageLink) -> Markup:
    x = plane.x.at(point.x)
    y = plane.down(point.y)
    hover = tag("title", point.name)
    run = f"run-{point.series % RUNS}"
    address = image_link(point.image) if point.image else None
    if not address:
        return tag("circle", hover, class_=f"dot {run}", cx=x, cy=y, r=4)
    box = {"x": -MARK / 2, "y": -MARK / 2, "width": MARK, "height": MARK}
    picture = tag("image", href=address, **box) + tag("rect", class_=f"frame {run}", **box)
    return tag("svg", hover, picture, x=x, y=y, overflow="visible", class_="pin")


def network(graph: GraphDiagram) -> Markup:
    """Return a graph in two sizes. The style sheet shows only the size that fits the screen.

    Parameters
    ----------
    graph : GraphDiagram
        The graph.

    Returns
    -------
    Markup
        The two drawings and the legend.
    """
    kinds = {edge.effect for edge in graph.edges}
    keys = [_arrow_key(effect, text) for effect, text in EFFECTS.items() if effect in kinds]
    named = tag("p", *keys, tag("span", "wider: stronger"), class_="legend") if kinds else None
    drawings = tag("div", *(_sized(graph, size) for size in SIZES), class_="network")
    return figure(graph.caption, drawings, named)


def _arrow_key(effect: Effect, text: str) -> Markup:
    line = tag("path", class_=f"edge {effect}", d="M1 6H34", stroke_width=3)
    head = tag("path", class_=f"head {effect}", d="M44 6L34 1.5L34 10.5Z")
    arrow = tag("svg", line, head, class_="graph sample", width=46, height=12, aria_hidden="true")
    return tag("span", arrow, text)


def _sized(graph: GraphDiagram, size: DiagramSize) -> Markup:
    """Return a drawing of a graph, with scores if the graph has only a few edges."""
    places = _places(graph, size)
    labels = {name: _node_label(name, note, places[name], size) for name, note in graph.nodes}
    edges = list(reversed(graph.strongest))
    parts = [_arrow(edge, *_curve(places[edge.source], places[edge.target])) for edge in edges]
    parts += [_node(places[name], labels[name], note) for name, note in graph.nodes]
    if len(edges) <= LABELED:
        parts += [_number(edge, places, [*labels.values()], size) for edge in edges]
    description = "; ".join(
        f"{edge.source} to {edge.target} {words.measured(edge.score, 'signed')}"
        for edge in graph.strongest
    )
    return drawing(
        f"graph {size.name}",
        size.height,
        graph.caption,
        description or "no edges",
        *parts,
        width=size.width,
    )


def _places(graph: GraphDiagram, size: DiagramSize) -> dict[str, complex]:
    """Return the positions of the nodes on an ellipse, clockwise from the top."""
    places = {}
    for number, (name, _) in enumerate(graph.nodes):
        angle = 2 * math.pi * number / len(graph.nodes) - math.pi / 2
        x = size.width / 2 + size.across * math.cos(angle)
        y = size.height / 2 + size.down * math.sin(angle)
        places[name] = complex(x, y)
    return places


def _node(place: complex, label: NodeLabel, note: str) -> Markup:
    where = {"x": f"{label.x:.1f}", "text_anchor": "middle"}
    circle = tag("circle", class_="node", cx=f"{place.real:.1f}", cy=f"{place.imag:.1f}", r=NODE)
    name = tag("text", label.text, class_="halo axis", y=f"{label.y:.1f}", **where)
    small = None
    if note:
        small = tag("text", note, class_="halo own", y=f"{label.y + 15:.1f}", **where)
    return tag("g", circle, name, small)


def _arrow(edge: Arrow, start: complex, bend: complex, tip: complex) -> Markup:
    strength = abs(edge.score.value)
    width = min(THINNEST + PER_UNIT * strength, THICKEST)
    base = _towards(tip, bend, HEAD[0])
    aside = 1j * _towards(0, tip - base, HEAD[1] + width / 3)
    title = f"{words.capital(edge.source)} → {edge.target}: {words.measured(edge.score, 'signed')}"
    line = f"M{_xy(start)} Q{_xy(bend)} {_xy(base)}"
    head = f"M{_xy(tip)} L{_xy(base + aside)} L{_xy(base - aside)}Z"
    opacity = PALEST + (1 - PALEST) * min(strength / FULL_AT, 1.0)
    return tag(
        "g",
        tag("title", title),
        tag("path", class_=f"edge {edge.effect}", d=line, stroke_width=f"{width:.1f}"),
        tag("path", class_=f"head {edge.effect}", d=head),
        class_="arrow",
        opacity=f"{opacity:.2f}",
    )


def _number(
    edge: Arrow, places: Mapping[str, complex], labels: Sequence[NodeLabel], size: DiagramSize
) -> Markup:
    """Return an edge's score as text, placed near the edge so that all names stay visible."""
    start, bend, tip = _curve(places[edge.source], places[edge.target])
    on_edge = [_bezier(start, bend, tip, t) for t in LABEL_AT]
    middle = complex(size.width / 2, size.height / 2)
    beside = [_towards(place, middle, 20.0) for place in on_edge]
    free = (place for place in (*on_edge, *beside) if _is_free(place, labels))
    place = next(free, on_edge[0])
    where = {"x": f"{place.real:.1f}", "y": f"{place.imag + 4:.1f}", "text_anchor": "middle"}
    text = words.signed(edge.score.value)
    return tag("text", text, class_=f"halo number {edge.effect}", **where)


def _bezier(start: complex, bend: complex, tip: complex, t: float) -> complex:
    """Return the point at t on a quadratic Bézier curve, with t from 0 (start) to 1 (tip)."""
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * tip


def _is_free(place: complex, labels: Sequence[NodeLabel]) -> bool:
    """Check whether a score at this position would leave the names of all nodes visible."""
    return all(
        abs(place.real - label.x) > label.half + 18 or not -19 < place.imag - label.y < 27
        for label in labels
    )


def _node_label(name: str, note: str, place: complex, size: DiagramSize) -> NodeLabel:
    """Return the label of a node, placed outside the ellipse but inside the drawing."""
    across = (place.real - size.width / 2) / size.across
    down = (place.imag - size.height / 2) / size.down
    label = words.shorten(words.capital(name), size.letters)
    half = NAME_LETTER * max(len(label), 0.8 * len(note)) / 2
    side = 0.0
    offset = 27.0 if down > -0.5 else -17.0
    if size.name == "broad":
        side = (half + 20) * across
        offset = down * 28 + 4
    x = min(max(place.real + side, half + 2), size.width - half - 2)
    y = place.imag + offset
    if note and y < place.imag:
        y -= 14
    return NodeLabel(text=label, x=x, y=y, half=half)


def _curve(source: complex, target: complex) -> tuple[complex, complex, complex]:
    """Return the start, control point and end of an edge.

    The edge bends to the right, and ends just before the nodes.
    """
    bend = (source + target) / 2 + BEND * 1j * (target - source)
    return _towards(source, bend, NODE + 3), bend, _towards(target, bend, NODE + 4)


def _towards(start: complex, goal: complex, step: float) -> complex:
    return start + step * (goal - start) / (abs(goal - start) or 1.0)


def _xy(place: complex) -> str:
    return f"{place.real:.1f} {place.imag:.1f}"
