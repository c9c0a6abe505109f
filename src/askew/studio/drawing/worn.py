"""What is worn and held: glasses, hearing aid, cane and wheelchair; headwear, accents and the sign of an occupation.

The sign is a card with an emblem at the lower left, with headwear and a garment accent where natural. These leave
brows, temples and the neckline free.
"""

from __future__ import annotations

from functools import lru_cache

from PIL import Image

from askew.studio import rows
from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour
from askew.studio.drawing.figures import Shape, draw_figure, shapes
from askew.studio.drawing.look import Look

CARD = 34.0

Piece = tuple[Colour, tuple[Shape, ...]]
"""Something to wear: its own colour, and its shapes."""


@lru_cache
def worn(occupation: str | None, place: str) -> tuple[Piece, ...]:
    """What an occupation wears at a place: over the face, the torso or the neck."""
    found = []
    for _, at, wearers, drawn in rows("workwear.txt"):
        colours = dict(one.strip().rsplit(" ", 1) for one in wearers.split(","))
        if at == place and occupation in colours:
            found.append((palette.named(colours[occupation]), shapes(drawn)))
    return tuple(found)


def draw_accent(canvas: Canvas, look: Look) -> None:
    """Apron, high-visibility vest or stethoscope over the clothes."""
    _draw_worn(canvas.on("sign"), look, "torso", look.build.torso[-3][0] * 0.8)
    _draw_worn(canvas.on("sign"), look, "neck", look.build.neck)


def draw_headwear(canvas: Canvas, look: Look) -> None:
    """Hat, cap or band above the forehead."""
    _draw_worn(canvas.on("headwear"), look, "face", look.build.face)


def _draw_worn(canvas: Canvas, look: Look, place: str, width: float) -> None:
    for colour, drawn in worn(look.scene.occupation, place):
        for shape in drawn:
            shape.draw(canvas, {"w": width}, {"own": colour})


def draw_sign(canvas: Canvas, occupation: str, x: float, y: float) -> None:
    """Draw the card of an occupation with its centre at (x, y)."""
    card, mask = _card(occupation)
    canvas.on("sign").stamp(card, mask, x, y)


@lru_cache(maxsize=128)
def _card(occupation: str) -> tuple[Image.Image, Image.Image]:
    background, emblem = next((card, drawn) for name, card, drawn in rows("emblems.txt") if name == occupation)
    canvas, mask = Canvas(CARD, CARD), Canvas(CARD, CARD)
    mask.box(0, 0, CARD, CARD, (0, 0, 0))
    _rounded(mask, 0.0, palette.WHITE)
    for colour, inset in ((palette.INK, 0.0), (palette.WHITE, 1.1), (palette.named(background), 1.9)):
        _rounded(canvas, inset, colour)
    grid = canvas.placed(CARD / 2 - 13.6, CARD / 2 - 13.6, 0.85)
    for shape in shapes(emblem):
        shape.draw(grid, {}, {})
    return canvas.image, mask.image.convert("1")


def _rounded(canvas: Canvas, inset: float, colour: Colour) -> None:
    low, high, r = inset, CARD - inset, 5.5 - inset
    canvas.box(low + r, low, high - r, high, colour)
    canvas.box(low, low + r, high, high - r, colour)
    for x in (low + r, high - r):
        for y in (low + r, high - r):
            canvas.ellipse(x, y, r, r, colour)


def draw_eyewear(canvas: Canvas, look: Look) -> None:
    """Clear glasses, or the dark glasses of a blind person."""
    if look.scene.disability == "blind":
        draw_figure(canvas, look, "dark glasses")
    elif look.scene.glasses == "glasses":
        frames = palette.ONE_OF["bright_frames" if look.skin.lightness < 50 else "frames"]
        kind = "round glasses" if look.jitter["frame"] < 0.5 else "square glasses"
        draw_figure(canvas, look, kind, palette.pick(frames, look.jitter["rim"]))


def draw_hearing_aid(canvas: Canvas, look: Look) -> None:
    """A coloured device behind the right ear, with its wire and earpiece, larger than life."""
    if look.scene.disability == "hearing aid":
        draw_figure(canvas, look, "hearing aid", palette.pick(palette.ONE_OF["hearing_aids"], look.jitter["aid"]))


def draw_chair_back(canvas: Canvas, look: Look) -> None:
    """Backrest and push handles behind the shoulders."""
    if look.scene.disability == "wheelchair":
        draw_figure(canvas, look, "chair back")


def draw_held(canvas: Canvas, look: Look) -> None:
    """In front of the body: the wheels of a wheelchair at both sides, or a white cane with a red tip."""
    if look.scene.disability == "wheelchair":
        for side in (-1, 1):
            draw_figure(canvas.placed(side * 60, 116), look, "wheel")
    elif look.scene.disability == "blind":
        draw_figure(canvas, look, "cane sleeve", palette.lighter(look.colours["cloth"], 0.1))
        draw_figure(canvas, look, "cane")
        draw_figure(canvas, look, "hand at the cane")
