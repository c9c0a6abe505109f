"""Draw a person with clothes, aids, a pin that indicates the ethnicity, and the occupation's sign.

Parts whose shape does not vary are figures from figures.txt. The pin's shape, color and inner mark
indicate the person's ethnicity. The sign of an occupation is a card with an emblem at the lower
left. Some occupations also have headwear and an accent on the clothes. Headwear and accents do not
cover brows, temples or neckline.
"""

import math
from functools import lru_cache
from itertools import pairwise

from PIL import Image

from askew.studio import rows
from askew.studio.drawing.canvas import Canvas, Color, Point
from askew.studio.drawing.figures import Shape, draw_figure, shapes
from askew.studio.drawing.look import Look
from askew.studio.drawing.palette import INK, PIN, WHITE, darker, lighter, named

CARD = 34.0
_EYE_X = 9.2
_TOP = -29.0


def draw_person(canvas: Canvas, look: Look) -> None:
    """Draw a person from back to front, beginning with the back of a wheelchair.

    Parameters
    ----------
    canvas
        Canvas with the backdrop.
    look
        Scene, random variation, measures and colors of the person.
    """
    scene = look.scene
    varied = look.jitter
    measures = look.measures
    size = varied.between("scale", 0.96, 1.03)
    figure = canvas.placed(
        64 + varied.between("x", -3, 3), 128 - 128 * size + varied.between("y", -1, 3), size
    )
    top = figure.placed(0, 46, 1.0, varied.between("tilt", -3, 3))
    if scene.disability == "wheelchair":
        draw_figure(figure, look, "chair back")
    if scene.hair != "bald":
        draw_figure(
            top, look, f"{'short' if scene.hair == 'short' else f'long {look.texture}'} hair behind"
        )
    _torso(figure, look)
    draw_figure(figure, look, f"{look.figure} neck")
    if scene.body_type == "muscular":
        draw_figure(figure, look, "muscular neck")
    if look.female:
        draw_figure(figure, look, "woman throat")
    for garment in _garments(look):
        draw_figure(figure, look, f"{look.figure} {garment}")
    _worn(figure.on("sign"), look, "torso", look.torso[-3][0] * 0.8)
    _worn(figure.on("sign"), look, "neck", measures["n"])
    _ears(top, look, (-1, 1))
    _head(top, look)
    _front_hair(top, look)
    if scene.hair == "long":
        _ears(top, look, (1,))
    _worn(top.on("headwear"), look, "face", measures["w"])
    _aids(figure, top, look)
    _pin(figure, look)
    if scene.occupation is not None:
        x = 23 + varied.between("sign_x", -2, 2)
        y = 107.5 + varied.between("sign_y", -1.5, 1.5)
        canvas.on("sign").stamp(*_card(scene.occupation), x, y)


def _garments(look: Look) -> tuple[str, ...]:
    varied = look.jitter
    if look.scene.clothing == "informal":
        return (("collar", "hood", "heart collar")[int(varied["garment"] * 3)],)
    often, seldom, share = ("bow", "buttons", 0.5) if look.female else ("tie", "bow", 0.75)
    return ("shirt", often if varied["part"] < share else seldom, "lapels")


def _pin(figure: Canvas, look: Look) -> None:
    pin = figure.on("pin").placed(21.5, 107.5)
    ethnicity = look.scene.ethnicity
    for color, radius in ((INK, 8.7), (WHITE, 7.7), (PIN[ethnicity], 6.5)):
        pin.polygon([(x * radius, y * radius) for x, y in _PINS[ethnicity]], color)
    draw_figure(pin, look, f"{ethnicity} mark")


