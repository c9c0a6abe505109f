"""A supersampled canvas for smooth shapes.

It can record which part of the drawing each pixel shows.

`finish` converts the canvas to an image in one of the styles.
"""

import cmath
import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Color = tuple[int, int, int]
Point = tuple[float, float]
Complexes = NDArray[np.complex128]

SIZE = 128
SCALE = 3
STEPS = 5

PARTS = "backdrop chair hair skin face clothes neck lens aid cane pin sign headwear".split()
"""Parts that a pixel can show.

"face" means the facial features, and "neck" means the skin below the head.
"""


@lru_cache(maxsize=64)
def _closed_spline(count: int) -> Complexes:
    """Return Catmull-Rom weights for a closed curve through `count` points.

    The weights have the shape (count·STEPS, count).
    """
    weights = np.zeros((count * STEPS, count), dtype=np.complex128)
    for row in range(len(weights)):
        for offset, weight in zip((-1, 0, 1, 2), _catmull_rom(row % STEPS / STEPS), strict=True):
            weights[row, (row // STEPS + offset) % count] += weight
    return weights


@lru_cache(maxsize=64)
def _open_spline(count: int) -> tuple[Complexes, Complexes]:
    """Return weights for an open curve through `count` points, and weights for its directions.

    Both arrays have the shape ((count - 1)·STEPS + 1, count).
    """
    if count == 2:
        return np.eye(2, dtype=np.complex128), np.array([[-1, 1], [-1, 1]], dtype=np.complex128)
    weights = np.zeros(((count - 1) * STEPS + 1, count), dtype=np.complex128)
    for row in range(len(weights)):
        i = min(row // STEPS, count - 2)
        for offset, weight in zip((-1, 0, 1, 2), _catmull_rom(row / STEPS - i), strict=True):
            weights[row, min(max(i + offset, 0), count - 1)] += weight
    slopes: Complexes = np.apply_along_axis(np.gradient, 0, weights)
    return weights, slopes


def _catmull_rom(t: float) -> tuple[float, float, float, float]:
    square = t * t
    cube = t**3
    weights = (
        -t + 2 * square - cube,
        2 - 5 * square + 3 * cube,
        t + 4 * square - 3 * cube,
        cube - square,
    )
    return weights[0] / 2, weights[1] / 2, weights[2] / 2, weights[3] / 2


@lru_cache(maxsize=64)
def _taper(samples: int, ends: float) -> Complexes:
    """Return half the relative width along a stroke: 1/2 in the middle, and `ends`/2 at the ends.

    Each width is a complex number whose direction is perpendicular to the stroke.
    """
    return np.asarray(0.5j * (ends + (1 - ends) * np.sin(np.linspace(0, math.pi, samples)) ** 0.6))


def _complex(points: Sequence[Point]) -> Complexes:
    return np.array(points, dtype=np.float64).view(np.complex128)[:, 0]


_CIRCLE = np.exp(1j * np.arange(28) * math.tau / 28)
_CAP = np.exp(1j * np.linspace(math.pi / 2, -math.pi / 2, 7)[1:-1]) / 2


class Canvas:
    """A canvas whose coordinates are in pixels of the final image.

    Its coordinate frame can be moved, scaled and rotated.
    """

    def __init__(self, width: float = SIZE, height: float = SIZE, labeled: bool = False) -> None:
        pixels = (round(width * SCALE), round(height * SCALE))
        self.image = Image.new("RGB", pixels, (255, 255, 255))
        self.labels = Image.new("L", pixels, 0) if labeled else None
        self._ink = ImageDraw.Draw(self.image)
        self._label_ink = ImageDraw.Draw(self.labels) if self.labels is not None else None
        self._turn = complex(SCALE)
        self._origin = 0j
        self._label = 0

    def on(self, part: str) -> Self:
        """Return a view of the canvas that labels all shapes drawn on it as belonging to `part`."""
        view = self._view()
        view._label = PARTS.index(part)
        return view

    def placed(self, x: float, y: float, scale: float = 1.0, degrees: float = 0.0) -> Self:
        """Return a view of the canvas in which the coordinate origin is moved to (x, y)."""
        view = self._view()
        view._origin = complex(x, y) * self._turn + self._origin
        view._turn = self._turn * cmath.rect(scale, math.radians(degrees))
        return view

    def _view(self) -> Self:
        view = object.__new__(type(self))  # what copy.copy does, in a third of its time
        view.__dict__.update(self.__dict__)
        return view

    def _fill(self, points: Complexes, fill: Color) -> None:
        flat = (points * self._turn + self._origin).view(np.float64).tolist()
        self._ink.polygon(flat, fill=fill)
        if self._label_ink is not None:
            self._label_ink.polygon(flat, fill=self._label)

    def polygon(self, points: Sequence[Point], fill: Color) -> None:
        """Draw a filled polygon with straight edges."""
        self._fill(_complex(points), fill)

    def box(self, left: float, top: float, right: float, bottom: float, fill: Color) -> None:
        """Draw a filled rectangle."""
        self.polygon([(left, top), (right, top), (right, bottom), (left, bottom)], fill)

    def blob(self, points: Sequence[Point], fill: Color) -> None:
        """Draw a smooth closed curve through the points, and fill it."""
        self._fill(_closed_spline(len(points)) @ _complex(points), fill)

    def symmetric(self, points: Sequence[Point], fill: Color) -> None:
        """Draw a smooth shape that is symmetric about the line x = 0.

        `points` describes the right half of the shape from top to bottom.
        """
        left = [(-x, y) for x, y in reversed(points) if x != 0]
        self.blob([*points, *left], fill)

    def ellipse(self, x: float, y: float, rx: float, ry: float, fill: Color) -> None:
        """Draw a filled ellipse with center (x, y)."""
        self._fill(self._oval(x, y, rx, ry), fill)

    def ring(self, x: float, y: float, rx: float, ry: float, width: float, fill: Color) -> None:
        """Draw the outline of an ellipse with a line of the given width."""
        outer = self._oval(x, y, rx, ry)
        inner = self._oval(x, y, rx - width, ry - width)
        self._fill(np.concatenate([outer, outer[:1], inner[:1], inner[::-1]]), fill)

    @staticmethod
    def _oval(x: float, y: float, rx: float, ry: float) -> Complexes:
        oval: Complexes = _CIRCLE.real * rx + (_CIRCLE.imag * (1j * ry) + complex(x, y))
        return oval

    def stroke(self, points: Sequence[Point], width: float, fill: Color, ends: float = 1.0) -> None:
        """Draw a smooth open line.

        The line tapers toward both ends. `ends` is the share of the width that remains at the ends.
        If `ends` is 1, the line does not taper and its ends are round.
        """
        weights, slopes = _open_spline(len(points))
        through = _complex(points)
        path = weights @ through
        along = slopes @ through
        along *= width / (np.abs(along) + 1e-9)
        side = along * _taper(len(path), ends)
        if ends < 1:
            self._fill(np.concatenate([path + side, (path - side)[::-1]]), fill)
            return
        caps = path[-1] + along[-1] * _CAP, path[0] - along[0] * _CAP
        self._fill(np.concatenate([path + side, caps[0], (path - side)[::-1], caps[1]]), fill)

    def line(self, points: Sequence[Point], width: float, fill: Color) -> None:
        """Draw straight segments with round joints."""
        for start, end in pairwise(points):
            self.stroke([start, end], width, fill)

    def stamp(self, picture: Image.Image, mask: Image.Image, x: float, y: float) -> None:
        """Paste a supersampled image with its center at (x, y). The image is not rotated."""
        center = complex(x, y) * self._turn + self._origin
        corner = (round(center.real - picture.width / 2), round(center.imag - picture.height / 2))
        self.image.paste(picture, corner, mask)
        if self.labels is not None:
            self.labels.paste(
                self._label, (*corner, corner[0] + mask.width, corner[1] + mask.height), mask
            )


def finish(drawn: Image.Image, style: str) -> Image.Image:
    """Reduce a supersampled image to its final size: in color, in shades of gray or as a sketch.

    Parameters
    ----------
    drawn
        Supersampled image.
    style
        A value of the attribute `style`.
    """
    if style == "color":
        return drawn.reduce(SCALE)
    grey = drawn.reduce(SCALE).convert("L")
    if style == "greyscale":
        return grey.convert("RGB")
    pencil = _sketch(grey)
    return Image.merge("RGB", [pencil.point(tint) for tint in _PAPER])


def _tint(white: int) -> list[int]:
    return [round(level * white / 255) for level in range(256)]


_PAPER = tuple(map(_tint, (253, 250, 243)))
_HATCH = ((np.arange(SIZE)[:, None] + np.arange(SIZE)) % 4 < 2).astype(np.float32)


def _sketch(grey: Image.Image) -> Image.Image:
    """Return a pencil sketch with lines on the dark side of edges, and with hatching in dark areas.

    Lines are equally strong on dark and on light skin.
    """
    tone = np.asarray(grey, dtype=np.float32) + 10
    around = np.asarray(grey.filter(ImageFilter.BoxBlur(2)), dtype=np.float32) + 10
    line = np.clip(1.06 - 2.3 * np.maximum(1 - tone / around, 0), 0.12, 1)
    dark = np.clip(1.05 - tone / 225, 0, 1)
    black = np.clip((50 - tone) / 40, 0, 1)
    wash = 1 - 0.28 * dark - 0.16 * dark * _HATCH - 0.4 * black
    return Image.fromarray((255 * line * wash).astype(np.uint8))
