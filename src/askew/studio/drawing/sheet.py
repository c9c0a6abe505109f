"""Contact sheets: labelled rows of pictures."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from askew.studio.drawing.portrait import draw
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene

_MARGIN, _CAPTION, _TITLE, _COLUMNS = 12, 20, 30, 9

Row = tuple[str, Sequence[tuple[str, Image.Image]]]


def sheet(rows: Sequence[Row], cell: int = 128) -> Image.Image:
    """A contact sheet: each row has a title above and a caption below every picture, drawn `cell` pixels wide."""
    columns = max((len(pictures) for _, pictures in rows), default=0)
    step, height = cell + _MARGIN, cell + _CAPTION + _TITLE + _MARGIN
    page = Image.new("RGB", (columns * step + _MARGIN, len(rows) * height + _MARGIN), "white")
    ink = ImageDraw.Draw(page)
    title_font = ImageFont.load_default(18)
    for row, (title, pictures) in enumerate(rows):
        top = _MARGIN + row * height
        ink.text((_MARGIN, top), title, fill=(30, 30, 38), font=title_font)
        for column, (caption, picture) in enumerate(pictures):
            left = _MARGIN + column * step
            page.paste(picture.resize((cell, cell), Image.Resampling.LANCZOS), (left, top + _TITLE))
            ink.text((left, top + _TITLE + cell + 2), caption, fill=(60, 60, 70), font=_fitting(caption, cell))
    return page


def _fitting(text: str, width: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The largest font, up to 13 points, in which the text is no wider than `width`."""
    fonts = [ImageFont.load_default(size) for size in (13, 12, 11, 10, 9, 8)]
    return next((font for font in fonts if font.getlength(text) <= width), fonts[-1])


def attribute_sheet(seed: int = 0, each: int = 3, cell: int = 128) -> Image.Image:
    """Every attribute: `each` people per value, the same people under all its values."""
    rows: list[Row] = []
    for attribute, values in ATTRIBUTES.items():
        cells = [(v, draw(_passer_by(seed + i, **{attribute: v}), seed + i)) for v in values for i in range(each)]
        rows += _wrapped(attribute.replace("_", " "), cells, _COLUMNS)
    return sheet(rows, cell)


def _passer_by(number: int, **fixed: str) -> Scene:
    """A person for a contact sheet, different for every number; people in a row take turns, and all have hair."""
    source = random.Random(number)
    chosen: dict[str, Any] = {name: source.choice(values) for name, values in ATTRIBUTES.items()}
    turns = {name: ATTRIBUTES[name][number % len(ATTRIBUTES[name])] for name in ("gender", "ethnicity", "environment")}
    hair = source.choice(("short", "long"))
    chosen |= turns | {"hair": hair, "disability": "fit", "glasses": "no glasses", "style": "color"} | fixed
    return Scene(**chosen)


def occupation_sheet(seed: int = 0, columns: int = 9, cell: int = 128) -> Image.Image:
    """All occupations, each on another person."""
    workers = [
        _passer_by(i, occupation=name, environment=known.place, clothing=known.attire)
        for i, (name, known) in enumerate(OCCUPATIONS.items())
    ]
    cells = [(name, draw(worker, seed + i)) for i, (name, worker) in enumerate(zip(OCCUPATIONS, workers, strict=True))]
    return sheet(_wrapped("occupations", cells, columns), cell)


def _wrapped(title: str, cells: list[tuple[str, Image.Image]], columns: int) -> list[Row]:
    """Rows of at most `columns` pictures, the first with the title."""
    starts = range(0, len(cells), columns)
    return [("" if start else title, cells[start : start + columns]) for start in starts]