def _torso(canvas: Canvas, look: Look) -> None:
    """Draw the shoulders and the chest in the color of the outer garment."""
    cloth = canvas.on("clothes")
    base = look.colors["cloth"]
    right = look.torso
    outer = [(x + 0.7, y - 0.8) for x, y in right]
    cloth.symmetric([(0, right[0][1] - 1), *outer, (0, 151)], darker(base, 0.6))
    cloth.symmetric([(0, right[0][1]), *right, (0, 150)], base)
    if look.scene.clothing == "informal" and look.jitter["garment"] < 1 / 3:
        for y in (96, 106, 116, 126):
            (x0, y0), (x1, y1) = next(
                (upper, low) for upper, low in pairwise(right) if upper[1] <= y + 2.5 <= low[1]
            )
            half = x0 + (x1 - x0) * (y + 2.5 - y0) / (y1 - y0) - 0.8
            cloth.box(-half, y, half, y + 4.5, lighter(base, 0.72))
    draw_figure(canvas, look, f"{look.scene.body_type} contours")


def _ears(canvas: Canvas, look: Look, sides: tuple[int, ...]) -> None:
    """Draw the ears on the given sides (-1 left, 1 right). Some women wear earrings."""
    for side in sides:
        draw_figure(canvas, look, "ear", side=side)
        if look.female and look.jitter["earring"] < 0.65:
            draw_figure(canvas, look, "earring", side=side)


def _head(canvas: Canvas, look: Look) -> None:
    """Draw the head without hair but with all facial features."""
    head = canvas.on("skin")
    scene = look.scene
    outline = _outline(look)
    head.symmetric(_outline(look, 0.5), look.colors["deep"])
    head.symmetric(outline, look.colors["shade"])
    head.symmetric([(x * 0.94, y * 0.985 - 0.3) for x, y in outline], look.colors["base"])
    if scene.hair == "bald":
        draw_figure(canvas, look, "bald shine")
    if scene.body_type == "obese":
        draw_figure(canvas, look, "obese chin")
    draw_figure(canvas, look, f"{scene.body_type} cheeks")
    if scene.age != "young":
        draw_figure(canvas, look, f"{scene.age} marks")
    beard = 0.0 if look.female else look.jitter["beard"]
    for least, figure in ((0.9, "goatee"), (0.65, "full beard"), (0.45, "stubble")):
        if beard >= least:
            draw_figure(canvas, look, figure)
            break
    draw_figure(canvas, look, "nose")
    draw_figure(canvas, look, f"{look.figure} {scene.emotion} mouth")
    if scene.disability != "blind":
        _eyes(canvas, look)
    if scene.age == "old":
        draw_figure(canvas, look, f"old {look.figure} {scene.emotion} brows")
    draw_figure(canvas, look, f"{look.figure} {scene.emotion} brows")


def _eyes(canvas: Canvas, look: Look) -> None:
    emotion = look.scene.emotion
    for side in (-1, 1):
        eye = canvas.placed(side * _EYE_X, -0.6)
        draw_figure(eye, look, "eye")
        draw_figure(eye, look, f"{look.figure} {emotion} lid", side=side)
    if emotion == "sad" and look.jitter["tear"] < 0.6:
        draw_figure(canvas, look, "tear")


def _outline(look: Look, grow: float = 0.0) -> list[Point]:
    """Return the outline of the right half of the head, from the crown to the chin."""
    m = look.measures
    w = m["w"] + grow
    chin = m["c"]
    return [
        (0, _TOP - grow),
        (w * 0.55, _TOP + 2.2 - grow),
        (w * 0.9, -17),
        (w, -4),
        (w * 0.975, 6),
        (w * m["jaw"], 16),
        (w * m["chin"], chin - 1.6 + grow),
        (0, chin + grow),
    ]


def _front_hair(canvas: Canvas, look: Look) -> None:
    """Draw the hair on the skull, with strands, highlights and, in middle age, gray temples."""
    if look.scene.hair == "bald":
        return
    w = look.measures["w"]
    draw_figure(canvas, look, f"{look.texture} cap")
    if look.texture == "coily":
        for turn in range(11):
            angle = math.pi * (turn + 0.5) / 11
            x = math.cos(angle) * (w + 0.4)
            y = -14 - math.sin(angle) * 18.5
            canvas.on("hair").ellipse(x, y, 4.2, 4.2, look.colors["hair"])
        draw_figure(canvas, look, "coily strands")
    if look.scene.hair == "long":  # on the right it is behind the ear
        draw_figure(canvas, look, f"{look.texture} locks")
    elif worn(look.scene.occupation, "face"):  # otherwise it could not be told from bald
        draw_figure(canvas, look, "pushed out hair")
    if look.scene.age == "middle-aged":
        draw_figure(canvas, look, "grey temples")


