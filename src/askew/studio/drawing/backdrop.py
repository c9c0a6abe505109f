"""The place behind the person: a room or a landscape."""

from __future__ import annotations

import random

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import SIZE, Canvas, Colour

_WOOD: Colour = (150, 106, 72)


def draw_backdrop(canvas: Canvas, environment: str, position: float) -> None:
    """Draw a room or a landscape; `position` in [0, 1) decides its details."""
    source = random.Random(int(position * 2**53))
    (_room if environment == "indoors" else _landscape)(canvas.on("backdrop"), source)


def _room(canvas: Canvas, source: random.Random) -> None:
    wall = source.choice(palette.ONE_OF["walls"])
    canvas.box(0, 0, SIZE, SIZE, wall)
    if source.random() < 0.5:
        for x in range(source.randrange(6), SIZE, 12):
            canvas.box(x, 0, x + 5, 96, palette.lighter(wall, 0.3))
    skirting = source.uniform(86, 94)
    canvas.box(0, skirting, SIZE, SIZE, palette.mix(wall, _WOOD, 0.55))
    canvas.box(0, skirting, SIZE, skirting + 3, palette.lighter(wall, 0.6))
    canvas.box(0, skirting + 3, SIZE, skirting + 4, palette.darker(wall, 0.45))
    left, right = source.sample((_shelf, _frame, _lamp, _curtain, _clock), 2)
    left(canvas, 18 + source.uniform(-3, 3), source)
    right(canvas, 110 + source.uniform(-3, 3), source)


def _shelf(canvas: Canvas, x: float, source: random.Random) -> None:
    canvas.box(x - 17, 8, x + 17, 84, palette.darker(_WOOD, 0.45))
    canvas.box(x - 15, 10, x + 15, 82, palette.lighter(_WOOD, 0.35))
    for top in (10, 34, 58):
        left = x - 14.0
        while left < x + 11:
            width, height = source.uniform(3.5, 5.5), source.uniform(14, 19)
            canvas.box(
                left, top + 21.5 - height, left + width - 0.7, top + 21.5, source.choice(palette.ONE_OF["books"])
            )
            left += width
        canvas.box(x - 16, top + 21.5, x + 16, top + 24, palette.darker(_WOOD, 0.35))


def _frame(canvas: Canvas, x: float, source: random.Random) -> None:
    top = source.uniform(14, 22)
    canvas.box(x - 15, top, x + 15, top + 38, palette.darker(_WOOD, 0.4))
    canvas.box(x - 12.5, top + 2.5, x + 12.5, top + 35.5, palette.SNOW)
    hue = source.choice(palette.ONE_OF["books"])
    canvas.box(x - 9, top + 6, x + 9, top + 32, palette.lighter(hue, 0.45))
    canvas.polygon([(x - 9, top + 32), (x + 9, top + 10), (x + 9, top + 32)], palette.darker(hue, 0.2))
    canvas.box(x - 6, top + 9, x, top + 15, palette.darker(hue, 0.35))


def _lamp(canvas: Canvas, x: float, source: random.Random) -> None:
    shade = source.choice(((240, 196, 104), (226, 140, 110), (150, 190, 180)))
    canvas.box(x - 1.2, 0, x + 1.2, 24, palette.INK)
    canvas.polygon([(x - 6, 22), (x + 6, 22), (x + 15, 42), (x - 15, 42)], shade)
    canvas.polygon([(x + 1, 22), (x + 6, 22), (x + 15, 42), (x + 6, 42)], palette.darker(shade, 0.25))
    canvas.ellipse(x, 42.5, 5, 4, (255, 246, 200))
    canvas.box(x - 15, 41, x + 15, 43, palette.darker(shade, 0.45))


def _curtain(canvas: Canvas, x: float, source: random.Random) -> None:
    cloth = source.choice(palette.ONE_OF["books"])
    side = -1 if x < SIZE / 2 else 1
    inner, outer = x - side * 14, x + side * 30
    canvas.box(min(inner, outer), 8, max(inner, outer), 92, cloth)
    for step in range(4):
        fold = inner + side * (4 + 8 * step)
        canvas.box(fold - 1.5, 8, fold + 1.5, 92, palette.darker(cloth, 0.3))
    canvas.box(min(inner - side * 4, outer), 5, max(inner - side * 4, outer), 8.5, palette.darker(_WOOD, 0.5))


def _clock(canvas: Canvas, x: float, source: random.Random) -> None:
    y = source.uniform(24, 34)
    canvas.ellipse(x, y, 14, 14, palette.darker(_WOOD, 0.4))
    canvas.ellipse(x, y, 11.5, 11.5, palette.SNOW)
    canvas.stroke([(x, y), (x, y - 8)], 1.6, palette.INK)
    canvas.stroke([(x, y), (x + source.choice((-6, 6)), y + 2)], 1.6, palette.INK)
    canvas.box(x - 16, 62, x + 16, 66, palette.darker(_WOOD, 0.3))
    canvas.polygon([(x - 5, 50), (x + 5, 50), (x + 3.5, 62), (x - 3.5, 62)], source.choice(palette.ONE_OF["books"]))


def _landscape(canvas: Canvas, source: random.Random) -> None:
    sky, hill = source.choice(palette.ONE_OF["skies"]), source.choice(palette.ONE_OF["hills"])
    canvas.box(0, 0, SIZE, SIZE, sky)
    canvas.box(0, 46, SIZE, SIZE, palette.lighter(sky, 0.3))
    sun, cloud = source.sample((16.0, 110.0), 2)
    if source.random() < 0.7:
        canvas.ellipse(sun, source.uniform(14, 20), 9, 9, (252, 206, 92))
    for x, y in ((cloud, source.uniform(16, 24)), (sun + 4, source.uniform(36, 42))):
        _cloud(canvas, x, y, source.uniform(0.85, 1.1), palette.darker(sky, 0.12))
    crest = source.uniform(66, 74)
    far = palette.mix(hill, sky, 0.35)
    canvas.blob([(-20, crest + 4), (20, crest - 10), (60, crest + 2), (100, crest - 12), (150, crest), (150, 150),
                 (-20, 150)], far)  # fmt: skip
    for x in (source.uniform(6, 14), source.uniform(28, 34), source.uniform(100, 106), source.uniform(116, 124)):
        _tree(canvas, x, crest + source.uniform(10, 16), source, palette.darker(hill, 0.3))
    canvas.blob([(-20, crest + 16), (30, crest + 9), (80, crest + 16), (150, crest + 8), (150, 150), (-20, 150)], hill)


def _cloud(canvas: Canvas, x: float, y: float, size: float, shade: Colour) -> None:
    for colour, drop in ((shade, 1.3), (palette.WHITE, 0.0)):
        for dx, dy, rx, ry in ((-8, 2, 7, 5), (8, 2, 7, 5), (0, -1, 8.5, 7)):
            canvas.ellipse(x + dx * size, y + dy * size + drop, rx * size, ry * size, colour)


def _tree(canvas: Canvas, x: float, y: float, source: random.Random, leaf: Colour) -> None:
    height = source.uniform(20, 30)
    canvas.box(x - 1.5, y - 8, x + 1.5, y + 4, palette.darker(_WOOD, 0.3))
    if source.random() < 0.5:
        canvas.polygon([(x - 9, y - 5), (x, y - height - 6), (x + 9, y - 5)], leaf)
    else:
        canvas.ellipse(x, y - height * 0.6, 9, height * 0.48, leaf)
