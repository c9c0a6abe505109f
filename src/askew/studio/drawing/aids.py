"""Glasses, dark glasses, cane, hearing aid, wheelchair."""

from __future__ import annotations

import math

from askew.studio.drawing import palette
from askew.studio.drawing.body import garment
from askew.studio.drawing.canvas import Canvas, Colour
from askew.studio.drawing.face import EYE_X
from askew.studio.drawing.look import Look

_STEEL: Colour = (146, 152, 162)
_TYRE: Colour = (44, 44, 52)


def draw_eyewear(canvas: Canvas, look: Look) -> None:
    """Clear glasses, or the dark glasses of a blind person."""
    dark = look.skin.lightness < 50
    if look.scene.disability == "blind":
        _dark_glasses(canvas.on("aid"), look)
    elif look.scene.glasses == "glasses":
        frame = palette.pick(palette.ONE_OF["bright_frames" if dark else "frames"], look.jitter["rim"])
        _clear_glasses(canvas.on("lens"), look, frame)


def _dark_glasses(aid: Canvas, look: Look) -> None:
    rim, lens = (150, 154, 166), (16, 16, 22)
    w = look.build.face
    aid.stroke([(-w, -3.2), (w, -3.2)], 2.4, rim)
    for side in (-1, 1):
        for colour, grow in ((rim, 0.9), (lens, 0.0)):
            aid.blob([(side * (1.9 - grow), -4.6 - grow), (side * 9, -5.0 - grow), (side * (17.0 + grow), -4.4 - grow),
                      (side * (16.2 + grow), 3.2), (side * 10, 6.6 + grow), (side * (4.0 - grow), 4.2)],
                     colour)  # fmt: skip
        aid.stroke([(side * 9.5 - 3, 2), (side * 9.5 + 1, -2.6)], 1.4, (120, 126, 142), 0.3)


def _clear_glasses(lens: Canvas, look: Look, frame: Colour) -> None:
    w, width = look.build.face, 1.7
    for side in (-1, 1):
        x = side * EYE_X
        if look.jitter["frame"] < 0.5:
            lens.ring(x, -0.2, 7.8, 7.4, width, frame)
        else:
            corners = [(x - 7, -6.6), (x + 7, -6.6), (x + 7, 5.8), (x - 7, 5.8), (x - 7, -6.6)]
            lens.line(corners, width, frame)
        lens.stroke([(x - 5.0, 2.6), (x - 2.8, 4.8)], 1.1, palette.WHITE)
        lens.line([(side * (EYE_X + 7), -2.0), (side * (w + 1), -3.0)], width, frame)
    lens.stroke([(-2.2, -0.6), (0, -2.0), (2.2, -0.6)], width, frame)


def draw_hearing_aid(canvas: Canvas, look: Look) -> None:
    """A coloured device behind the right ear, with its wire and earpiece, larger than life."""
    if look.scene.disability != "hearing aid":
        return
    aid, x = canvas.on("aid"), look.build.face + 1.2
    colour = palette.pick(palette.ONE_OF["hearing_aids"], look.jitter["aid"])
    path = [(x - 1.5, -5.8), (x + 3.2, -6.0), (x + 6.2, -1.0), (x + 4.8, 7.5)]
    aid.stroke(path, 6.4, palette.INK)
    aid.stroke(path, 4.4, colour)
    aid.stroke([(x - 1.5, -5.5), (x - 3.6, -1.5), (x - 1.2, 2.6)], 1.4, palette.INK)
    aid.ellipse(x - 0.8, 2.6, 2.9, 2.9, palette.INK)
    aid.ellipse(x - 0.8, 2.6, 1.9, 1.9, colour)


def draw_chair_back(canvas: Canvas, look: Look) -> None:
    """Backrest and push handles behind the shoulders."""
    if look.scene.disability != "wheelchair":
        return
    chair = canvas.on("chair")
    for side in (-1, 1):
        chair.line([(side * 39, 140), (side * 39, 66)], 4.2, palette.darker(_STEEL, 0.3))
        chair.line([(side * 38, 67), (side * 52, 64)], 6.4, _TYRE)
    chair.box(-37, 73, 37, 140, (48, 76, 122))
    chair.box(-37, 73, 37, 76.5, (30, 48, 82))


def draw_chair_wheels(canvas: Canvas, look: Look) -> None:
    """The big wheels at both sides, in front of the body."""
    if look.scene.disability != "wheelchair":
        return
    chair = canvas.on("chair")
    for side in (-1, 1):
        wheel = chair.placed(side * 60, 116)
        for turn in range(12):
            angle = math.tau * turn / 12
            wheel.stroke([(0, 0), (26 * math.cos(angle), 26 * math.sin(angle))], 1.0, (222, 226, 232))
        wheel.ring(0, 0, 30, 30, 5.2, _TYRE)
        wheel.ring(0, 0, 22.5, 22.5, 2.6, (222, 226, 232))
        wheel.ring(0, 0, 20.2, 20.2, 0.9, _TYRE)
        wheel.ellipse(0, 0, 4.5, 4.5, _STEEL)


def draw_cane(canvas: Canvas, look: Look) -> None:
    """A white cane with a red tip, held upright at the right."""
    if look.scene.disability != "blind":
        return
    cloth, cane, hand = canvas.on("clothes"), canvas.on("cane"), canvas.on("neck")
    sleeve = palette.lighter(garment(look), 0.1)
    cloth.stroke([(40, 140), (45, 118), (47, 104)], 15.0, palette.darker(sleeve, 0.5))
    cloth.stroke([(40, 140), (45, 118), (47, 104)], 13.0, sleeve)
    top, bottom = (44.5, 60.0), (52.5, 127.0)

    def at(share: float) -> tuple[float, float]:
        return top[0] + (bottom[0] - top[0]) * share, top[1] + (bottom[1] - top[1]) * share

    cane.line([at(0), at(1)], 5.6, palette.INK)
    cane.line([at(0.02), at(0.78)], 3.8, palette.WHITE)
    cane.line([at(0.8), at(1)], 4.0, (224, 32, 40))
    cane.line([at(0), at(0.16)], 5.6, palette.INK)
    x, y = at(0.56)
    for dy in (-4.2, -1.4, 1.4, 4.2):
        hand.ellipse(x, y + dy, 5.4, 2.6, look.skin.line)
        hand.ellipse(x - 0.2, y + dy, 4.8, 1.9, look.skin.base)
