"""Images in pages: rows of references, and data URIs of small copies and of attention overlays.

Blocks hold references to images. A renderer turns each into a link: `data_uri` embeds a small copy
in the page, and a web app can return a URL instead.
"""

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.findings import PictureSet
from askew.pages import words
from askew.pages.blocks import (
    HeatOverlay,
    ImageQuery,
    ImageReference,
    ImageSource,
    MaskOverlay,
    PictureRow,
    Scatter,
    ScatterPoint,
    Thumbnail,
)
from askew.stats.overlap import bilinear

SIDE = 112
OVERLAY = 144
LARGE = 360
"""Longest side of a small copy, of an overlay, and of a large copy, in pixels."""

TOTAL = 500
"""Approximate number of small copies in a page. A photograph takes about 4.6 kB, so that the page has
less than 3 MB.
"""

VIRIDIS = ("440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725")
"""Evenly spaced anchors of the color map viridis (by S. van der Walt and N. Smith, CC0).

Equal steps look equal, also in gray and for color-blind readers. The swatch `heat` of the style
shows the map.
"""

ONLY_A = "d55e00"
ONLY_B = "0072b2"
BOTH = "f0e442"
"""Colors of the palette of Okabe and Ito, for the swatches `only-a`, `only-b` and `both`."""

HEAT = 0.72
TINT = 0.62
DIM = 0.55
"""Opacity of a heat map, opacity of a mask, and brightness of the image around masks."""

Pixels = NDArray[np.float64]

ImageLink = Callable[[ImageReference], str | None]
"""Function that returns the address of an image, or None if the image is gone."""

QueryLink = Callable[[ImageQuery | None], str | None]
"""Function that returns the address of a list of images, or None if there is no list."""


def no_list(query: ImageQuery | None) -> str | None:
    """Return None: a file has no lists of images."""
    return None


