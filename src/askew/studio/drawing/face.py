"""Head and features: jaw, eyes, brows, nose, mouth, beard, and the marks of age."""

from __future__ import annotations

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour, Point
from askew.studio.drawing.look import Look

EYE_X = 9.2
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
    skin, w = look.skin, look.build.face
    for side in sides:
        ear = canvas.on("skin")
        ear.ellipse(side * (w + 1.2), 1.5, 4.2, 6.4, skin.base)
        ear.stroke([(side * (w + 2.8), -1.8), (side * (w + 0.8), 0.5), (side * (w + 1.8), 4)], 1.3, skin.deep, 0.4)
        if look.female and look.jitter["earring"] < 0.65:
            gold = (238, 190, 70) if look.jitter["rim"] < 0.6 else (232, 236, 240)
            jewel = canvas.on("face")
            jewel.ellipse(side * (w + 2.2), 10.4, 2.7, 2.9, palette.darker(gold, 0.45))
            jewel.ellipse(side * (w + 2.2), 10.2, 1.9, 2.1, gold)


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
    _cheeks(head, look)
    _age_marks(canvas.on("face"), look)
    if not look.female:
        _beard(canvas.on("face"), look)
    _nose(canvas.on("face"), look)
    _mouth(canvas.on("face"), look)
    if look.scene.disability != "blind":
        _eyes(canvas.on("face"), look)
    _brows(canvas.on("face"), look)


def _cheeks(head: Canvas, look: Look) -> None:
    skin, w = look.skin, look.build.face
    strength = 0.75 if look.female else 0.3
    blush = palette.mix(skin.base, skin.blush, strength)
    for side in (-1, 1):
        head.ellipse(side * w * 0.63, 8.6, 4.4, 3.0, blush)
    if look.scene.body_type == "obese":
        for side in (-1, 1):
            head.stroke([(side * w * 0.86, 6), (side * w * 0.88, 12), (side * w * 0.74, 17)], 1.3, skin.deep, 0.2)
    if look.scene.body_type == "slim":
        for side in (-1, 1):
            head.stroke([(side * w * 0.9, 7), (side * w * 0.62, 12.5)], 1.7, skin.deep, 0.2)


def _crease(face: Canvas, look: Look, points: list[Point], width: float) -> None:
    """A wrinkle: a dark line with a highlight below, so that it shows on every skin tone."""
    face.stroke([(x, y + 1.0) for x, y in points], width * 0.8, look.skin.light, 0.2)
    face.stroke(points, width, palette.mix(look.skin.line, look.skin.deep, 0.25), 0.3)


def _age_marks(face: Canvas, look: Look) -> None:
    w, age = look.build.face, look.scene.age
    if age == "young":
        return
    old = age == "old"
    for y, half in ((-20.5, 9.5), (-17.2, 11.0), (-14.0, 8.5)) if old else ((-17.0, 9.5),):
        _crease(face, look, [(-half, y + 0.8), (-half / 2, y - 0.2), (0, y + 0.4), (half / 2, y - 0.2),
                             (half, y + 0.8)], 1.25)  # fmt: skip
    for side in (-1, 1):
        _crease(face, look, [(side * 6.0, 6.6), (side * 10.2, 9.6), (side * 12.4, 14.5)], 1.5 if old else 1.35)
        if not old:
            _crease(face, look, [(side * (w - 5.0), 1.5), (side * (w - 2.2), 2.4)], 1.1)
        else:
            for dy, rise in ((-1.5, -2.0), (0.5, 0.2), (2.5, 2.4)):
                _crease(face, look, [(side * (w - 5.0), dy), (side * (w - 1.6), dy + rise)], 1.1)
            _crease(face, look, [(side * w * 0.72, 11), (side * w * 0.74, 15), (side * w * 0.6, 19.5)], 1.2)
            _crease(face, look, [(side * 9.6, 18.5), (side * 9.0, 22.5)], 1.1)


def _beard(face: Canvas, look: Look) -> None:
    kind, b, w = look.jitter["beard"], look.build, look.build.face
    if kind < 0.45:
        return
    grey = {"young": look.brow, "middle-aged": palette.mix(look.brow, (150, 148, 148), 0.3), "old": look.hair}
    hair = grey[look.scene.age]
    if kind < 0.65:
        hair = palette.mix(look.skin.deep, look.skin.line, 0.25)
    if kind < 0.9:
        low = b.chin_y + (0.4 if kind < 0.65 else 2.2)
        side = [(w * 0.97, 3), (w * b.jaw * 1.01, 16), (w * b.chin, low - 1.4), (0, low)]
        inner = [(0, 10.8), (7, 10.8), (10.5, 14), (w * 0.84, 9)]
        face.symmetric([*inner, *side], hair)
        face.ellipse(0, 17.6, 9.4, 4.9, look.skin.base)
    else:
        face.symmetric([(0, 10.2), (5, 10.2), (9.5, 14.2), (5, 13.4), (0, 12.8)], hair)


def _nose(face: Canvas, look: Look) -> None:
    skin = look.skin
    face.stroke([(1.6, -0.5), (2.8, 5.4), (1.8, 7.6)], 1.4, skin.deep, 0.3)
    face.stroke([(-2.6, 7.6), (0, 8.7), (2.6, 7.6)], 1.5, skin.line, 0.4)
    face.stroke([(-0.6, 0), (-0.4, 4.5)], 1.6, skin.light, 0.3)


