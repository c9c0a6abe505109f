"""The occupation's sign: a card with an emblem at the lower left, headwear and a garment accent where natural."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from PIL import Image

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour
from askew.studio.paths import rows

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