class Media(ImageSource, Protocol):
    """A finished run that opens images and stored rows by the ids in findings."""

    def rows(self, fingerprint: str, names: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        """Return stored rows of images by their ids, such as vectors or maps."""


def allowance(initial: int, others: int) -> tuple[int, int]:
    """Return the numbers of images of each set that a page shows, so that the page stays small.

    Parameters
    ----------
    initial, others : int
        Number of baseline sets and of other sets.

    Returns
    -------
    tuple of int
        Images of each baseline set (2 to 100) and of each other set (0 to 12). Baseline images are
        shown about twice, and a third more rows repeat the baseline set beside each axis.
    """
    of_initial = max(2, min(100, TOTAL // (4 * max(initial, 1))))
    rest = TOTAL - 2 * min(of_initial, 48) * initial
    return of_initial, max(0, min(12, round(3 * rest / max(4 * others, 1))))


def picture_row(
    media: Media,
    pictures: Sequence[str | None],
    of: str,
    most: int,
    note: str = "",
    series: int | None = None,
) -> PictureRow:
    """Return the first images of a set as a row of thumbnails.

    Parameters
    ----------
    media : Media
        Run that holds the images.
    pictures : sequence of str or None
        Ids of the images, None for a missing image.
    of : str
        Name of the set.
    most : int
        Largest number of thumbnails.
    note : str
        Text after the number of images.
    series : int, optional
        Number of the row's color.

    Returns
    -------
    PictureRow
        The thumbnails, each with its number in the alternative text.
    """
    label = words.shorten(of, 60)
    shots = [
        shot(media, name, f"Image {number} of {label}")
        for number, name in enumerate(pictures[:most], start=1)
    ]
    count = f"images 1 to {len(shots)} of {len(pictures):,}"
    if len(shots) == len(pictures):
        count = f"all {words.plural(len(shots), 'image')}"
    return PictureRow(
        shots=tuple(shots),
        label=words.shorten(of, 120),
        note="; ".join(filter(None, (count, note))),
        series=series,
    )


def set_row(media: Media, image_set: PictureSet, most: int, seed: int | None = None) -> PictureRow:
    """Return the first images of a set, under its value or "Baseline images".

    Parameters
    ----------
    media : Media
        Run that holds the images.
    image_set : PictureSet
        The image set.
    most : int
        Largest number of thumbnails.
    seed : int, optional
        Run seed, for the note.

    Returns
    -------
    PictureRow
        The thumbnails, with the prompt of a counterfactual set in the note.
    """
    label = "Baseline images"
    notes = []
    if image_set.axis is not None:
        label = words.capital(str(image_set.value))
        notes.append(words.quote(image_set.text, 120))
    if seed is not None:
        notes.append(f"run seed {seed}")
    return picture_row(media, image_set.pictures, label, most, "; ".join(notes))


def shot(media: Media, name: str | None, alt: str, caption: str = "") -> Thumbnail:
    """Return an image by its id as a thumbnail, or an empty cell if there is no id."""
    image = None if name is None else ImageReference(image_id=name, source=media)
    return Thumbnail(image=image, alt=alt, caption=caption)


def plane(
    media: Media,
    places: Mapping[str, Sequence[tuple[str, float, float]]],
    explained: Sequence[float],
) -> Scatter:
    """Return a scatter plot of images in an embedding, by its two main directions.

    Parameters
    ----------
    media : Media
        Run that holds the images.
    places : mapping of str to sequence of (str, float, float)
        Id and position of each image, by the kind of the images.
    explained : sequence of float
        Share of the variance that each direction explains.

    Returns
    -------
    Scatter
        The images that exist, with a color for each kind.
    """
    points = []
    for series, (kind, images) in enumerate(places.items()):
        for number, (name, x, y) in enumerate(images, start=1):
            if media.picture(name) is not None:
                image = ImageReference(image_id=name, source=media)
                label = f"Image {number}, of {kind}"
                points.append(ScatterPoint(x=x, y=y, name=label, series=series, image=image))
    counts = [f"{words.plural(len(images), 'image')} of {kind}" for kind, images in places.items()]
    return Scatter(
        caption=(
            "Similar images are close to each other. The two directions explain "
            f"{words.percent(sum(explained))} of the variance"
        ),
        points=tuple(points),
        x=("", None),
        y=("", None),
        description=" and ".join(counts),
        keys=tuple(f"image of {kind}" for kind in places),
    )


def data_uri(reference: ImageReference) -> str | None:
    """Return a small copy of an image, with its overlay, as a WebP data URI.

    Parameters
    ----------
    reference : ImageReference
        The image.

    Returns
    -------
    str or None
        The data URI. None if the file of the image is gone.
    """
    image = reference.source.picture(reference.image_id)
    if image is None:
        return None
    overlay = reference.overlay
    if overlay is None:
        return thumbnail(image, LARGE if reference.large else SIDE)
    side = LARGE if reference.large else OVERLAY
    return _uri_of(overlay_copy(image, overlay, side))


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Addresses in a page. By default images are embedded, and nothing leads out of the page.

    Attributes
    ----------
    image : ImageLink
        Address of the copy of an image that the page shows.
    image_page : ImageLink
        Address of the page about an image.
    images : QueryLink
        Address of the list of the images that a number counts.
    """

    image: ImageLink = data_uri
    image_page: ImageLink = lambda reference: None
    images: QueryLink = no_list


def thumbnail(image: Image.Image, side: int = SIDE) -> str:
    """Return a copy of an image as a WebP data URI, with a longest side of at most `side` pixels."""
    return _uri_of(small_copy(image, side))


def small_copy(image: Image.Image, side: int = SIDE) -> bytes:
    """Return a copy of an image as a WebP file, with a longest side of at most `side` pixels."""
    small = image.convert("RGB")
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    return _webp(small, quality=72)


def overlay_copy(image: Image.Image, overlay: HeatOverlay | MaskOverlay, side: int) -> bytes:
    """Return a copy of an image under an overlay as a WebP file.

    Parameters
    ----------
    image : Image
        The image.
    overlay : HeatOverlay or MaskOverlay
        Attention over the image.
    side : int
        Longest side of the copy, in pixels.
    """
    if isinstance(overlay, HeatOverlay):
        return _webp(heat_pixels(image, overlay.map, side))
    return _webp(mask_pixels(image, overlay.first, overlay.second, side))


def heat_pixels(picture: Image.Image, map: NDArray[np.floating[Any]], side: int) -> Pixels:
    """Return an image under the attention map of a word.

    Parameters
    ----------
    picture : Image
        The image.
    map : ndarray of float, shape (height, width)
        The map. Its lowest value is dark blue, its highest value is yellow.
    side : int
        Longest side of the copy, in pixels.

    Returns
    -------
    ndarray of float, shape (height, width, 3)
        Red, green and blue from 0 to 255.
    """
    gray = _gray(picture, side)
    large = bilinear(map, gray.shape[:2])
    low = float(large.min())
    high = float(large.max())
    level = (large - low) / (high - low) if high > low else np.zeros_like(large)
    return (1 - HEAT) * gray + HEAT * colors(level)


def mask_pixels(
    picture: Image.Image, a: NDArray[np.bool_], b: NDArray[np.bool_], side: int
) -> Pixels:
    """Return an image under the attention masks of two words.

    Parameters
    ----------
    picture : Image
        The image.
    a, b : ndarray of bool, shape (height, width)
        The masks. The first mask, the second mask and their intersection have different colors.
    side : int
        Longest side of the copy, in pixels.

    Returns
    -------
    ndarray of float, shape (height, width, 3)
        Red, green and blue from 0 to 255.
    """
    gray = _gray(picture, side)
    rows = _nearest(a.shape[0], gray.shape[0])
    columns = _nearest(a.shape[1], gray.shape[1])
    first = a[np.ix_(rows, columns)]
    second = b[np.ix_(rows, columns)]
    shown = DIM * gray
    tints = ((first & ~second, ONLY_A), (second & ~first, ONLY_B), (first & second, BOTH))
    for where, color in tints:
        shown[where] = (1 - TINT) * gray[where] + TINT * np.array([*bytes.fromhex(color)])
    return shown


def _nearest(old: int, new: int) -> NDArray[np.intp]:
    """Return for each of `new` positions the index of the nearest of `old` positions to the left."""
    return np.arange(new) * old // new


def colors(level: Pixels) -> Pixels:
    """Return colors of the color map viridis.

    Parameters
    ----------
    level : ndarray of float, shape (...)
        Numbers from 0 to 1.

    Returns
    -------
    ndarray of float, shape (..., 3)
        Red, green and blue from 0 to 255.
    """
    positions = np.linspace(0, 1, len(VIRIDIS))
    channels = zip(*map(bytes.fromhex, VIRIDIS), strict=True)
    return np.stack([np.interp(level, positions, channel) for channel in channels], axis=-1)


def _gray(picture: Image.Image, longest: int) -> Pixels:
    """Return a gray copy with a longest side, of shape (height, width, 3)."""
    width, height = (max(1, round(side * longest / max(picture.size))) for side in picture.size)
    small = picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
    pixels = np.asarray(small, dtype=float)
    return np.repeat((pixels @ [0.299, 0.587, 0.114])[..., None], 3, axis=-1)


def _webp(image: Image.Image | Pixels, quality: int = 80) -> bytes:
    if not isinstance(image, Image.Image):
        image = Image.fromarray(image.round().clip(0, 255).astype(np.uint8))
    encoded = io.BytesIO()
    image.save(encoded, "WEBP", quality=quality, method=2)
    return encoded.getvalue()


def _uri_of(content: bytes) -> str:
    return f"data:image/webp;base64,{base64.b64encode(content).decode()}"
