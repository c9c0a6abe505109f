"""Pictures in pages: small copies, attention maps laid over them, and rows of both, embedded as
data URIs.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.findings import PictureSet
from askew.pages import words
from askew.pages.blocks import PictureRow, Scatter, ScatterPoint, Thumbnail
from askew.stats.overlap import bilinear

SIDE = 112
OVERLAY = 144
"""Longest sides of a small copy and of an overlay, in pixels."""

TOTAL = 1500
"""Small copies that one page may hold, about: of a photograph one takes some 4 kB."""

VIRIDIS = ("440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725")
"""Anchors of the colour map viridis (by S. van der Walt and N. Smith, CC0), evenly spaced: equal
steps look equal, in grey and to colour-blind eyes too. The style's swatch `heat` shows it.
"""

ONLY_A = "0072b2"
ONLY_B = "d55e00"
BOTH = "f0e442"
"""Of the palette of Okabe and Ito; the swatches `only-a`, `only-b` and `both`."""

HEAT = 0.72
TINT = 0.62
DIM = 0.55
"""How much of an overlay is map, how much of a mask is its colour, and how bright the picture
around masks stays.
"""

Pixels = NDArray[np.float64]


class Media(Protocol):
    """Who opens what findings only name: a finished run."""

    def picture(self, name: str) -> Image.Image | None:
        """A picture by its id; None if its file is gone."""

    def rows(self, fingerprint: str, names: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        """Stored rows of pictures by their ids: vectors, maps."""


def allowance(initial: int, others: int) -> tuple[int, int]:
    """How many pictures are shown of each initial set, and of each other one, so that a page stays
    small.
    """
    first = max(6, min(100, TOTAL // (2 * max(initial, 1))))
    return first, max(4, min(12, (TOTAL - min(first, 48) * initial) // max(2 * others, 1)))


def picture_row(
    media: Media,
    pictures: Sequence[str | None],
    of: str,
    most: int,
    note: str = "",
    series: int | None = None,
) -> PictureRow:
    """The first `most` of some pictures, with the number of each; `of` names them, `note` says
    more.
    """
    alts = (f"Picture {k} of {words.shorten(of, 60)}" for k in range(1, most + 1))
    shots = tuple(shot(media, name, alt) for name, alt in zip(pictures, alts, strict=False))
    shown = len(shots)
    planned = len(pictures)
    count = (
        f"all {words.plural(shown, 'picture')}"
        if shown == planned
        else f"pictures 1 to {shown} of {planned:,}"
    )
    return PictureRow(shots, words.shorten(of, 120), "; ".join(filter(None, (count, note))), series)


def set_row(media: Media, found: PictureSet, most: int, seed: int | None = None) -> PictureRow:
    """The first pictures of a set, under its value or "Initial pictures"."""
    initial = found.axis is None
    seeded = "" if seed is None else f"run seed {seed}"
    of, text = (
        ("Initial pictures", "")
        if initial
        else (words.capital(str(found.value)), words.quote(found.text, 120))
    )
    return picture_row(media, found.pictures, of, most, "; ".join(filter(None, (text, seeded))))


def shot(media: Media, name: str | None, alt: str, caption: str = "") -> Thumbnail:
    """A picture by its id; an empty place where there is none."""
    image = None if name is None else media.picture(name)
    return Thumbnail(None if image is None else thumbnail(image), alt, caption)


def plane(
    media: Media,
    places: Mapping[str, Sequence[tuple[str, float, float]]],
    explained: Sequence[float],
) -> Scatter:
    """Pictures of several kinds where they lie in an embedding, by its two main directions."""
    points = tuple(
        ScatterPoint(x, y, f"Picture {k}, of {kind}", series, uri=thumbnail(image))
        for series, (kind, own) in enumerate(places.items())
        for k, (name, x, y) in enumerate(own, 1)
        if (image := media.picture(name)) is not None
    )
    caption = f"Near each other: alike. The two directions hold {words.percent(sum(explained))} of the differences"
    said = " and ".join(
        f"{words.plural(len(own), 'picture')} of {kind}" for kind, own in places.items()
    )
    return Scatter(
        caption,
        points,
        ("", None),
        ("", None),
        said,
        tuple(f"picture of {kind}" for kind in places),
    )


def thumbnail(image: Image.Image) -> str:
    """A small copy as a WebP data URI."""
    small = image.convert("RGB")
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    return _uri(small, quality=72)


def heat(picture: Image.Image, map: NDArray[np.floating[Any]]) -> str:
    """A picture under the map (h, w) of a word, from its lowest (dark blue) to its highest value
    (yellow).
    """
    grey = _grey(picture)
    large = bilinear(map, grey.shape[:2])
    low = float(large.min())
    high = float(large.max())
    level = (large - low) / (high - low) if high > low else np.zeros_like(large)
    return _uri((1 - HEAT) * grey + HEAT * colours(level))


def masks(picture: Image.Image, a: NDArray[np.bool_], b: NDArray[np.bool_]) -> str:
    """A picture with the places of two words: of the first alone, the second alone, and both."""
    grey = _grey(picture)
    rows, columns = (
        np.arange(new) * old // new for old, new in zip(a.shape, grey.shape, strict=False)
    )
    first = a[np.ix_(rows, columns)]
    second = b[np.ix_(rows, columns)]
    shown = DIM * grey
    for where, colour in (
        (first & ~second, ONLY_A),
        (second & ~first, ONLY_B),
        (first & second, BOTH),
    ):
        shown[where] = (1 - TINT) * grey[where] + TINT * np.array([*bytes.fromhex(colour)])
    return _uri(shown)


def colours(level: Pixels) -> Pixels:
    """Viridis (..., 3), 0 to 255, of numbers from 0 to 1."""
    at = np.linspace(0, 1, len(VIRIDIS))
    channels = zip(*map(bytes.fromhex, VIRIDIS), strict=True)
    return np.stack([np.interp(level, at, channel) for channel in channels], axis=-1)


def _grey(picture: Image.Image) -> Pixels:
    """A copy of an overlay's size, (height, width, 3), without its colours."""
    width, height = (max(1, round(side * OVERLAY / max(picture.size))) for side in picture.size)
    pixels = np.asarray(
        picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS), dtype=float
    )
    return np.repeat((pixels @ [0.299, 0.587, 0.114])[..., None], 3, axis=-1)


def _uri(image: Image.Image | Pixels, quality: int = 80) -> str:
    if not isinstance(image, Image.Image):
        image = Image.fromarray(image.round().clip(0, 255).astype(np.uint8))
    encoded = io.BytesIO()
    image.save(encoded, "WEBP", quality=quality, method=4)
    return f"data:image/webp;base64,{base64.b64encode(encoded.getvalue()).decode()}"
