"""Torso, neck and clothes.

The abstract pin on the chest that makes the value of ethnicity readable: a shape, a colour, an inner mark.
"""

from __future__ import annotations

import math
from itertools import pairwise

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour, Point
from askew.studio.drawing.look import Look


def draw_torso(canvas: Canvas, look: Look) -> None:
    """Shoulders and chest in the colour of the outer garment."""
    cloth, base = canvas.on("clothes"), garment(look)
    right = look.build.torso
    outer = [(x + 0.7, y - 0.8) for x, y in right]
    cloth.symmetric([(0, right[0][1] - 1), *outer, (0, 151)], palette.darker(base, 0.6))
    cloth.symmetric([(0, right[0][1]), *right, (0, 150)], base)
    if look.scene.clothing == "informal":
        _informal_pattern(cloth, look, base)
    _contours(cloth, look, base)


def garment(look: Look) -> Colour:
    """The colour of the jacket, shirt or hoodie."""
    colours = palette.ONE_OF["jackets"] if look.scene.clothing == "formal" else palette.ONE_OF["casuals"]
    return palette.pick(colours, look.jitter["cloth"])


def _edge(look: Look, y: float) -> float:
    """Half width of the torso at height y."""
    points = look.build.torso
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 <= y <= y1:
            return x0 + (x1 - x0) * (y - y0) / (y1 - y0)
    return points[-1][0]


def _informal_pattern(cloth: Canvas, look: Look, base: Colour) -> None:
    style = int(look.jitter["garment"] * 3)
    if style == 0:
        band = palette.lighter(base, 0.72)
        for y in (96, 106, 116, 126):
            half = _edge(look, y + 2.5) - 0.8
            cloth.box(-half, y, half, y + 4.5, band)


def _contours(cloth: Canvas, look: Look, base: Colour) -> None:
    """The lines of arms and chest that tell the body types apart."""
    line, wide = palette.darker(base, 0.62), look.build.torso[-2][0]
    light = palette.lighter(base, 0.22)
    body = look.scene.body_type
    for side in (-1, 1):
        if body == "muscular":
            cloth.stroke([(side * (wide - 9), 91), (side * (wide - 13), 96), (side * (wide - 13), 104)], 2.0, line, 0.3)
            cloth.polygon([(side * (wide - 12), 104), (side * (wide - 12.5), 140), (side * (wide - 19), 140)], line)
            cloth.stroke([(side * (wide - 4.5), 96), (side * (wide - 3), 103), (side * (wide - 4.5), 110)], 2.2, light,
                         0.2)  # fmt: skip
            cloth.stroke([(side * 2, 117.5), (side * 14, 117.5), (side * (wide - 16), 110)], 2.2, line, 0.3)
        elif body == "obese":
            cloth.stroke([(side * (wide - 14), 130), (side * (wide - 10), 118), (side * (wide - 14), 106)], 2.0, line)
            cloth.stroke([(side * 8, 119), (side * 22, 121), (side * (wide - 17), 115)], 2.0, line, 0.2)
        else:
            cloth.stroke([(side * (wide - 7.5), 128), (side * (wide - 7), 112), (side * (wide - 6), 104)], 1.6, line)
    if body == "muscular":
        cloth.stroke([(0, 104), (0, 118)], 1.8, line, 0.3)


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
    cloth = canvas.on("clothes")
    if look.scene.clothing == "formal":
        _suit(cloth, look)
    else:
        _casual(cloth, look)


def _suit(cloth: Canvas, look: Look) -> None:
    base, n = garment(look), look.build.neck
    shirt = palette.pick(palette.ONE_OF["shirts"], look.jitter["shirt"])
    open_neck = 94.0 if look.female else 86.5
    for side in (-1, 1):
        cloth.polygon([(side * (n + 1), 79), (side * 1.0, open_neck), (0, 126), (side * 13, 100), (side * (n + 5), 82)],
                      shirt)  # fmt: skip
        collar = [(side * (n + 0.5), 76.5), (side * (n + 4.5), 81), (side * 8.5, 95), (side * 0.6, open_neck)]
        cloth.polygon(collar, palette.SNOW)
        cloth.line([collar[1], collar[2], collar[3]], 0.9, palette.darker(shirt, 0.35))
    _neckwear(cloth, look, open_neck)
    edge, light = palette.darker(base, 0.55), palette.lighter(base, 0.2)
    for side in (-1, 1):
        lapel = [(side * (n + 4), 79.5), (side * (n + 10), 84), (side * 22, 100), (side * 17, 102.5), (side * 18, 106),
                 (side * 0.5, 130), (side * 8.5, 99)]  # fmt: skip
        cloth.polygon(lapel, light)
        cloth.line([lapel[1], lapel[2], lapel[3], lapel[4], lapel[5]], 1.1, edge)
        cloth.line([lapel[0], lapel[6], lapel[5]], 1.1, edge)


