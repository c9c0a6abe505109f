"""Hair: short, long or none, in textures that vary within every ethnicity."""

from __future__ import annotations

import math

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour
from askew.studio.drawing.figures import draw_figure
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


def draw_back_hair(canvas: Canvas, look: Look) -> None:
    """The hair behind head and shoulders."""
    if look.scene.hair != "bald":
        kind = "short" if look.scene.hair == "short" else f"long {_texture(look)}"
        draw_figure(canvas, look, f"{kind} hair behind")


def draw_front_hair(canvas: Canvas, look: Look) -> None:
    """The hair over the skull, with strands and highlights; greying temples in middle age."""
    if look.scene.hair == "bald":
        return
    texture = _texture(look)
    strand = palette.darker(look.hair, 0.4) if sum(look.hair) > 220 else palette.lighter(look.hair, 0.2)
    _cap(canvas.on("hair"), look, texture, strand)
    if look.scene.hair == "long":  # on the right it lies behind the ear
        draw_figure(canvas, look, f"{texture} locks", strand)
    elif worn(look.scene.occupation, "face"):  # without it one could not tell it from none
        draw_figure(canvas, look, "pushed out hair")
    if look.scene.age == "middle-aged":
        draw_figure(canvas, look, "grey temples")


def _cap(hair: Canvas, look: Look, texture: str, strand: Colour) -> None:
    w = look.build.face
    part = -7.0 if look.jitter["part"] < 0.5 else 7.0
    side = -1 if part < 0 else 1
    shine = palette.lighter(look.hair, 0.28)
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
