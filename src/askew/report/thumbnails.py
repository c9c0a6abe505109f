"""Picture grids: small copies of the pictures, embedded in the page as data URIs."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PIL import Image

from askew.report.formatting import Record
from askew.store.imagefile import as_rgb

OpenPicture = Callable[[str], Image.Image | None]

SIDE = 112
"""Longest side of a thumbnail in pixels."""

TOTAL = 1500
"""Thumbnails that one report may hold, about: a photograph takes some 4 kB."""


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """One cell of a grid. `uri` is None where there is no picture, `number` counts from 1."""

    number: int
    uri: str | None


@dataclass(frozen=True, slots=True)
class Grid:
    """The first pictures of a set, `planned` of them in all."""

    cells: tuple[Thumbnail, ...]
    planned: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many pictures of a set are shown, so that the page stays small however many sets there are."""

    initial: int
    strip: int

    @classmethod
    def of(cls, initial_sets: int, counterfactual_sets: int) -> Allowance:
        """All of a few initial sets and twelve of each other; fewer when there are many sets."""
        initial = max(6, min(100, TOTAL // (2 * max(initial_sets, 1))))
        strip = max(4, min(12, (TOTAL - min(initial, 48) * initial_sets) // max(2 * counterfactual_sets, 1)))
        return cls(initial, strip)


def grid(picture_set: Record | None, open_picture: OpenPicture, most: int) -> Grid | None:
    """The first `most` pictures of a set; None if there is no such set, or it is empty."""
    if picture_set is None or not picture_set["pictures"]:
        return None
    pictures: Sequence[str | None] = picture_set["pictures"]
    cells = tuple(Thumbnail(k + 1, _uri(picture, open_picture)) for k, picture in enumerate(pictures[:most]))
    return Grid(cells, len(pictures))


def _uri(picture: str | None, open_picture: OpenPicture) -> str | None:
    image = None if picture is None else open_picture(picture)
    return None if image is None else data_uri(image)


def data_uri(image: Image.Image) -> str:
    """The image at thumbnail size as a WebP data URI."""
    small = as_rgb(image)
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    encoded = io.BytesIO()
    small.save(encoded, "WEBP", quality=72, method=4)
    return f"data:image/webp;base64,{base64.b64encode(encoded.getvalue()).decode()}"