def _mouth(face: Canvas, look: Look) -> None:
    {"happy": _smile, "sad": _frown, "serious": _straight, "tired": _yawn}[look.scene.emotion](face, look)


_MOUTH = (92, 26, 32)


def _smile(face: Canvas, look: Look) -> None:
    lips, teeth = _lips(look), (252, 251, 247)
    face.blob([(-9.6, 12.6), (0, 14.6), (9.6, 12.6), (6.6, 19.6), (0, 22.4), (-6.6, 19.6)], lips)
    face.blob([(-7.9, 13.9), (0, 15.6), (7.9, 13.9), (5.4, 18.6), (0, 20.6), (-5.4, 18.6)], _MOUTH)
    face.blob([(-7.4, 14.0), (0, 15.6), (7.4, 14.0), (5.6, 16.6), (0, 18.0), (-5.6, 16.6)], teeth)
    for side in (-1, 1):
        face.stroke([(side * 10.6, 11.0), (side * 10.4, 13.6)], 1.2, look.skin.line, 0.4)


def _frown(face: Canvas, look: Look) -> None:
    lips, line = _lips(look), look.skin.line
    if look.female:
        face.blob([(-7.6, 20), (-3, 15.2), (0, 15.8), (3, 15.2), (7.6, 20), (3.5, 18.6), (0, 19.8), (-3.5, 18.6)], lips)
    face.stroke([(-8.6, 20.4), (-4.8, 17.2), (0, 16.2), (4.8, 17.2), (8.6, 20.4)], 2.0, line, 0.5)
    face.stroke([(-3.6, 21.2), (0, 20.2), (3.6, 21.2)], 1.2, lips if look.female else look.skin.deep, 0.4)


def _straight(face: Canvas, look: Look) -> None:
    lips = _lips(look)
    if look.female:
        face.blob([(-7.6, 16.6), (-2.6, 14.2), (0, 15), (2.6, 14.2), (7.6, 16.6), (3.4, 19.2), (-3.4, 19.2)], lips)
    else:
        face.stroke([(-4.2, 19.3), (4.2, 19.3)], 1.2, look.skin.deep, 0.4)
    face.stroke([(-8.2, 16.7), (8.2, 16.7)], 2.0, look.skin.line, 0.8)


def _yawn(face: Canvas, look: Look) -> None:
    lips = _lips(look)
    face.ellipse(0, 17.4, 5.2, 5.4, lips)
    face.ellipse(0, 17.4, 3.7, 4.2, _MOUTH)
    face.ellipse(0, 20.0, 2.3, 1.3, (198, 92, 96))


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
        eye = face.placed(side * EYE_X, -0.6)
        eye.ellipse(0, 0, 4.9, open_height + 0.5, skin.deep)
        eye.ellipse(0, 0, 4.4, open_height, (252, 251, 248))
        eye.ellipse(gaze, 0.2 + drop, 2.5, 2.7, iris)
        eye.ellipse(gaze, 0.2 + drop, 1.3, 1.4, (18, 16, 20))
        eye.ellipse(gaze + 0.9, -0.8 + drop, 0.75, 0.75, palette.WHITE)
        _lid(eye, look, side, open_height)
    if emotion == "sad" and look.jitter["tear"] < 0.6:
        face.blob([(10.6, 3.2), (12.6, 7.0), (10.6, 9.2), (8.6, 7.0)], (70, 130, 190))
        face.blob([(10.6, 4.4), (12.0, 7.0), (10.6, 8.5), (9.2, 7.0)], (176, 222, 250))


def _lid(eye: Canvas, look: Look, side: int, height: float) -> None:
    skin, emotion = look.skin, look.scene.emotion
    ink = palette.darker(skin.line, 0.55)
    lash = 1.9 if look.female else 1.2
    if emotion == "tired":
        eye.symmetric([(0, -4.4), (4, -3), (5.2, 0.5), (0, 0.9)], skin.shade)
        eye.stroke([(-5.0, 0.3), (0, 1.1), (5.0, 0.3)], lash + 0.5, ink, 0.7)
        eye.stroke([(-4.6, 4.2), (0, 6.2), (4.6, 4.2)], 2.0, skin.deep, 0.3)
        eye.stroke([(-4.2, 5.4), (0, 7.3), (4.2, 5.4)], 1.1, skin.line, 0.3)
        corner, tip = (side * 4.6, 0.4), (side * 7.0, 1.6)
    else:
        tilt = {"happy": 0.0, "sad": 1.3, "serious": -0.3}[emotion]
        eye.stroke([(-4.9 * side, 0.2 - tilt), (-2.2 * side, -height - tilt / 2), (2.0 * side, -height),
                    (5.0 * side, 0.2 + tilt)], lash, ink, 0.5)  # fmt: skip
        corner, tip = (side * 4.2, -1.4 + tilt), (side * 7.2, -3.8 + tilt)
        if emotion == "happy":
            eye.stroke([(-4.2, 3.4), (0, 2.3), (4.2, 3.4)], 1.5, skin.shade, 0.5)
            eye.stroke([(-4.2, 4.2), (0, 3.3), (4.2, 4.2)], 1.0, skin.line, 0.3)
    if look.female:
        eye.stroke([corner, tip], 1.5, ink, 0.5)
        eye.stroke([(corner[0] - side * 1.6, corner[1] - 1.2), (tip[0] - side * 2.2, tip[1] - 1.3)], 1.2, ink, 0.5)


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
