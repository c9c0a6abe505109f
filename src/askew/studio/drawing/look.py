"""What a scene and a seed decide together: jitter, colours and measures that several parts of a drawing share."""

from __future__ import annotations

import random
from dataclasses import dataclass

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Colour
from askew.studio.scene import Scene

_NAMES = (
    "x", "y", "scale", "tilt", "skin", "hair", "iris", "cut", "beard", "earring", "tear", "frame", "rim", "garment",
    "cloth", "shirt", "tie", "aid", "backdrop", "sign_x", "sign_y", "gaze", "part", "lip", "grey",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Jitter:
    """Uniform numbers in [0, 1), one per thing that varies, the same for every scene with this seed."""

    values: dict[str, float]

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def between(self, name: str, low: float, high: float) -> float:
        """The number `name`, moved to [low, high)."""
        return low + (high - low) * self.values[name]


def jitter(seed: int) -> Jitter:
    """The jitter of a seed. All numbers are drawn at once, so that no attribute changes another one's jitter."""
    source = random.Random(seed)
    return Jitter({name: source.random() for name in _NAMES})


@dataclass(frozen=True, slots=True)
class Build:
    """Measures of head and body in pixels; the head's origin lies between the eyes."""

    face: float
    jaw: float
    chin: float
    chin_y: float
    neck: float
    torso: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Look:
    """A scene with everything that its seed decides; `measures` and `colours` are those that figures.txt names."""

    scene: Scene
    jitter: Jitter
    skin: palette.Skin
    hair: Colour
    brow: Colour
    build: Build
    measures: dict[str, float]
    colours: dict[str, Colour]

    @property
    def female(self) -> bool:
        """Whether the person is drawn as a woman."""
        return self.scene.gender == "female"

    @property
    def who(self) -> str:
        """How figures.txt calls the person."""
        return "woman" if self.female else "man"


_BODY = {  # neck half width, face width, jaw widening, right half of the torso from the neck down
    "slim": (7.2, 19.3, -0.03, ((7.0, 76.0), (9.5, 83.5), (20.0, 88.5), (28.0, 94.0), (30.5, 106.0), (30.0, 145.0))),
    "muscular": (12.0, 20.6, 0.03, ((12.0, 70.0), (19.0, 78.5), (33.0, 82.5), (46.5, 88.0), (52.0, 102.0),
                                    (49.5, 118.0), (45.0, 145.0))),
    "obese": (14.0, 24.2, 0.12, ((13.0, 76.0), (18.0, 82.5), (34.0, 88.0), (46.0, 96.0), (54.5, 110.0),
                                 (60.0, 126.0), (61.0, 145.0))),
}  # fmt: skip


_OPEN = {"happy": 3.3, "sad": 3.3, "serious": 3.0, "tired": 3.2}
"""Half the height of open eyes."""


def build(scene: Scene) -> Build:
    """The measures that gender, age and body type decide."""
    neck, face, widening, torso = _BODY[scene.body_type]
    female = scene.gender == "female"
    width = 0.93 if female else 1.05
    return Build(
        face=face * (0.975 if female else 1.0),
        jaw=(0.72 if female else 0.88) + widening + (0.02 if scene.age == "young" else 0.0),
        chin=(0.26 if female else 0.50) + widening,
        chin_y={"young": 26.0, "middle-aged": 27.0, "old": 27.6}[scene.age] - (0.5 if female else 0.0),
        neck=neck * (0.88 if female else 1.06),
        torso=tuple((x * width, y) for x, y in torso),
    )


def look(scene: Scene, seed: int) -> Look:
    """Decide colours and measures of a scene at a seed."""
    varied = jitter(seed)
    tone = palette.skin(round(varied.between("skin", *palette.SKIN_LIGHTNESS[scene.ethnicity]), 1))
    natural = palette.pick(palette.HAIR[scene.ethnicity], varied["hair"])
    hair = {
        "young": natural,
        "middle-aged": palette.mix(natural, (128, 124, 124), 0.18),
        "old": palette.mix((206, 206, 210), (236, 236, 238), varied["grey"]),
    }[scene.age]
    brow = {
        "young": palette.darker(natural, 0.45),
        "middle-aged": palette.darker(natural, 0.3),
        "old": palette.mix((236, 236, 238), (150, 148, 150), min(max((tone.lightness - 55) / 30, 0.0), 1.0)),
    }[scene.age]
    cloth = palette.ONE_OF["jackets" if scene.clothing == "formal" else "casuals"]
    colours = {name: getattr(tone, name) for name in ("base", "shade", "deep", "light", "line")} | {
        "crease": palette.mix(tone.line, tone.deep, 0.25),
        "hair": hair,
        "cloth": palette.pick(cloth, varied["cloth"]),
        "shirt": palette.pick(palette.ONE_OF["shirts"], varied["shirt"]),
        "tie": palette.pick(palette.ONE_OF["ties"], varied["tie"]),
    }
    b, woman, formal = build(scene), scene.gender == "female", scene.clothing == "formal"
    measures = {
        "w": b.face,
        "j": b.face * b.jaw,
        "k": b.face * b.chin,
        "c": b.chin_y,
        "n": b.neck,
        "b": (92.0 if formal else 97.0) if woman else (86.0 if formal else 87.5),
        "t": b.torso[-2][0],
        "o": _OPEN[scene.emotion],
        "d": 1.0 if scene.emotion == "sad" else 0.0,
        "g": varied.between("gaze", -0.7, 0.7),
        "p": -1.0 if varied["part"] < 0.5 else 1.0,
        "h": -3.0 if scene.hair == "short" else 1.0,
    }
    return Look(scene, varied, tone, hair, brow, b, measures, colours)
