"""Lines over steps, and points in a plane: as wide as the page, with text in its own size at every width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from askew.pages import words
from askew.pages.blocks import Line, Lines, Point, Scatter
from askew.pages.elements import NOTHING, RUNS, Axis, axis, drawing, figure, joined, legend, reach, rule, tag
from askew.types import Estimate, Missing

HEIGHT, TOP, BOTTOM, SIDE = 300, 14, 44, 320
"""Of a plane and its margins, in pixels; of a square one the side."""
NARROW, WIDE, LETTER = 290, 880, 6.8
"""The plane on the narrowest screen, and on a wide one: how many labels have room."""
BESIDE, MARK = 9, 44
"""Between two series on one step, and the side of a picture in a plane."""


@dataclass(frozen=True, slots=True)
class Plane:
    """Where values lie: across in percent, down in pixels."""

    x: Axis
    y: Axis
    height: int

    def down(self, value: float) -> float:
        return round(TOP + (1 - self.y.share(value)) * (self.height - TOP - BOTTOM), 1)

    def floor(self) -> float:
        return self.down(self.y.low)

    def rows(self) -> Markup:
        """Horizontal grid lines."""
        return joined(rule("grid", 0, "100%", self.down(tick), self.down(tick)) for tick in self.y.ticks)

    def path(self, points: Iterable[tuple[float, float]], kind: str) -> Markup:
        """A line through (x, y), drawn from 0 to 100 across; stretched with the plane, its stroke is not."""
        found = " ".join(f"{100 * self.x.share(x):.3f},{self.down(y)}" for x, y in points)
        size = {"viewBox": f"0 0 100 {self.height}", "width": "100%", "height": self.height}
        line = tag("polyline", class_=kind, points=found)
        return tag("svg", line, preserveAspectRatio="none", **size) if found else NOTHING


def chart(plane: Plane, above: str, below: str, title: str, said: str, *parts: object, kind: str = "chart") -> Markup:
    """The plane between the names of its axes, with the vertical one in a drawing of its own width."""
    width = round(12 + LETTER * max(map(len, plane.y.labels), default=0))
    labels = (
        tag("text", label, x=width - 8, y=plane.down(tick) + 4, text_anchor="end")
        for tick, label in zip(plane.y.ticks, plane.y.labels, strict=True)
        if label
    )
    ticks = tag("svg", *labels, class_="ticks", width=width, height=plane.height, aria_hidden="true")
    name = tag("text", below, class_="name", x="50%", y=plane.height - 4, text_anchor="middle")
    plot = tag("div", ticks, drawing("plane", plane.height, title, said, *parts, name), class_=kind)
    return (tag("p", f"↑ {above}", class_="above") if above else NOTHING) + plot


def lines(one: Lines) -> Markup:
    """Scores over steps: chance behind them, every series a line with intervals; the numbers follow as a table."""
    values = [v for line in one.lines for e in line.points for v in reach(e)] + [level for _, level in one.levels]
    on = axis("range", [0.0, *values]) if one.scale == "unit" else axis(one.scale, values)
    plane = Plane(Axis(0, max(len(one.steps), 1), (), ()), on, HEIGHT)
    main = [line for line in one.lines if not line.thin]
    shifts = {id(line): BESIDE * (k - (len(main) - 1) / 2) for k, line in enumerate(main)}
    parts = [plane.rows(), *(_chance(plane, line, k) for k, line in enumerate(main))]
    parts += [rule("level", 0, "100%", y, y) for y in (plane.down(value) for _, value in one.levels)]
    for line in sorted(one.lines, key=lambda line: not line.thin):
        parts.append(_line(plane, one, line, shifts.get(id(line), 0.0)))
    gaps = (k for k in range(len(one.steps)) if all(isinstance(line.points[k], Missing) for line in main))
    parts += [tag("text", "–", x=plane.x.at(k + 0.5), y=plane.floor() - 6, text_anchor="middle") for k in gaps]
    parts += _below(plane, one.steps)
    said = "; ".join(f"{step} {words.measured(e, one.scale)}" for line in main[:1]
                     for step, e in zip(one.steps, line.points, strict=True))  # fmt: skip
    keys, thin = [(f"run-{line.series % RUNS}", line.name) for line in main], [li.name for li in one.lines if li.thin]
    keys += [("thin", f"thin: {words.shorten(words.listing(thin), 120)}")] if thin else []
    known = [e for line in one.lines for e in line.points if isinstance(e, Estimate)]
    keys += [("null", one.chance)] if any(e.null is not None for e in known) else []
    keys += [("level", name) for name, _ in one.levels]
    return figure(one.caption, chart(plane, one.name, one.heading, one.caption, said, *parts), legend(keys))


def _line(plane: Plane, one: Lines, line: Line, shift: float) -> Markup:
    known = [(k, e) for k, e in enumerate(line.points) if isinstance(e, Estimate)]
    run = f"run-{line.series % RUNS}"
    path = plane.path(((k + 0.5, e.mark) for k, e in known), f"thin {run}" if line.thin else run)
    if line.thin:
        return path
    ends = [(k, e.low, e.high) for k, e in known if e.low is not None and e.high is not None]
    at = {k: plane.x.at(k + 0.5) for k, _ in known}
    whiskers = (rule(f"whisker {run}", at[k], at[k], plane.down(low), plane.down(high)) for k, low, high in ends)
    dots = (tag("circle", class_=f"dot {run}", cx=at[k], cy=plane.down(e.mark), r=4.5) for k, e in known)
    return tag("g", path, *whiskers, *dots, transform=f"translate({shift:g} 0)")


def _chance(plane: Plane, line: Line, place: int) -> Markup:
    """The first line's chance as a grey band, that of others dotted in their colour."""
    parts = []
    for k, e in enumerate(line.points):
        if isinstance(e, Estimate) and e.null is not None and plane.y.low >= 0:
            left, right, y = plane.x.at(k), plane.x.at(k + 1), plane.down(e.null)
            kind = f"chance run-{line.series % RUNS}" if place else "null-edge"
            if not place:
                parts.append(tag("rect", class_="null", x=left, width=plane.x.at(1), y=y, height=plane.floor() - y))
            parts.append(rule(kind, left, right, y, y))
    return joined(parts)


