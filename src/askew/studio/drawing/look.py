"""Determine a drawing's random variation, colors and measures from its scene and seed."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Color, Point
from askew.studio.drawing.palette import CHOICES, DATA, HAIR, darker, lighter, mix, pick
from askew.studio.scene import Scene

_NAMES = (
    "x y scale tilt skin hair iris cut beard earring tear frame rim garment cloth shirt "
    "tie aid backdrop sign_x sign_y gaze part lip grey"
).split()


class Jitter(dict[str, float]):
    """Random numbers, uniform in [0, 1), keyed by the name of the property that each number varies.

    All numbers are drawn together, so that all scenes with the same seed have the same numbers.
    """

    def __init__(self, seed: int) -> None:
        source = random.Random(seed)
        super().__init__({name: source.random() for name in _NAMES})

    def between(self, name: str, low: float, high: float) -> float:
        """Return the random number with this name, scaled to [low, high)."""
        return low + (high - low) * self[name]


@dataclass(frozen=True, slots=True)
class Look:
    """A scene, and all properties of its drawing that follow from the scene and the seed.

    Attributes
    ----------
    scene : Scene
        The scene.
    jitter : Jitter
        Random numbers, keyed by name.
    texture : str
        Texture of the hair: straight, wavy or coily.
    torso : tuple of Point
        Outline of the right half of the torso, from the neck down.
    measures : mapping
        Measures, keyed by the names that figures.txt uses. They include `jaw` and `chin`, which are
        fractions of half the face's width.
    colors : mapping
        Colors, keyed by the names that figures.txt uses.
    """

    scene: Scene
    jitter: Jitter
    texture: str
    torso: tuple[Point, ...]
    measures: Mapping[str, float]
    colors: Mapping[str, Color]

    @property
    def female(self) -> bool:
        """True if the person is drawn as a woman."""
        return self.scene.gender == "female"

    @property
    def figure(self) -> str:
        """Word that stands for the person in figures.txt."""
        return "woman" if self.female else "man"


def look(scene: Scene, seed: int) -> Look:
    """Determine the colors and measures for drawing a scene with a given seed.

    Parameters
    ----------
    scene
        The scene.
    seed
        Seed of the jitter.
    """
    varied = Jitter(seed)
    female = scene.gender == "female"
    body = DATA["body"][scene.body_type]
    torso = tuple((x * (0.93 if female else 1.05), y) for x, y in body["torso"])
    face = body["face"] * (0.975 if female else 1.0)
    jaw = (0.72 if female else 0.88) + body["jaw"] + (0.02 if scene.age == "young" else 0.0)
    chin = (0.26 if female else 0.50) + body["jaw"]
    low = {"formal": (92.0, 86.0), "informal": (97.0, 87.5)}[scene.clothing]
    measures = {
        "w": face,
        "jaw": jaw,
        "j": face * jaw,
        "chin": chin,
        "k": face * chin,
        "c": {"young": 26.0, "middle-aged": 27.0, "old": 27.6}[scene.age]
        - (0.5 if female else 0.0),
        "n": body["neck"] * (0.88 if female else 1.06),
        "b": low[0] if female else low[1],
        "t": torso[-2][0],
        "o": {"happy": 3.3, "sad": 3.3, "serious": 3.0, "tired": 3.2}[scene.emotion],
        "d": 1.0 if scene.emotion == "sad" else 0.0,
        "g": varied.between("gaze", -0.7, 0.7),
        "p": -1.0 if varied["part"] < 0.5 else 1.0,
        "h": -3.0 if scene.hair == "short" else 1.0,
    }
    lightness = round(varied.between("skin", *palette.SKIN_LIGHTNESS[scene.ethnicity]), 1)
    return Look(
        scene=scene,
        jitter=varied,
        texture=_texture(scene, varied["cut"]),
        torso=torso,
        measures=measures,
        colors=_colors(scene, varied, lightness),
    )


def _texture(scene: Scene, position: float) -> str:
    straight, wavy = DATA["hair_texture"][scene.ethnicity]
    if position < straight:
        return "straight"
    return "wavy" if position < wavy else "coily"


def _colors(scene: Scene, varied: Jitter, lightness: float) -> dict[str, Color]:
    female = scene.gender == "female"
    skin = palette.skin(lightness)
    natural = pick(HAIR[scene.ethnicity], varied["hair"])
    hair = {
        "young": natural,
        "middle-aged": mix(natural, (128, 124, 124), 0.18),
        "old": mix((206, 206, 210), (236, 236, 238), varied["grey"]),
    }[scene.age]
    brow = {
        "young": darker(natural, 0.45),
        "middle-aged": darker(natural, 0.3),
        "old": mix((236, 236, 238), (150, 148, 150), min(max((lightness - 55) / 30, 0.0), 1.0)),
    }[scene.age]
    beard = {"young": brow, "middle-aged": mix(brow, (150, 148, 148), 0.3), "old": hair}[scene.age]
    cloth = pick(CHOICES["jackets" if scene.clothing == "formal" else "casuals"], varied["cloth"])
    warm = (196, 60, 72) if lightness >= 50 else (214, 104, 110)
    return {
        **skin,
        "crease": mix(skin["line"], skin["deep"], 0.25),
        "stubble": mix(skin["deep"], skin["line"], 0.25),
        "blush": mix(skin["base"], skin["blush"], 0.75 if female else 0.3),
        "lips": mix(skin["lips"], warm, varied.between("lip", 0.1, 0.6))
        if female
        else skin["bare"],
        "iris": pick(palette.IRIS[scene.ethnicity], varied["iris"]),
        "hair": hair,
        "strand": darker(hair, 0.4) if sum(hair) > 220 else lighter(hair, 0.2),
        "brow": brow,
        "beard": beard,
        "rim": pick(CHOICES["bright_frames" if lightness < 50 else "frames"], varied["rim"]),
        "aid": pick(CHOICES["hearing_aids"], varied["aid"]),
        "jewel": (238, 190, 70) if varied["rim"] < 0.6 else (232, 236, 240),
        "cloth": cloth,
        "sleeve": lighter(cloth, 0.1),
        "trim": darker(cloth, 0.28) if varied["shirt"] < 0.6 else lighter(cloth, 0.75),
        "shirt": pick(CHOICES["shirts"], varied["shirt"]),
        "tie": pick(CHOICES["ties"], varied["tie"]),
    }
