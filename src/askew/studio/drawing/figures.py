"""Draw figures, which are described in data files and consist of shapes.

Shapes refer to colors by name. Their sizes are relative to measures of the person on whom the
figure is drawn.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from askew.studio import rows
from askew.studio.drawing.canvas import Canvas, Color
from askew.studio.drawing.look import Look
from askew.studio.drawing.palette import darker, lighter, named

_INK = re.compile(
    r"(?P<width>[\d.]*)(?:/(?P<ends>[\d.]+))?(?P<color>#[0-9a-f]{6}|[a-zA-Z]+)(?P<shade>[-+][\d.]+)?"
)
_TERM = re.compile(r"([-+]?[\d.]*)([a-z]*)")

_AREAS = {"P": Canvas.polygon, "S": Canvas.blob, "M": Canvas.symmetric}

Term = tuple[float, str]
"""A factor, and the name of the measure that it multiplies.

If the name is empty, the term is constant.
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of a figure.

    Attributes
    ----------
    kind : str
        Letter that stands for the kind of shape. See `shapes`.
    both : bool
        Whether to draw the mirror image of the shape as well.
    width : float
        Width of the line.
    ends : float
        Share of the width that remains at the ends of a stroke.
    color : str
        Name of the color, or #rrggbb.
    shade : float
        Share of white that is mixed into the color. If the number is negative, ink is mixed into
        the color instead.
    numbers : tuple
        Coordinates and radii of the shape. Each number is a sum of terms.
    """

    kind: str
    both: bool
    width: float
    ends: float
    color: str
    shade: float
    numbers: tuple[tuple[Term, ...], ...]

    def draw(
        self,
        canvas: Canvas,
        measures: Mapping[str, float],
        colors: Mapping[str, Color],
        side: int = 1,
    ) -> None:
        """Draw the shape, using these measures and colors.

        If `side` is -1, the shape is mirrored.
        """
        fill = self._fill(colors)
        numbers = [_measured(terms, measures) for terms in self.numbers]
        for mirrored in (-side, side) if self.both else (side,):
            points = [(mirrored * x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
            if self.kind in _AREAS:
                _AREAS[self.kind](canvas, points, fill)
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

    def _fill(self, colors: Mapping[str, Color]) -> Color:
        fill = colors[self.color] if self.color in colors else named(self.color)
        if self.shade < 0:
            return darker(fill, -self.shade)
        return lighter(fill, self.shade) if self.shade else fill


def _measured(terms: tuple[Term, ...], measures: Mapping[str, float]) -> float:
    return sum(factor * measures[name] if name else factor for factor, name in terms)


def draw_figure(canvas: Canvas, look: Look, name: str, side: int = 1) -> None:
    """Draw a figure defined in figures.txt, using a person's measures and colors.

    If `side` is -1, the figure is mirrored.
    """
    part, drawn = _figures()[name]
    for shape in drawn:
        shape.draw(canvas.on(part), look.measures, look.colors, side)


def draw_thing(canvas: Canvas, name: str, measures: Mapping[str, float], color: Color) -> None:
    """Draw a figure defined in figures.txt that is not part of a person, with these measures."""
    for shape in _figures()[name][1]:
        shape.draw(canvas, measures, {"own": color})


@lru_cache(maxsize=1)
def _figures() -> dict[str, tuple[str, tuple[Shape, ...]]]:
    figures = {}
    for names, part, drawn in rows("figures.txt"):
        for name in names.split(","):
            figures[name.strip()] = (part, shapes(drawn))
    return figures


@lru_cache(maxsize=1024)
def shapes(text: str) -> tuple[Shape, ...]:
    """Parse a text from a data file that contains shapes separated by semicolons.

    A shape consists of a letter, a color and numbers. The width of a line may precede the color.
    For a stroke, the width may be followed by a slash and the share of the width that remains at
    the stroke's ends.

    The letters B (box), O (ellipse) and R (ring) take only a few numbers. For a box, the numbers
    are the left, top, right and bottom coordinates. For an ellipse or ring, the numbers are the x
    and y coordinates of its center, and one or two radii. The other letters take a list of points:
    P (polygon), S (smooth blob), M (symmetric blob, given by the points of its right half), L
    (line) and C (smooth curve).

    Parameters
    ----------
    text
        Text of the shapes.

    Raises
    ------
    ValueError
        If a shape is not valid.
    """
    return tuple(_shape(*description.split()) for description in text.split(";"))


def _shape(kind: str, color: str, *words: str) -> Shape:
    ink = _INK.fullmatch(color)
    if ink is None or kind.rstrip("2") not in tuple("BOPSMLCR"):
        raise ValueError(f"unknown shape {' '.join((kind, color, *words))!r}")
    return Shape(
        kind=kind[0],
        both=kind.endswith("2"),
        width=float(ink["width"] or 0),
        ends=float(ink["ends"] or 1),
        color=ink["color"],
        shade=float(ink["shade"] or 0),
        numbers=tuple(map(_terms, words)),
    )


def _terms(word: str) -> tuple[Term, ...]:
    """Parse a sum of terms. If a term has no factor, the factor is 1."""
    terms = []
    for factor, measure in _TERM.findall(word)[:-1]:
        number = f"{factor}1" if factor in ("", "-", "+") else factor
        terms.append((float(number), measure))
    return tuple(terms)
