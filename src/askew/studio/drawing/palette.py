"""Colours of the drawings: skin by lightness, hair, clothes, pins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from askew.studio.drawing.canvas import Colour

INK: Colour = (38, 36, 44)
WHITE: Colour = (255, 255, 255)
SNOW: Colour = (246, 245, 241)

SKIN_LIGHTNESS: Mapping[str, tuple[float, float]] = {
    "white": (75.0, 91.0),
    "asian": (66.0, 82.0),
    "middle eastern": (57.0, 73.0),
    "hispanic": (48.0, 64.0),
    "south asian": (39.0, 55.0),
    "black": (30.0, 46.0),
}
"""Range of CIELAB L* of the skin; neighbours overlap by nearly half, together they span 30-91 evenly."""

HAIR: Mapping[str, tuple[Colour, ...]] = {
    "white": ((222, 184, 112), (176, 126, 70), (122, 82, 50), (168, 84, 44), (74, 52, 40)),
    "asian": ((32, 29, 36), (46, 38, 40), (66, 48, 42)),
    "middle eastern": ((40, 31, 30), (66, 46, 36), (92, 62, 44)),
    "hispanic": ((44, 32, 28), (82, 54, 38), (110, 70, 44)),
    "south asian": ((30, 26, 30), (44, 34, 34), (62, 42, 34)),
    "black": ((28, 25, 28), (42, 33, 32), (60, 42, 34)),
}

IRIS: Mapping[str, tuple[Colour, ...]] = {
    "white": ((70, 122, 168), (88, 130, 92), (112, 78, 48), (120, 146, 160)),
    "middle eastern": ((96, 66, 40), (66, 46, 32), (96, 116, 70)),
}
DARK_IRIS: tuple[Colour, ...] = ((62, 42, 30), (84, 56, 36))

PIN: Mapping[str, Colour] = {
    "white": (0, 114, 178),
    "black": (230, 159, 0),
    "asian": (213, 94, 0),
    "south asian": (0, 158, 115),
    "middle eastern": (204, 121, 167),
    "hispanic": (240, 228, 66),
}
"""The categorical palette of Okabe and Ito, safe for colour-blind readers."""

JACKETS: tuple[Colour, ...] = ((44, 58, 92), (66, 68, 78), (92, 46, 62), (42, 78, 76), (84, 70, 60), (70, 56, 96))
SHIRTS: tuple[Colour, ...] = ((250, 250, 250), (224, 236, 248), (250, 240, 226), (246, 230, 236))
TIES: tuple[Colour, ...] = ((190, 48, 56), (44, 112, 178), (226, 158, 44), (60, 140, 96), (132, 72, 150))
CASUALS: tuple[Colour, ...] = (
    (226, 96, 84), (72, 158, 198), (246, 190, 84), (98, 176, 128), (160, 126, 200), (236, 138, 170), (92, 118, 176),
)  # fmt: skip
WALLS: tuple[Colour, ...] = (
    (242, 226, 204), (222, 230, 222), (230, 222, 236), (246, 218, 208), (214, 226, 236), (240, 234, 216),
)  # fmt: skip
SKIES: tuple[Colour, ...] = ((168, 214, 242), (190, 224, 240), (252, 220, 188), (206, 214, 242))
HILLS: tuple[Colour, ...] = ((136, 190, 116), (116, 176, 128), (162, 192, 104), (128, 182, 150))


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """The colour `share` of the way from `a` to `b`."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


def darker(colour: Colour, share: float) -> Colour:
    """`colour` mixed with ink."""
    return mix(colour, INK, share)


def lighter(colour: Colour, share: float) -> Colour:
    """`colour` mixed with white."""
    return mix(colour, WHITE, share)


def pick(options: Sequence[Colour], position: float) -> Colour:
    """The option at a position in [0, 1)."""
    return options[int(position * len(options))]


@dataclass(frozen=True, slots=True)
class Skin:
    """One skin tone with the tones that belong to it."""

    lightness: float
    base: Colour
    shade: Colour
    deep: Colour
    light: Colour
    line: Colour
    blush: Colour
    lips: Colour
    bare_lips: Colour


@lru_cache(maxsize=4096)
def skin(lightness: float) -> Skin:
    """The skin tone of CIELAB L* = `lightness`. Lines and highlights keep their contrast at every lightness."""
    a, b = _skin_hue(lightness)
    dark = lightness < 50
    lips = (lightness + 11, a + 26, b + 4) if dark else (lightness * 0.62 + 4, a + 30, b + 3)
    return Skin(
        lightness=lightness,
        base=_lab(lightness, a, b),
        shade=_lab(lightness * 0.89, a + 2, b + 2),
        deep=_lab(lightness * 0.76, a + 4, b + 2),
        light=_lab(lightness + (9 if dark else 5), a, b + 2),
        line=_lab(max(lightness * 0.52 - 4, 7), a + 4, b),
        blush=_lab(lightness * 0.93 + 1, a + 13, b + 4),
        lips=_lab(*lips),
        bare_lips=_lab(lightness + 8 if dark else lightness * 0.84, a + 9, b + 1),
    )


def _skin_hue(lightness: float) -> tuple[float, float]:
    """a* and b* of skin at a lightness, between five anchors."""
    anchors = ((30.0, 12.0, 14.0), (45.0, 15.0, 21.0), (60.0, 15.0, 24.0), (75.0, 11.0, 19.0), (91.0, 5.0, 11.0))
    clipped = min(max(lightness, 30.0), 91.0)
    for (l0, a0, b0), (l1, a1, b1) in pairwise(anchors):
        if clipped <= l1:
            t = (clipped - l0) / (l1 - l0)
            return a0 + (a1 - a0) * t, b0 + (b1 - b0) * t
    return anchors[-1][1:]


def _lab(lightness: float, a: float, b: float) -> Colour:
    """CIELAB (D65) to 8-bit sRGB, clipped."""
    fy = (min(lightness, 97.0) + 16) / 116
    x, y, z = (
        white * (f**3 if f > 6 / 29 else 3 * (6 / 29) ** 2 * (f - 4 / 29))
        for white, f in ((0.95047, fy + a / 500), (1.0, fy), (1.08883, fy - b / 200))
    )
    linear = (
        3.2404542 * x - 1.5371385 * y - 0.4985314 * z,
        -0.9692660 * x + 1.8760108 * y + 0.0415560 * z,
        0.0556434 * x - 0.2040259 * y + 1.0572252 * z,
    )
    red, green, blue = (_gamma(min(max(value, 0.0), 1.0)) for value in linear)
    return red, green, blue


def _gamma(value: float) -> int:
    return round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))
