"""Functions that put images into pages: rows of thumbnails, small copies and attention overlays.

Blocks contain references to images. A renderer replaces each reference with the address of an
image. `data_uri` embeds a small copy of the image in the page; a web app can use a URL instead.
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
"""Longest side in pixels: of a small copy, of a copy with an overlay, and of a large copy."""

TOTAL = 500
"""Approximate maximum number of small copies on a page.

A copy of a photograph takes about 4.6 kB, so a page takes less than 3 MB.
"""

VIRIDIS = ("440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725")
"""Evenly spaced colors from the viridis color map (by van der Walt and Smith, CC0).

The color map is perceptually uniform, even in grayscale and for color-blind readers. In legends,
the swatch `heat` shows the color map.
"""

ONLY_A = "d55e00"
ONLY_B = "0072b2"
BOTH = "f0e442"
"""Colors from Okabe and Ito's color-blind-safe palette, for `only-a`, `only-b` and `both`."""

HEAT = 0.72
TINT = 0.62
DIM = 0.55
"""Opacity of a heat map, opacity of a mask, and brightness of the image around masks."""

Pixels = NDArray[np.float64]

ImageLink = Callable[[ImageReference], str | None]
"""Function that returns the address of an image, or None if the image is missing."""

QueryLink = Callable[[ImageQuery | None], str | None]
"""Function that returns the address of a list of images, or None if there is no list."""


def no_list(query: ImageQuery | None) -> str | None:
    """Return None, because a file has no lists of images to link to."""
    return None


class Media(ImageSource, Protocol):
    """A finished run that can open the images and stored rows whose ids occur in its findings."""

    def rows(self, fingerprint: str, names: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        """Return stored rows, such as vectors or attention maps, keyed by image id."""


def allowance(initial: int, others: int) -> tuple[int, int]:
    """Return how many images from each set a page may show, so that the page stays small.

    Parameters
    ----------
    initial, others : int
        Number of baseline sets, and number of other sets.

    Returns
    -------
    tuple of int
        Number of images to show from each baseline set (2 to 100) and from each other set (0 to
        12).

    Notes
    -----
    The numbers take into account that a page shows baseline images about twice, and repeats the
    baseline set beside each axis.
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
        Run that contains the images.
    pictures : sequence of str or None
        Ids of the images; None for a missing image.
    of : str
        Name of the set.
    most : int
        Maximum number of thumbnails.
    note : str
        Text after the number of images.
    series : int, optional
        Index of the row's color in the palette.

    Returns
    -------
    PictureRow
        Row of thumbnails. The alternative text of each thumbnail contains the image's number.
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
    """Return the first images of a set, labeled with the set's value or as "Baseline images".

    Parameters
    ----------
    media : Media
        Run that contains the images.
    image_set : PictureSet
        Image set to show.
    most : int
        Maximum number of thumbnails.
    seed : int, optional
        Run seed to state in the note.

    Returns
    -------
    PictureRow
        Row of thumbnails. For a counterfactual set, the note contains the prompt.
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
    """Return a thumbnail of the image that has this id, or an empty cell if the id is None."""
    image = None if name is None else ImageReference(image_id=name, source=media)
    return Thumbnail(image=image, alt=alt, caption=caption)


def plane(
    media: Media,
    places: Mapping[str, Sequence[tuple[str, float, float]]],
    explained: Sequence[float],
) -> Scatter:
    """Return a scatter plot of images along the first two principal components of their embeddings.

    Parameters
    ----------
    media : Media
        Run that contains the images.
    places : mapping of str to sequence of (str, float, float)
        Id and position (x, y) of each image, keyed by kind of image.
    explained : sequence of float
        Share of the variance that each principal component explains.

    Returns
    -------
    Scatter
        Scatter plot of all images whose files exist, with a different color for each kind of image.
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
            "Similar images are close to each other. The two principal components explain "
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
        The data URI; None if the image file is missing.
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
    """Functions that return the addresses to use in a page.

    By default, images are embedded, and no link leads out of the page.

    Attributes
    ----------
    image : ImageLink
        Function that returns the address of the image copy that the page shows.
    image_page : ImageLink
        Function that returns the address of the page that shows an image and its labels.
    images : QueryLink
        Function that returns the address of the image list for a query.
    """

    image: ImageLink = data_uri
    image_page: ImageLink = lambda reference: None
    images: QueryLink = no_list


def thumbnail(image: Image.Image, side: int = SIDE) -> str:
    """Return a copy of an image, at most `side` pixels wide and high, as a WebP data URI."""
    return _uri_of(small_copy(image, side))


def small_copy(image: Image.Image, side: int = SIDE) -> bytes:
    """Return a copy of an image, at most `side` pixels wide and high, as a WebP file."""
    small = image.convert("RGB")
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    return _webp(small, quality=72)


def overlay_copy(image: Image.Image, overlay: HeatOverlay | MaskOverlay, side: int) -> bytes:
    """Return a copy of an image with an overlay, as a WebP file.

    Parameters
    ----------
    image : Image
        The image.
    overlay : HeatOverlay or MaskOverlay
        Attention overlay to draw over the image.
    side : int
        Longest side of the copy, in pixels.
    """
    if isinstance(overlay, HeatOverlay):
        return _webp(heat_pixels(image, overlay.map, side))
    return _webp(mask_pixels(image, overlay.first, overlay.second, side))


def heat_pixels(picture: Image.Image, map: NDArray[np.floating[Any]], side: int) -> Pixels:
    """Return the pixels of an image after drawing a word's attention map over it.

    Parameters
    ----------
    picture : Image
        The image.
    map : ndarray of float, shape (height, width)
        Attention map for a word. Its lowest value is drawn in dark violet, and its highest value in
        yellow.
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
    """Return the pixels of an image after drawing two words' attention masks over it.

    Parameters
    ----------
    picture : Image
        The image.
    a, b : ndarray of bool, shape (height, width)
        Masks. Areas in only the first mask, in only the second mask, and in both masks have
        different colors.
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
    """Return, for each pixel of a resized row, the index of the pixel to copy from the original."""
    return np.arange(new) * old // new


def colors(level: Pixels) -> Pixels:
    """Convert numbers to colors from the viridis color map.

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
    """Return a grayscale copy of shape (height, width, 3), whose longest side is `longest`."""
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
