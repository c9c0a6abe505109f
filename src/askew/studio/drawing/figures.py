"""Figures that data files describe: shapes with colours by name, in measures of the person who
wears them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from askew.studio import rows
from askew.studio.drawing import palette
from askew.studio.drawing.canvas import Canvas, Colour
from askew.studio.drawing.look import Look

_INK = re.compile(
    r"(?P<width>[\d.]*)(?:/(?P<ends>[\d.]+))?(?P<colour>#[0-9a-f]{6}|[a-zA-Z]+)(?P<shade>[-+][\d.]+)?"
)
_TERM = re.compile(r"([-+]?[\d.]*)([a-z]*)")

Term = tuple[float, str]
"""A factor and the measure that it multiplies; without a measure, a number."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape. `both` draws it mirrored too; `shade` below 0 mixes so much ink into the colour,
    above 0 white.
    """

    kind: str
    both: bool
    width: float
    ends: float
    colour: str
    shade: float
    numbers: tuple[tuple[Term, ...], ...]

    def draw(
        self,
        canvas: Canvas,
        measures: Mapping[str, float],
        colours: Mapping[str, Colour],
        side: int = 1,
    ) -> None:
        """Draw it in these measures; `side` -1 mirrors it."""
        fill = palette.named(self.colour) if self.colour not in colours else colours[self.colour]
        if self.shade:
            fill = palette.mix(
                fill, palette.INK if self.shade < 0 else palette.WHITE, abs(self.shade)
            )
        numbers = [
            sum(f * measures[name] if name else f for f, name in terms) for terms in self.numbers
        ]
        for mirrored in (-side, side) if self.both else (side,):
            points = [(mirrored * x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
            if self.kind == "P":
                canvas.polygon(points, fill)
            elif self.kind == "S":
                canvas.blob(points, fill)
            elif self.kind == "M":
                canvas.symmetric(points, fill)
            elif self.kind == "L":
                canvas.line(points, self.width, fill)
            elif self.kind == "C":
                canvas.stroke(points, self.width, fill, self.ends)
            elif self.kind == "B":
                canvas.box(*points[0], *points[1], fill)
            elif self.kind == "O":
                canvas.ellipse(*points[0], numbers[2], numbers[-1], fill)
            else:
                canvas.ring(*points[0], numbers[2], numbers[-1], self.width, fill)


def draw_figure(canvas: Canvas, look: Look, name: str, side: int = 1) -> None:
    """Draw a figure of figures.txt in the measures and colours of a person; `side` -1 mirrors it."""
    part, drawn = _figures()[name]
    for shape in drawn:
        shape.draw(canvas.on(part), look.measures, look.colours, side)


def draw_thing(canvas: Canvas, name: str, measures: Mapping[str, float], own: Colour) -> None:
    """Draw a figure of figures.txt that belongs to nobody, in its own measures."""
    for shape in _figures()[name][1]:
        shape.draw(canvas, measures, {"own": own})


@lru_cache(maxsize=1)
def _figures() -> dict[str, tuple[str, tuple[Shape, ...]]]:
    table = rows("figures.txt")
    return {
        name.strip(): (part, shapes(drawn))
        for names, part, drawn in table
        for name in names.split(",")
    }


@lru_cache(maxsize=1024)
def shapes(text: str) -> tuple[Shape, ...]:
    """The shapes that a data file writes between semicolons. Raises ValueError for one that cannot
    be read.

    A letter, a colour (before it a line's width, with the share of it at a stroke's ends) and
    numbers: B box (left top right bottom), O ellipse and R ring (x y, one radius or two), P
    polygon, S smooth blob, M blob given by its right half, L line and C smooth curve through
    points.
    """
    found = []
    for kind, colour, *words in map(str.split, text.split(";")):
        ink = _INK.fullmatch(colour)
        if ink is None or kind.rstrip("2") not in tuple("BOPSMLCR"):
            raise ValueError(f"unknown shape {' '.join((kind, colour, *words))!r}")
        terms = [
            [
                (float(f"{factor}1" if factor in ("", "-", "+") else factor), measure)
                for factor, measure in _TERM.findall(word)[:-1]
            ]
            for word in words
        ]
        width = float(ink["width"] or 0)
        ends = float(ink["ends"] or 1)
        shade = float(ink["shade"] or 0)
        found.append(
            Shape(
                kind[0],
                kind.endswith("2"),
                width,
                ends,
                ink["colour"],
                shade,
                tuple(map(tuple, terms)),
            )
        )
    return tuple(found)
