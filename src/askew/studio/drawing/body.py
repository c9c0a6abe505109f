"""Torso, neck and clothes.

The abstract pin on the chest that makes the value of ethnicity readable: a shape, a colour, an inner mark.
"""

from __future__ import annotations

import math
from itertools import pairwise

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Point
from askew.studio.drawing.figures import draw_figure
from askew.studio.drawing.look import Look


def draw_torso(canvas: Canvas, look: Look) -> None:
    """Shoulders and chest in the colour of the outer garment."""
    cloth, base = canvas.on("clothes"), look.colours["cloth"]
    right = look.build.torso
    outer = [(x + 0.7, y - 0.8) for x, y in right]
    cloth.symmetric([(0, right[0][1] - 1), *outer, (0, 151)], palette.darker(base, 0.6))
    cloth.symmetric([(0, right[0][1]), *right, (0, 150)], base)
    if look.scene.clothing == "informal" and look.jitter["garment"] < 1 / 3:
        for y in (96, 106, 116, 126):
            half = _edge(look, y + 2.5) - 0.8
            cloth.box(-half, y, half, y + 4.5, palette.lighter(base, 0.72))
    draw_figure(canvas, look, f"{look.scene.body_type} contours")


def _edge(look: Look, y: float) -> float:
    """Half width of the torso at height y."""
    points = look.build.torso
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 <= y <= y1:
            return x0 + (x1 - x0) * (y - y0) / (y1 - y0)
    return points[-1][0]


def draw_neck(canvas: Canvas, look: Look) -> None:
    """The neck with its shadow, and the open neckline of the garment."""
    skin, build = look.skin, look.build
    neck = canvas.on("neck")
    n = build.neck
    low = 97.0 if look.female else 87.5
    if look.scene.clothing == "formal":
        low = 92.0 if look.female else 86.0
    wide = n + (7.5 if look.female else 2.5)
    collar = 83.5 if look.female else 80.5
    neck.symmetric([(0, 60), (n, 62), (n * 0.98, 74), (wide, collar), (wide * 0.62, low - 4), (0, low)], skin.base)
    _neck_shade(neck, look, low)


def _neck_shade(neck: Canvas, look: Look, low: float) -> None:
    skin, n = look.skin, look.build.neck
    chin = 46 + look.build.chin_y
    neck.blob([(-n + 0.6, 64), (n - 0.6, 64), (n - 0.8, chin + 3), (0, chin + 6.5), (-n + 0.8, chin + 3)], skin.deep)
    if look.scene.body_type == "muscular":
        for side in (-1, 1):
            neck.stroke([(side * (n - 4), chin + 1), (side * 3, low - 3)], 1.3, skin.line, 0.2)
    if look.female:
        for side in (-1, 1):
            neck.stroke([(side * 4, 87), (side * 12, 85)], 1.2, skin.deep, 0.3)


def draw_clothes(canvas: Canvas, look: Look) -> None:
    """Collar, lapels and what is worn at the neck."""
    varied = look.jitter
    if look.scene.clothing == "formal":
        often, seldom, share = ("bow", "buttons", 0.5) if look.female else ("tie", "bow", 0.75)
        for figure in ("shirt", often if varied["part"] < share else seldom, "lapels"):
            draw_figure(canvas, look, f"{look.who} {figure}")
    else:
        base, collar = look.colours["cloth"], ("collar", "hood", "heart collar")[int(varied["garment"] * 3)]
        trim = palette.darker(base, 0.28) if varied["shirt"] < 0.6 else palette.lighter(base, 0.75)
        draw_figure(canvas, look, f"{look.who} {collar}", trim)


def _regular(corners: int, radius: float, turn: float = 0.0) -> list[Point]:
    angles = [math.tau * (i + turn) / corners - math.pi / 2 for i in range(corners)]
    return [(radius * math.cos(a), radius * math.sin(a)) for a in angles]


def _star(radius: float) -> list[Point]:
    return [
        (r * math.cos(math.tau * i / 10 - math.pi / 2), r * math.sin(math.tau * i / 10 - math.pi / 2))
        for i in range(10)
        for r in [radius if i % 2 == 0 else radius * 0.5]
    ]


_SHAPES: dict[str, list[Point]] = {
    "white": _regular(28, 1.0),
    "black": _regular(4, 1.22, 0.5),
    "asian": [(x * 1.15, y * 1.15 + 0.16) for x, y in _regular(3, 1.0)],
    "south asian": [(x * 0.92, y * 1.22) for x, y in _regular(4, 1.0)],
    "middle eastern": _star(1.28),
    "hispanic": _regular(6, 1.1, 0.5),
}
_RADIUS = 7.2


def draw_pin(canvas: Canvas, look: Look, x: float, y: float) -> None:
    """Draw the pin of an ethnicity with its centre at (x, y)."""
    ethnicity = look.scene.ethnicity
    pin = canvas.on("pin").placed(x, y)
    for colour, grow in ((palette.INK, 1.5), (palette.WHITE, 0.5), (palette.PIN[ethnicity], -0.7)):
        radius = _RADIUS + grow
        pin.polygon([(px * radius, py * radius) for px, py in _SHAPES[ethnicity]], colour)
    draw_figure(pin, look, f"{ethnicity} mark")