def _neckwear(cloth: Canvas, look: Look, top: float) -> None:
    tie = palette.pick(palette.ONE_OF["ties"], look.jitter["tie"])
    dark = palette.darker(tie, 0.4)
    if not look.female:
        if look.jitter["part"] < 0.75:
            cloth.polygon([(-2, top + 4), (2, top + 4), (5, 116), (0, 128), (-5, 116)], tie)
            cloth.polygon([(-4, top - 0.5), (4, top - 0.5), (2.4, top + 5), (-2.4, top + 5)], dark)
        else:
            _bow(cloth, top + 2.5, 8.5, tie, dark)
            for y in (102, 110):
                cloth.ellipse(0, y, 1.1, 1.1, dark)
    elif look.jitter["part"] < 0.5:
        _bow(cloth, top + 3, 9.5, tie, dark)
        for side in (-1, 1):
            cloth.polygon([(0, top + 4), (side * 5.5, top + 15), (side * 1.5, top + 16)], tie)
    else:
        for drop in (5, 13, 21):
            cloth.ellipse(0, top + drop, 1.3, 1.3, dark)


def _bow(cloth: Canvas, y: float, half: float, tie: Colour, dark: Colour) -> None:
    for side in (-1, 1):
        cloth.polygon([(0, y - 1), (side * half, y - 4.5), (side * half, y + 4.5), (0, y + 1)], tie)
        cloth.line([(side * 2, y), (side * half * 0.7, y)], 0.8, dark)
    cloth.ellipse(0, y, 2.2, 2.4, dark)


def _casual(cloth: Canvas, look: Look) -> None:
    base, n = garment(look), look.build.neck
    trim = palette.darker(base, 0.28) if look.jitter["shirt"] < 0.6 else palette.lighter(base, 0.75)
    if look.female:
        rim = [(-n - 8.2, 82.5), (-n * 0.9 - 2.5, 92), (0, 97.5), (n * 0.9 + 2.5, 92), (n + 8.2, 82.5)]
    else:
        rim = [(-n - 3.2, 79.5), (-n * 0.7, 85.5), (0, 88), (n * 0.7, 85.5), (n + 3.2, 79.5)]
    style = int(look.jitter["garment"] * 3)
    if style == 1:
        _hood(cloth, rim, base)
    cloth.stroke(rim, 3.6, trim)
    cloth.stroke([(x, y + 2.2) for x, y in rim], 0.9, palette.darker(base, 0.5))
    if style == 1:
        for side in (-1, 1):
            cloth.line([(side * 5, rim[2][1] + 1), (side * 5.6, rim[2][1] + 14)], 1.4, palette.SNOW)
            cloth.ellipse(side * 5.6, rim[2][1] + 15, 1.3, 1.7, palette.SNOW)
    elif style == 2:
        cloth.blob([(-4, 106), (0, 109), (4, 106), (5.5, 110), (0, 117), (-5.5, 110)], palette.lighter(base, 0.65))


def _hood(cloth: Canvas, rim: list[tuple[float, float]], base: Colour) -> None:
    for side in (-1, 1):
        outer = side * (rim[4][0] + 6)
        cloth.blob([(side * (rim[4][0] - 1), rim[4][1] - 6), (outer, rim[4][1] - 1), (side * 12, rim[2][1] + 2),
                    (side * 2, rim[2][1] + 4), (side * rim[3][0], rim[3][1])], palette.darker(base, 0.22))  # fmt: skip


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
