"""The abstract pin on the chest that makes the value of ethnicity readable: a shape, a colour, an inner mark."""

from __future__ import annotations

import math

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Point


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


def draw_pin(canvas: Canvas, ethnicity: str, x: float, y: float) -> None:
    """Draw the pin of an ethnicity with its centre at (x, y)."""
    pin = canvas.on("pin").placed(x, y)
    shape = _SHAPES[ethnicity]
    for colour, radius in (
        (palette.INK, _RADIUS + 1.5),
        (palette.WHITE, _RADIUS + 0.5),
        (palette.PIN[ethnicity], _RADIUS - 0.7),
    ):
        pin.polygon([(px * radius, py * radius) for px, py in shape], colour)
    _mark(pin, ethnicity)


def _mark(pin: Canvas, ethnicity: str) -> None:
    white, ink = palette.WHITE, palette.INK
    if ethnicity == "white":
        pin.ring(0, 0, 4.2, 4.2, 1.6, white)
    elif ethnicity == "black":
        for x in (-2.3, 2.3):
            pin.box(x - 1.0, -4.2, x + 1.0, 4.2, ink)
    elif ethnicity == "asian":
        pin.ellipse(0, 2.0, 2.2, 2.2, white)
    elif ethnicity == "south asian":
        pin.box(-3.6, -1.1, 3.6, 1.1, white)
    elif ethnicity == "middle eastern":
        pin.ellipse(0, 0.2, 2.1, 2.1, ink)
    else:
        pin.line([(-3.2, -3.2), (3.2, 3.2)], 1.7, ink)
        pin.line([(3.2, -3.2), (-3.2, 3.2)], 1.7, ink)
