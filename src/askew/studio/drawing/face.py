"""Head and features: jaw, eyes, brows, nose, mouth, beard, and the marks of age."""

from __future__ import annotations

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour, Point
from askew.studio.drawing.figures import draw_figure
from askew.studio.drawing.look import Look

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