def _below(plane: Plane, labels: Sequence[str]) -> Iterator[Markup]:
    """Names of the steps, as many as have room; on a narrow screen fewer."""
    space = LETTER * max(map(len, labels), default=1) + 12
    wide = max(1, -(-round(len(labels) * space) // WIDE))
    narrow = wide * max(1, -(-round(len(labels) * space) // (NARROW * wide)))
    for k in range(0, len(labels), wide):
        at = {"x": plane.x.at(k + 0.5), "y": plane.floor() + 18, "text_anchor": "middle"}
        yield tag("text", labels[k], class_="spare" if k % narrow else None, **at)


def scatter(one: Scatter) -> Markup:
    """Points in a plane, with their key."""
    xs, ys = [p.x for p in one.points], [p.y for p in one.points]
    if one.square:
        xs = ys = [*xs, *ys]
    bare = one.x[1] is None or one.y[1] is None
    plane = Plane(axis(one.x[1] or "range", xs), axis(one.y[1] or "range", ys), SIDE if one.square else HEIGHT + 80)
    parts = [] if bare else [plane.rows()]
    last = len(plane.x.ticks) - 1
    for k, (tick, label) in enumerate(zip(plane.x.ticks, plane.x.labels, strict=True)) if not bare else ():
        at, anchor = plane.x.at(tick), "start" if k == 0 else "end" if k == last else "middle"
        parts += [rule("grid", at, at, TOP, plane.floor()),
                  tag("text", label, x=at, y=plane.floor() + 18, text_anchor=anchor)]  # fmt: skip
    parts += [plane.path(((end, end) for end in (plane.x.low, plane.x.high)), "diagonal")] if one.diagonal else []
    parts += [_point(plane, p) for p in one.points]
    kind = "chart square" if one.square else "chart bare" if bare else "chart"
    framed = "frame " if any(p.uri for p in one.points) else ""
    keys = [(f"{framed}run-{k % RUNS}", name) for k, name in enumerate(one.keys)]
    keys += [("diagonal", one.diagonal)] if one.diagonal else []
    plot = chart(plane, one.y[0], one.x[0], one.caption, one.said, *parts, kind=kind)
    return figure(one.caption, plot, legend(keys))


def _point(plane: Plane, one: Point) -> Markup:
    x, y, hover = plane.x.at(one.x), plane.down(one.y), tag("title", one.name)
    run = f"run-{one.series % RUNS}"
    if one.uri:
        box = {"x": -MARK / 2, "y": -MARK / 2, "width": MARK, "height": MARK}
        picture = tag("image", href=one.uri, **box) + tag("rect", class_=f"frame {run}", **box)
        return tag("svg", hover, picture, x=x, y=y, overflow="visible", class_="pin")
    return tag("circle", hover, class_=f"dot {run}", cx=x, cy=y, r=4)