@lru_cache
def worn(occupation: str | None, place: str) -> tuple[tuple[Color, tuple[Shape, ...]], ...]:
    """Return the workwear that people in an occupation wear over the face, torso or neck.

    Parameters
    ----------
    occupation
        Name of the occupation, or None.
    place
        Part of the body: "face", "torso" or "neck".

    Returns
    -------
    tuple
        Color and shapes of each piece of workwear.
    """
    pieces = []
    for _, covered, wearers, drawn in rows("workwear.txt"):
        colors = dict(wearer.strip().rsplit(" ", 1) for wearer in wearers.split(","))
        if covered == place and occupation in colors:
            pieces.append((named(colors[occupation]), shapes(drawn)))
    return tuple(pieces)


def _worn(canvas: Canvas, look: Look, place: str, width: float) -> None:
    for color, drawn in worn(look.scene.occupation, place):
        for shape in drawn:
            shape.draw(canvas, {"w": width}, {"own": color})


def _aids(figure: Canvas, top: Canvas, look: Look) -> None:
    """Draw the aids of a person: glasses, dark glasses and a cane, a hearing aid, or a wheelchair."""
    scene = look.scene
    varied = look.jitter
    if scene.disability == "blind":
        draw_figure(top, look, "dark glasses")
        for name in ("cane sleeve", "cane", "hand at the cane"):
            draw_figure(figure, look, name)
    if scene.glasses == "glasses":
        draw_figure(top, look, "round glasses" if varied["frame"] < 0.5 else "square glasses")
    if scene.disability == "hearing aid":
        draw_figure(top, look, "hearing aid")
    if scene.disability == "wheelchair":
        for side in (-1, 1):
            draw_figure(figure.placed(side * 60, 116), look, "wheel")


def _regular(corners: int, radius: float = 1.0, turn: float = 0.0) -> list[Point]:
    angles = [math.tau * (i + turn) / corners - math.pi / 2 for i in range(corners)]
    return [(radius * math.cos(a), radius * math.sin(a)) for a in angles]


_PINS: dict[str, list[Point]] = {
    "white": _regular(28),
    "black": _regular(4, 1.22, 0.5),
    "asian": [(x * 1.15, y * 1.15 + 0.16) for x, y in _regular(3)],
    "south asian": [(x * 0.92, y * 1.22) for x, y in _regular(4)],
    "middle eastern": [
        (x / (1 + i % 2), y / (1 + i % 2)) for i, (x, y) in enumerate(_regular(10, 1.28))
    ],
    "hispanic": _regular(6, 1.1, 0.5),
}


@lru_cache(maxsize=128)
def _card(occupation: str) -> tuple[Image.Image, Image.Image]:
    """Return an image of an occupation's card, and a mask of the card."""
    background, emblem = next(
        (card, drawn) for name, card, drawn in rows("emblems.txt") if name == occupation
    )
    canvas = Canvas(CARD, CARD)
    mask = Canvas(CARD, CARD)
    mask.box(0, 0, CARD, CARD, (0, 0, 0))
    _rounded(mask, 0.0, WHITE)
    for color, inset in (
        (INK, 0.0),
        (WHITE, 1.1),
        (named(background), 1.9),
    ):
        _rounded(canvas, inset, color)
    grid = canvas.placed(CARD / 2 - 13.6, CARD / 2 - 13.6, 0.85)
    for shape in shapes(emblem):
        shape.draw(grid, {}, {})
    return canvas.image, mask.image.convert("1")


def _rounded(canvas: Canvas, inset: float, color: Color) -> None:
    low = inset
    high = CARD - inset
    r = 5.5 - inset
    canvas.box(low + r, low, high - r, high, color)
    canvas.box(low, low + r, high, high - r, color)
    for x in (low + r, high - r):
        for y in (low + r, high - r):
            canvas.ellipse(x, y, r, r, color)
