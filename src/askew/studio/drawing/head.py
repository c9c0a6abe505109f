"""Head and features: jaw, eyes, brows, nose, mouth, beard, and the marks of age.

Hair: short, long or none, in textures that vary within every ethnicity.
"""

from __future__ import annotations

import math

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour, Point
from askew.studio.drawing.figures import draw_figure
from askew.studio.drawing.look import Look
from askew.studio.drawing.worn import worn

_EYE_X = 9.2
_TOP = -29.0


def outline(look: Look, grow: float = 0.0) -> list[Point]:
    """The right half of the head's outline from the crown to the chin."""
    w, b = look.build.face + grow, look.build
    return [
        (0, _TOP - grow), (w * 0.55, _TOP + 2.2 - grow), (w * 0.9, -17), (w, -4), (w * 0.975, 6), (w * b.jaw, 16),
        (w * b.chin, b.chin_y - 1.6 + grow), (0, b.chin_y + grow),
    ]  # fmt: skip


def draw_ears(canvas: Canvas, look: Look, sides: tuple[int, ...]) -> None:
    """Ears at the given sides (-1 left, 1 right), with an earring for some women."""
    for side in sides:
        draw_figure(canvas, look, "ear", side=side)
        if look.female and look.jitter["earring"] < 0.65:
            jewel = (238, 190, 70) if look.jitter["rim"] < 0.6 else (232, 236, 240)
            draw_figure(canvas, look, "earring", jewel, side)


def draw_head(canvas: Canvas, look: Look) -> None:
    """The bare head with all its features."""
    head, skin, b = canvas.on("skin"), look.skin, look.build
    head.symmetric(outline(look, 0.5), skin.deep)
    head.symmetric(outline(look), skin.shade)
    head.symmetric([(x * 0.94, y * 0.985 - 0.3) for x, y in outline(look)], skin.base, 0.0)
    if look.scene.hair == "bald":
        head.stroke([(-9, -24.5), (-3, -26.4), (4, -26)], 2.6, skin.light, 0.2)
    if look.scene.body_type == "obese":
        head.ellipse(0, b.chin_y - 1.5, 15, 6.6, skin.line)
        head.ellipse(0, b.chin_y - 2.3, 14.6, 6.3, skin.base)
        head.stroke([(-9, b.chin_y - 3.4), (0, b.chin_y - 0.6), (9, b.chin_y - 3.4)], 1.4, skin.line, 0.2)
    blush = palette.mix(skin.base, skin.blush, 0.75 if look.female else 0.3)
    draw_figure(canvas, look, f"{look.scene.body_type} cheeks", blush)
    if look.scene.age != "young":
        draw_figure(canvas, look, f"{look.scene.age} marks")
    if not look.female:
        _beard(canvas, look)
    draw_figure(canvas, look, "nose")
    draw_figure(canvas, look, f"{look.who} {look.scene.emotion} mouth", _lips(look))
    if look.scene.disability != "blind":
        _eyes(canvas.on("face"), look)
    _brows(canvas.on("face"), look)


def _beard(canvas: Canvas, look: Look) -> None:
    kind = look.jitter["beard"]
    if kind < 0.45:
        return
    if kind < 0.65:
        draw_figure(canvas, look, "stubble", palette.mix(look.skin.deep, look.skin.line, 0.25))
        return
    grey = {"young": look.brow, "middle-aged": palette.mix(look.brow, (150, 148, 148), 0.3), "old": look.hair}
    draw_figure(canvas, look, "full beard" if kind < 0.9 else "goatee", grey[look.scene.age])


def _lips(look: Look) -> Colour:
    if not look.female:
        return look.skin.bare_lips
    warm = (196, 60, 72) if look.skin.lightness >= 50 else (214, 104, 110)
    return palette.mix(look.skin.lips, warm, look.jitter.between("lip", 0.1, 0.6))


def _eyes(face: Canvas, look: Look) -> None:
    emotion, skin = look.scene.emotion, look.skin
    colours = palette.IRIS[look.scene.ethnicity]
    iris = palette.pick(colours, look.jitter["iris"])
    gaze = look.jitter.between("gaze", -0.7, 0.7)
    drop = 1.0 if emotion == "sad" else 0.0
    open_height = {"happy": 3.3, "sad": 3.3, "serious": 3.0, "tired": 3.2}[emotion]
    for side in (-1, 1):
        eye = face.placed(side * _EYE_X, -0.6)
        eye.ellipse(0, 0, 4.9, open_height + 0.5, skin.deep)
        eye.ellipse(0, 0, 4.4, open_height, (252, 251, 248))
        eye.ellipse(gaze, 0.2 + drop, 2.5, 2.7, iris)
        eye.ellipse(gaze, 0.2 + drop, 1.3, 1.4, (18, 16, 20))
        eye.ellipse(gaze + 0.9, -0.8 + drop, 0.75, 0.75, palette.WHITE)
        draw_figure(eye, look, f"{look.who} {emotion} lid", side=side)
    if emotion == "sad" and look.jitter["tear"] < 0.6:
        draw_figure(face, look, "tear")


def _brows(face: Canvas, look: Look) -> None:
    thick = 1.9 if look.female else 3.3
    shapes = {  # inner end, middle, outer end; y grows downwards
        "happy": (-9.6, -12.2, -9.2),
        "sad": (-12.0, -9.6, -6.6),
        "serious": (-6.9, -7.9, -7.3),
        "tired": (-8.2, -9.0, -6.2),
    }
    inner, middle, outer = shapes[look.scene.emotion]
    arch = 0.7 if look.female else 0.0
    for side in (-1, 1):
        points = [(side * 4.0, inner), (side * 9.2, middle - arch), (side * 14.2, outer - arch)]
        if look.scene.age == "old":
            face.stroke([(x, y + 0.7) for x, y in points], thick + 0.9, look.skin.line, 0.4)
        face.stroke(points, thick, look.brow, 0.45)


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
