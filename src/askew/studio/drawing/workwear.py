"""Headwear and garment accents of occupations. They leave brows, temples and the neckline free.

The occupation's sign: a card with an emblem at the lower left, headwear and a garment accent where natural.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from PIL import Image

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour
from askew.studio.drawing.look import Look
from askew.studio.paths import rows

_GOLD: Colour = (240, 196, 72)
_SILVER: Colour = (236, 240, 240)
_BRIM = -18.5


def _hard_hat(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -40), (w * 0.7, -36), (w + 1.5, -25), (w + 2, _BRIM), (0, _BRIM - 2)], colour)
    hat.symmetric([(0, -41.5), (3.4, -40.5), (4, _BRIM - 2), (0, _BRIM - 2)], palette.darker(colour, 0.25))
    hat.stroke([(-w - 4.5, _BRIM), (0, _BRIM - 2.2), (w + 4.5, _BRIM)], 4.0, palette.darker(colour, 0.4))


def _fire_helmet(hat: Canvas, w: float, colour: Colour) -> None:
    _hard_hat(hat, w, colour)
    hat.polygon([(-6, -34), (6, -34), (5, -24), (0, -21), (-5, -24)], _GOLD)
    hat.polygon([(-3, -32), (3, -32), (2.5, -26), (0, -24), (-2.5, -26)], palette.INK)


def _peaked_cap(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -42), (w * 0.8, -41), (w + 7, -34), (w + 1, -26), (0, -26)], colour)
    hat.box(-w - 0.5, -27, w + 0.5, -21, palette.darker(colour, 0.5))
    hat.stroke([(-w, -20.5), (0, -18.4), (w, -20.5)], 3.8, (20, 20, 26), 0.4)
    hat.ellipse(0, -33, 4.0, 4.4, _GOLD)
    hat.ellipse(0, -33, 1.8, 2.0, palette.darker(colour, 0.4))


def _pilot_cap(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -42), (w * 0.8, -41), (w + 7, -34), (w + 1, -26), (0, -26)], colour)
    hat.box(-w - 0.5, -27, w + 0.5, -21, _GOLD)
    hat.stroke([(-w, -20.5), (0, -18.4), (w, -20.5)], 3.8, (20, 20, 26), 0.4)
    hat.polygon([(-10, -36), (-2, -33), (2, -33), (10, -36), (4, -29), (-4, -29)], _GOLD)


def _baseball_cap(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -39), (w * 0.75, -35.5), (w + 1.2, -25), (w + 1.2, -20), (0, -21)], colour)
    hat.ellipse(0, -39, 2, 1.3, palette.darker(colour, 0.4))
    hat.ellipse(0, -29.5, 5.5, 5, palette.SNOW)
    hat.blob([(-w * 0.9, -20.5), (0, -23.5), (w * 0.9, -20.5), (w * 0.7, -16.8), (0, -18), (-w * 0.7, -16.8)],
             palette.darker(colour, 0.35))  # fmt: skip


def _visor(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -29), (w * 0.9, -26), (w + 1.6, -21), (w * 0.9, -20), (0, -22.5)], colour)
    hat.blob([(-w * 0.85, -20.5), (0, -24), (w * 0.85, -20.5), (w * 0.7, -16.8), (0, -18.2), (-w * 0.7, -16.8)],
             palette.darker(colour, 0.35))  # fmt: skip
    hat.ellipse(0, -26, 2.6, 1.8, _GOLD)


def _straw_hat(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -42), (w * 0.7, -40), (w * 0.9, -24), (0, -22)], colour)
    hat.stroke([(-w - 13, -21), (-w * 0.5, -22), (0, -21.6), (w * 0.5, -22), (w + 13, -21)], 5.4,
               palette.darker(colour, 0.2), 0.5)  # fmt: skip
    hat.stroke([(-w * 0.85, -27), (0, -25.5), (w * 0.85, -27)], 3.6, (170, 60, 48))


def _chef_hat(hat: Canvas, w: float, colour: Colour) -> None:
    shade = palette.darker(colour, 0.25)
    for x, y, r in ((-w * 0.62, -34, 9), (w * 0.62, -34, 9), (0, -36.5, 9.5)):
        hat.ellipse(x, y, r + 0.9, r + 0.9, shade)
    for x, y, r in ((-w * 0.62, -34, 9), (w * 0.62, -34, 9), (0, -36.5, 9.5)):
        hat.ellipse(x, y, r, r, colour)
    hat.symmetric([(0, -34), (w * 0.85, -33), (w * 0.95, -21), (0, -19.5)], colour)
    hat.stroke([(-w * 0.95, -21), (0, -19.5), (w * 0.95, -21)], 1.3, shade)
    for x in (-8, 0, 8):
        hat.stroke([(x, -33), (x, -23.5)], 1.1, shade)


def _nurse_cap(hat: Canvas, w: float, colour: Colour) -> None:
    hat.polygon([(-w * 0.75, -25), (-w * 0.95, -38), (0, -41), (w * 0.95, -38), (w * 0.75, -25), (0, -27)],
                palette.darker(colour, 0.3))  # fmt: skip
    hat.polygon([(-w * 0.7, -26), (-w * 0.88, -37), (0, -39.8), (w * 0.88, -37), (w * 0.7, -26), (0, -28)], colour)
    hat.box(-1.6, -38, 1.6, -29.5, (206, 44, 46))
    hat.box(-4.4, -35.4, 4.4, -32.2, (206, 44, 46))


def _surgical_cap(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -38), (w * 0.8, -34.5), (w + 2, -25), (w + 0.5, -20), (0, -20.5)], colour)
    hat.stroke([(-w - 0.5, -21), (0, -21.2), (w + 0.5, -21)], 2.2, palette.darker(colour, 0.35))
    for x, y in ((-10, -29), (0, -32), (10, -29)):
        hat.ellipse(x, y, 1.5, 1.5, palette.SNOW)


def _maid_cap(hat: Canvas, w: float, colour: Colour) -> None:
    for i in range(7):
        t = (i - 3) / 3
        hat.ellipse(t * w * 0.85, -35 + 9 * t * t, 4.6, 4.6, palette.darker(colour, 0.3))
        hat.ellipse(t * w * 0.85, -35 + 9 * t * t, 3.7, 3.7, colour)
    hat.stroke([(-w, -24), (-w * 0.5, -29.5), (0, -31), (w * 0.5, -29.5), (w, -24)], 2.6, palette.INK)


def _beret(hat: Canvas, w: float, colour: Colour) -> None:
    hat.blob([(-w - 5, -30), (-w * 0.6, -40), (4, -41), (w, -34), (w + 1, -24), (0, -24.5), (-w, -23)], colour)
    hat.stroke([(0, -41), (1, -44)], 2, colour)
    hat.stroke([(-w - 0.5, -23.2), (0, -24.4), (w + 0.8, -23.6)], 2.2, palette.darker(colour, 0.45))


def _flat_cap(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -37), (w * 0.9, -34), (w + 3.5, -25), (w * 0.8, -21), (0, -22.5)], colour)
    hat.stroke([(-w * 0.9, -20), (0, -21.4), (w * 0.9, -20)], 4.4, palette.darker(colour, 0.45), 0.4)
    for x in (-12, 0, 12):
        hat.stroke([(x, -33), (x * 1.1, -25)], 1.0, palette.lighter(colour, 0.4))


def _headband(hat: Canvas, w: float, colour: Colour) -> None:
    hat.stroke([(-w - 1, -21.4), (-w * 0.5, -23.4), (0, -24), (w * 0.5, -23.4), (w + 1, -21.4)], 4.6, colour)
    hat.stroke([(-w - 1, -21.4), (-w * 0.5, -23.4), (0, -24), (w * 0.5, -23.4), (w + 1, -21.4)], 1.4, palette.WHITE)


def _welding_visor(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -41), (w * 0.85, -39.5), (w + 2, -31), (w, -22), (0, -22)], colour)
    hat.box(-11, -37, 11, -28, (120, 190, 120))
    hat.box(-9, -35.4, 9, -29.6, (26, 60, 36))
    hat.stroke([(-w - 0.5, -22), (0, -22.4), (w + 0.5, -22)], 2.4, palette.darker(colour, 0.6))


def _knotted_scarf(hat: Canvas, w: float, colour: Colour) -> None:
    hat.symmetric([(0, -36), (w * 0.8, -32.5), (w + 1.8, -22), (w * 0.6, -25.5), (0, -26.5)], colour)
    for side in (-1, 1):
        hat.blob([(0, -36), (side * 7, -42), (side * 9, -37), (side * 4, -34.5)], palette.darker(colour, 0.2))
    for x, y in ((-12, -28), (-5, -31), (5, -31), (12, -28)):
        hat.ellipse(x, y, 1.3, 1.3, palette.WHITE)


_Drawer = Callable[[Canvas, float, Colour], None]

HEADWEAR: Mapping[str, tuple[_Drawer, Colour]] = {
    "firefighter": (_fire_helmet, (206, 44, 46)),
    "roofer": (_hard_hat, (240, 132, 36)),
    "construction worker": (_hard_hat, (250, 204, 60)),
    "engineer": (_hard_hat, (240, 240, 244)),
    "worker": (_hard_hat, (70, 130, 200)),
    "truck driver": (_baseball_cap, (60, 100, 170)),
    "tractor operator": (_baseball_cap, (60, 140, 80)),
    "school bus driver": (_flat_cap, (90, 90, 110)),
    "taxi driver": (_flat_cap, (150, 120, 84)),
    "farmer": (_straw_hat, (236, 200, 120)),
    "gardener": (_straw_hat, (214, 186, 132)),
    "police": (_peaked_cap, (44, 62, 122)),
    "correctional officer": (_peaked_cap, (110, 112, 104)),
    "pilot": (_pilot_cap, (38, 42, 66)),
    "chef": (_chef_hat, (250, 250, 250)),
    "metal worker": (_welding_visor, (84, 90, 104)),
    "artist": (_beret, (170, 44, 60)),
    "athlete": (_headband, (220, 60, 60)),
    "fast food worker": (_visor, (206, 44, 46)),
    "nurse": (_nurse_cap, (250, 250, 252)),
    "health technician": (_surgical_cap, (90, 180, 190)),
    "maid": (_maid_cap, (252, 252, 252)),
    "housekeeper": (_knotted_scarf, (220, 120, 110)),
}

_APRONS: Mapping[str, Colour] = {
    "butcher": (240, 238, 236), "carpenter": (168, 118, 72), "dishwasher": (96, 168, 178), "waiter": (44, 44, 54),
    "hairstylist": (190, 110, 160), "gardener": (84, 140, 84), "cleaner": (90, 150, 200), "machinist": (110, 116, 128),
}  # fmt: skip
_VESTS: Mapping[str, Colour] = {
    "construction worker": (250, 150, 40), "worker": (196, 226, 60), "groundskeeper": (250, 150, 40),
    "air conditioning installer": (196, 226, 60),
}  # fmt: skip
_STETHOSCOPES = ("doctor", "nurse")


def draw_accent(canvas: Canvas, look: Look) -> None:
    """Apron, high-visibility vest or stethoscope over the clothes."""
    cloth, occupation = canvas.on("sign"), look.scene.occupation
    if occupation is None:
        return
    if occupation in _APRONS:
        _apron(cloth, _APRONS[occupation])
    if occupation in _VESTS:
        _vest(cloth, look, _VESTS[occupation])
    if occupation in _STETHOSCOPES:
        _stethoscope(cloth, look.build.neck)


def draw_headwear(canvas: Canvas, look: Look) -> None:
    """Hat, cap or band above the forehead."""
    occupation = look.scene.occupation
    if occupation is not None and occupation in HEADWEAR:
        drawer, colour = HEADWEAR[occupation]
        drawer(canvas.on("headwear"), look.build.face, colour)


def _apron(cloth: Canvas, colour: Colour) -> None:
    line = palette.darker(colour, 0.45)
    cloth.polygon([(-17, 111), (17, 111), (24, 150), (-24, 150)], line)
    cloth.polygon([(-15.8, 112.2), (15.8, 112.2), (22.5, 150), (-22.5, 150)], colour)
    for side in (-1, 1):
        cloth.line([(side * 15, 112), (side * 20, 92)], 2.2, line)


def _vest(cloth: Canvas, look: Look, colour: Colour) -> None:
    wide = look.build.torso[-3][0] * 0.8
    for side in (-1, 1):
        inner, outer = side * wide * 0.54, side * wide
        cloth.polygon([(inner, 92), (outer, 97), (outer, 150), (inner, 150)], colour)
        cloth.polygon([(inner * 1.27, 94), (outer * 0.85, 95.5), (outer * 0.85, 150), (inner * 1.27, 150)], _SILVER)


def _stethoscope(cloth: Canvas, n: float) -> None:
    for width, colour in ((3.6, palette.INK), (2.0, (110, 120, 140))):
        cloth.stroke([(-n - 4, 81), (-n - 5, 92), (-5, 105), (0, 112)], width, colour)
        cloth.stroke([(n + 4, 81), (n + 5, 92), (5, 105), (0, 112)], width, colour)
        cloth.stroke([(0, 112), (0, 119)], width, colour)
    cloth.ellipse(0, 121, 4.6, 4.6, palette.INK)
    cloth.ellipse(0, 121, 3.0, 3.0, (214, 220, 228))


CARD = 34.0
_COLOURS: Mapping[str, Colour] = {
    "k": (34, 34, 44), "w": (255, 255, 255), "r": (206, 44, 46), "b": (40, 104, 190), "g": (46, 138, 74),
    "y": (250, 204, 60), "o": (240, 132, 36), "n": (134, 86, 48), "s": (138, 146, 158), "l": (176, 222, 246),
    "p": (238, 120, 176), "c": (236, 204, 158),
    "W": (238, 240, 244), "Y": (252, 226, 140), "B": (128, 184, 230), "L": (206, 232, 246), "C": (250, 238, 214),
    "G": (132, 200, 132), "R": (226, 96, 92), "O": (250, 176, 104), "P": (186, 140, 210), "T": (110, 198, 190),
    "N": (52, 68, 122), "K": (58, 58, 70), "S": (172, 178, 190),
}  # fmt: skip
"""Small letters colour shapes, capital letters cards (and holes that show the card)."""


def draw_sign(canvas: Canvas, occupation: str, x: float, y: float) -> None:
    """Draw the card of an occupation with its centre at (x, y)."""
    card, mask = _card(occupation)
    canvas.on("sign").stamp(card, mask, x, y)


@lru_cache(maxsize=128)
def _card(occupation: str) -> tuple[Image.Image, Image.Image]:
    background, shapes = _emblems()[occupation]
    canvas, shape = Canvas(CARD, CARD), Canvas(CARD, CARD)
    shape.box(0, 0, CARD, CARD, (0, 0, 0))
    for target, colours in ((canvas, (palette.INK, palette.WHITE, _COLOURS[background])), (shape, (palette.WHITE,))):
        for colour, inset in zip(colours, (0.0, 1.1, 1.9), strict=False):
            _rounded(target, inset, colour)
    grid = canvas.placed(CARD / 2 - 13.6, CARD / 2 - 13.6, 0.85)
    for text in shapes:
        _draw_shape(grid, text)
    return canvas.image, shape.image.convert("1")


def _rounded(canvas: Canvas, inset: float, colour: Colour) -> None:
    low, high, r = inset, CARD - inset, 5.5 - inset
    canvas.box(low + r, low, high - r, high, colour)
    canvas.box(low, low + r, high, high - r, colour)
    for x in (low + r, high - r):
        for y in (low + r, high - r):
            canvas.ellipse(x, y, r, r, colour)


@lru_cache(maxsize=1)
def _emblems() -> dict[str, tuple[str, list[str]]]:
    """By occupation, the colour of its card and its shapes."""
    return {name: (card, shapes.split(";")) for name, card, shapes in rows("emblems.txt")}


def _draw_shape(grid: Canvas, text: str) -> None:
    kind, ink, *rest = text.split()
    width, colour = float(ink[:-1] or 0), _COLOURS[ink[-1]]
    numbers = [float(number) for number in rest]
    points = list(zip(numbers[::2], numbers[1::2], strict=False))
    if kind == "B":
        grid.box(numbers[0], numbers[1], numbers[2], numbers[3], colour)
    elif kind == "O":
        grid.ellipse(numbers[0], numbers[1], numbers[2], numbers[2], colour)
    elif kind == "E":
        grid.ellipse(numbers[0], numbers[1], numbers[2], numbers[3], colour)
    elif kind == "R":
        grid.ring(numbers[0], numbers[1], numbers[2], numbers[2], width, colour)
    elif kind == "P":
        grid.polygon(points, colour)
    elif kind == "S":
        grid.blob(points, colour)
    elif kind == "L":
        grid.line(points, width, colour)
    elif kind == "C":
        grid.stroke(points, width, colour)
    else:
        raise ValueError(f"unknown shape {text!r}")
