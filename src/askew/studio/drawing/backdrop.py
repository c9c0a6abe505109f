"""Draw the room or the landscape behind the person."""

import random

from askew.studio.drawing.canvas import SIZE, Canvas
from askew.studio.drawing.figures import draw_thing
from askew.studio.drawing.palette import CHOICES, WHITE, darker, lighter, mix, named

_WOOD = named("wood")


def draw_backdrop(canvas: Canvas, environment: str, position: float) -> None:
    """Draw a room or a landscape. `position` in [0, 1) determines the details."""
    source = random.Random(int(position * 2**53))
    (_room if environment == "indoors" else _landscape)(canvas.on("backdrop"), source)


def _room(canvas: Canvas, source: random.Random) -> None:
    wall = source.choice(CHOICES["walls"])
    canvas.box(0, 0, SIZE, SIZE, wall)
    if source.random() < 0.5:
        for x in range(source.randrange(6), SIZE, 12):
            canvas.box(x, 0, x + 5, 96, lighter(wall, 0.3))
    skirting = source.uniform(86, 94)
    canvas.box(0, skirting, SIZE, SIZE, mix(wall, _WOOD, 0.55))
    canvas.box(0, skirting, SIZE, skirting + 3, lighter(wall, 0.6))
    canvas.box(0, skirting + 3, SIZE, skirting + 4, darker(wall, 0.45))
    left, right = source.sample(("shelf", "picture frame", "lamp", "curtain", "clock"), 2)
    _put(canvas, left, 18 + source.uniform(-3, 3), source)
    _put(canvas, right, 110 + source.uniform(-3, 3), source)


def _put(canvas: Canvas, thing: str, x: float, source: random.Random) -> None:
    """Draw an object, such as a clock, on the wall or in front of the wall."""
    colors = CHOICES["lamps" if thing == "lamp" else "books"]
    if thing != "shelf":
        measures = {"x": x, "s": -1 if x < SIZE / 2 else 1}
        if thing in ("picture frame", "clock"):
            measures["y"] = (
                source.uniform(14, 22) if thing == "picture frame" else source.uniform(24, 34)
            )
        if thing == "clock":
            measures["h"] = source.choice((-6, 6))
        draw_thing(canvas, thing, measures, source.choice(colors))
        return
    canvas.box(x - 17, 8, x + 17, 84, darker(_WOOD, 0.45))
    canvas.box(x - 15, 10, x + 15, 82, lighter(_WOOD, 0.35))
    for top in (10, 34, 58):
        left = x - 14.0
        while left < x + 11:
            width = source.uniform(3.5, 5.5)
            height = source.uniform(14, 19)
            canvas.box(
                left, top + 21.5 - height, left + width - 0.7, top + 21.5, source.choice(colors)
            )
            left += width
        canvas.box(x - 16, top + 21.5, x + 16, top + 24, darker(_WOOD, 0.35))


def _landscape(canvas: Canvas, source: random.Random) -> None:
    sky = source.choice(CHOICES["skies"])
    hill = source.choice(CHOICES["hills"])
    canvas.box(0, 0, SIZE, SIZE, sky)
    canvas.box(0, 46, SIZE, SIZE, lighter(sky, 0.3))
    sun, cloud = source.sample((16.0, 110.0), 2)
    if source.random() < 0.7:
        canvas.ellipse(sun, source.uniform(14, 20), 9, 9, (252, 206, 92))
    for x, y in ((cloud, source.uniform(16, 24)), (sun + 4, source.uniform(36, 42))):
        size = source.uniform(0.85, 1.1)
        for color, drop in ((darker(sky, 0.12), 1.3), (WHITE, 0.0)):
            for dx, dy, rx, ry in ((-8, 2, 7, 5), (8, 2, 7, 5), (0, -1, 8.5, 7)):
                canvas.ellipse(x + dx * size, y + dy * size + drop, rx * size, ry * size, color)
    crest = source.uniform(66, 74)
    draw_thing(canvas, "far hills", {"y": crest}, mix(hill, sky, 0.35))
    for x in (
        source.uniform(6, 14),
        source.uniform(28, 34),
        source.uniform(100, 106),
        source.uniform(116, 124),
    ):
        y = crest + source.uniform(10, 16)
        height = source.uniform(20, 30)
        canvas.box(x - 1.5, y - 8, x + 1.5, y + 4, darker(_WOOD, 0.3))
        if source.random() < 0.5:
            canvas.polygon([(x - 9, y - 5), (x, y - height - 6), (x + 9, y - 5)], darker(hill, 0.3))
        else:
            canvas.ellipse(x, y - height * 0.6, 9, height * 0.48, darker(hill, 0.3))
    draw_thing(canvas, "near hills", {"y": crest}, hill)
