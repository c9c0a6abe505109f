"""Hair: short, long or none, in textures that vary within every ethnicity."""

from __future__ import annotations

import math
from collections.abc import Sequence

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour, Point
from askew.studio.drawing.look import Look
from askew.studio.drawing.workwear import worn

_TEXTURE = {  # share of straight, then wavy hair; the rest is coily
    "white": (0.55, 0.95),
    "asian": (0.8, 1.0),
    "middle eastern": (0.3, 0.95),
    "hispanic": (0.35, 0.9),
    "south asian": (0.5, 0.95),
    "black": (0.08, 0.2),
}


def _texture(look: Look) -> str:
    straight, wavy = _TEXTURE[look.scene.ethnicity]
    position = look.jitter["cut"]
    return "straight" if position < straight else "wavy" if position < wavy else "coily"


def _tufts(canvas: Canvas, points: Sequence[Point], radius: float, colour: Colour) -> None:
    """Curls along an outline."""
    for x, y in points:
        canvas.ellipse(x, y, radius, radius, colour)


def draw_back_hair(canvas: Canvas, look: Look) -> None:
    """The hair behind head and shoulders."""
    if look.scene.hair == "bald":
        return
    hair, w, texture = canvas.on("hair"), look.build.face, _texture(look)
    shade = palette.darker(look.hair, 0.25)
    if look.scene.hair == "short":
        hair.symmetric([(0, -33), (w * 0.8, -28), (w + 2.6, -12), (w + 1.8, -1), (w - 4, 2), (0, 2)], shade)
        return
    wide = w + {"straight": 5.0, "wavy": 7.5, "coily": 10.0}[texture]
    hair.symmetric([(0, -33.5), (wide * 0.7, -29), (wide, -8), (wide + 1, 16), (wide + 1.5, 36), (w * 0.7, 44),
                    (0, 40)], shade)  # fmt: skip
    if texture == "coily":
        edge = [(s * (wide + 0.5), y) for s in (-1, 1) for y in (-10, -1, 8, 17, 26, 35)]
        _tufts(hair, edge, 5.0, shade)


def draw_front_hair(canvas: Canvas, look: Look) -> None:
    """The hair over the skull, with strands and highlights; greying temples in middle age."""
    if look.scene.hair == "bald":
        return
    hair, texture = canvas.on("hair"), _texture(look)
    _cap(hair, look, texture)
    if look.scene.hair == "long":
        _locks(hair, look, texture)
    elif worn(look.scene.occupation, "face"):
        _pushed_out(hair, look)
    if look.scene.age == "middle-aged":
        _temples(hair, look)


def _cap(hair: Canvas, look: Look, texture: str) -> None:
    w = look.build.face
    part = -7.0 if look.jitter["part"] < 0.5 else 7.0
    side = -1 if part < 0 else 1
    shine = palette.lighter(look.hair, 0.28)
    strand = palette.darker(look.hair, 0.4) if sum(look.hair) > 220 else palette.lighter(look.hair, 0.2)
    low = -3.0 if look.scene.hair == "short" else 1.0
    top = -34.0 if texture != "coily" else -35.5
    outer = [(w + 0.6, low), (w + 2.2, -14), (w * 0.86, -27), (w * 0.4, top + 1), (0, top), (-w * 0.4, top + 1),
             (-w * 0.86, -27), (-w - 2.2, -14), (-w - 0.6, low)]  # fmt: skip
    if texture == "coily":
        inner = [(-w + 1.6, -12), (-w * 0.55, -21.5), (0, -23), (w * 0.55, -21.5), (w - 1.6, -12)]
    else:
        inner = [(-w + 1.6, -11), (-w * 0.62, -20), (part, -24.5), (w * 0.62, -20), (w - 1.6, -11)]
    hair.blob([*outer, *inner], look.hair)
    hair.stroke(outer, 1.1, palette.darker(look.hair, 0.45), 0.6)
    if texture == "coily":
        for turn in range(11):
            angle = math.pi * (turn + 0.5) / 11
            hair.ellipse(math.cos(angle) * (w + 0.4), -14 - math.sin(angle) * 18.5, 4.2, 4.2, look.hair)
        for x, y in ((-10, -27), (0, -29), (10, -27), (-15, -21), (15, -21)):
            hair.stroke([(x - 2, y), (x, y - 1.6), (x + 2, y)], 1.1, strand, 0.4)
    else:
        wave = 1.6 if texture == "wavy" else 0.0
        hair.stroke([(part, -25), (part + side * 2, -30), (part + side * 1, -33)], 1.1, strand, 0.3)
        for shift in (-0.55, 0.5):
            hair.stroke([(part - side * 2, -26), (w * shift, -27.5 - wave), (w * shift * 1.5, -20 + wave)], 1.0, strand,
                        0.3)  # fmt: skip
        hair.stroke([(-side * 4, -30.2), (-side * 10, -28), (-side * 14, -23.5)], 2.0, shine, 0.2)


def _locks(hair: Canvas, look: Look, texture: str) -> None:
    """Locks over the shoulders; on the right the hair lies behind the ear."""
    w = look.build.face
    wide = w + {"straight": 4.5, "wavy": 7.0, "coily": 9.0}[texture]
    strand = palette.darker(look.hair, 0.4) if sum(look.hair) > 220 else palette.lighter(look.hair, 0.2)
    wave = {"straight": 0.0, "wavy": 1.8, "coily": 2.2}[texture]
    for side in (-1, 1):
        top = -12.0
        hair.blob([(side * (w - 1.5), top), (side * (w + 3), top - 4), (side * (wide + wave), 10),
                   (side * (wide + 1 - wave), 26), (side * (wide + 0.5), 44), (side * (w - 3), 50),
                   (side * (w - 5.5 + wave), 38), (side * (w - 3 - wave / 2), 22), (side * (w - 1.0), 8)],
                  look.hair)  # fmt: skip
        for shift in (0.5, 4.0):
            hair.stroke([(side * (w + shift), 8), (side * (w + shift + wave), 24), (side * (w + shift - 2), 42)], 1.1,
                        strand, 0.3)  # fmt: skip


def _pushed_out(hair: Canvas, look: Look) -> None:
    """Short hair that a hat pushes out over the ears; without it one could not tell it from none."""
    w = look.build.face
    for side in (-1, 1):
        outline = [(side * (w - 3.5), -21), (side * (w + 4), -20), (side * (w + 6.5), -13), (side * (w + 4.5), -6),
                   (side * (w + 0.5), -3), (side * (w - 1.5), -10)]  # fmt: skip
        hair.blob(outline, look.hair)
        hair.stroke(outline[1:5], 1.2, palette.darker(look.hair, 0.45), 0.4)


def _temples(hair: Canvas, look: Look) -> None:
    w, grey = look.build.face, (186, 184, 186)
    for side in (-1, 1):
        for shift in (0.0, 2.2):
            x = w + 1.6 - shift
            hair.stroke([(side * x, -4.5), (side * (x + 0.2), -10), (side * (x - 2.2), -17)], 1.5, grey, 0.3)
