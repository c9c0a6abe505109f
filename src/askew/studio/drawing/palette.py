"""Colors of skin, hair, clothes and pins in the drawings."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from askew.studio import toml
from askew.studio.drawing.canvas import Color

INK: Color = (38, 36, 44)
WHITE: Color = (255, 255, 255)
DATA = toml("looks.toml")
SKIN_LIGHTNESS: Mapping[str, tuple[float, float]] = DATA["skin_lightness"]
"""Range of skin lightness (CIELAB L*) for each ethnicity."""


def named(name: str) -> Color:
    """Return a color that a data file specifies by name or as #rrggbb."""
    red, green, blue = bytes.fromhex(DATA["named"].get(name, name).lstrip("#"))
    return red, green, blue


def _colors_by_name(table: str) -> dict[str, tuple[Color, ...]]:
    return {name: tuple(map(named, colors)) for name, colors in DATA[table].items()}


CHOICES = _colors_by_name("one_of")
HAIR = _colors_by_name("hair")
IRIS = _colors_by_name("iris")
PIN = {ethnicity: named(color) for ethnicity, color in DATA["pin"].items()}


def mix(a: Color, b: Color, share: float) -> Color:
    """Mix two colors. `share` is the share of `b` in the mixture, in [0, 1]."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


def darker(color: Color, share: float) -> Color:
    """Darken a color by mixing in a share of ink."""
    return mix(color, INK, share)


def lighter(color: Color, share: float) -> Color:
    """Lighten a color by mixing in a share of white."""
    return mix(color, WHITE, share)


def pick(options: Sequence[Color], position: float) -> Color:
    """Return a color from a list of options, given its relative position in the list, in [0, 1)."""
    return options[int(position * len(options))]


_HUES = ((12.0, 15.0, 15.0, 11.0, 5.0), (14.0, 21.0, 24.0, 19.0, 11.0))
"""CIELAB a* and b* of skin at five lightness values."""


@lru_cache(maxsize=4096)
def skin(lightness: float) -> Mapping[str, Color]:
    """Return the colors that are used to draw skin of a given lightness, keyed by name.

    The names are base, shade, deep, light, line, blush, lips, and bare (lips without color). Lines
    and highlights have about the same contrast at every lightness.

    Parameters
    ----------
    lightness
        CIELAB L*, in [0, 100].
    """
    a, b = (float(np.interp(lightness, (30, 45, 60, 75, 91), anchors)) for anchors in _HUES)
    dark = lightness < 50
    return {
        "base": _lab(lightness, a, b),
        "shade": _lab(lightness * 0.89, a + 2, b + 2),
        "deep": _lab(lightness * 0.76, a + 4, b + 2),
        "light": _lab(lightness + (9 if dark else 5), a, b + 2),
        "line": _lab(max(lightness * 0.52 - 4, 7), a + 4, b),
        "blush": _lab(lightness * 0.93 + 1, a + 13, b + 4),
        "lips": _lab(lightness + 11, a + 26, b + 4)
        if dark
        else _lab(lightness * 0.62 + 4, a + 30, b + 3),
        "bare": _lab(lightness + 8 if dark else lightness * 0.84, a + 9, b + 1),
    }


def _lab(lightness: float, a: float, b: float) -> Color:
    """Convert a CIELAB color (D65) to 8-bit sRGB. Values outside the sRGB range are clipped."""
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
    inside = (min(max(value, 0.0), 1.0) for value in linear)
    red, green, blue = (
        round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))
        for value in inside
    )
    return red, green, blue
