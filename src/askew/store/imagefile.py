"""Encoding pictures, opening them, and telling usable picture files from the rest."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from askew.store.files import shown
from askew.types import Missing

COMPRESSION = 1
"""PNG compression level: half the time of the usual 6 for files about 15 % larger."""

SUFFIXES = {
    "PNG": ".png",
    "JPEG": ".jpg",
    "WEBP": ".webp",
    "GIF": ".gif",
    "BMP": ".bmp",
    "TIFF": ".tif",
    "AVIF": ".avif",
}
"""Formats of picture files that are read, and the suffix for a file that has none."""


DEEP = ("F", "I")
"""Modes of greys that exceed a byte, "I;16" among them."""

WHITES = {"F": (1.0, 255.0, 65535.0), "I": (255.0, 65535.0, 2.0**31 - 1)}
"""What may be white in a mode that does not say how deep it is."""

NOISE = 2
"""Differences between pixels, of 255, that a decoder leaves in a picture of one colour."""


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """The bytes of a picture file and its suffix, such as ".png"."""

    data: bytes
    suffix: str = ".png"


def encode(image: Image.Image) -> EncodedPicture | Missing:
    """An image as RGB PNG without metadata: equal pixels give equal bytes. A blank one is `Missing`."""
    if is_blank(image):
        return Missing("blank_image")
    clean = as_rgb(image)
    clean.info = {}
    buffer = io.BytesIO()
    clean.save(buffer, "PNG", compress_level=COMPRESSION)
    return EncodedPicture(buffer.getvalue())


def opened(path: str | Path) -> Image.Image:
    """A picture file as RGB of 8 bits a channel, turned upright as its EXIF says. Raises OSError."""
    # from a stream: of a path Pillow maps some TIFFs into memory, and then does not turn them
    with open(path, "rb") as stream, Image.open(stream) as file:
        return as_rgb(ImageOps.exif_transpose(file))


def as_rgb(image: Image.Image) -> Image.Image:
    """An image as it is meant to be seen, 8 bits a channel: deep greys scaled, what is transparent on white.

    16-bit greys run from 0 to 65535. Those of 32 bits do not say what is white: it is the least of `WHITES` that none
    of their numbers exceeds. Raises OSError for numbers that are not finite.
    """
    if image.mode.startswith(DEEP):
        return _scaled(image).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(image.convert("RGBA"))
    return ground.convert("RGB")


def _scaled(image: Image.Image) -> Image.Image:
    """A deep grey as one of 8 bits."""
    greys = np.asarray(image, dtype=np.float64)
    if not np.isfinite(greys).all():
        raise OSError("a pixel is not a finite number")
    whites = (65535.0,) if image.mode.startswith("I;16") else WHITES[image.mode]
    white = next((white for white in whites if greys.max() <= white), greys.max())
    if white == 255:
        return image.convert("L")
    return Image.fromarray(np.rint(greys.clip(0, white) * (255 / white)).astype(np.uint8))


def is_blank(image: Image.Image | NDArray[np.generic]) -> bool:
    """Whether an image shows nothing: no pixels, a single colour but for noise, or numbers that are not finite."""
    pixels = np.asarray(image)
    if pixels.size == 0 or not np.isfinite(pixels).all():
        return True
    if isinstance(image, Image.Image):
        pixels = np.asarray(as_rgb(image))
    rows = pixels.reshape(pixels.shape[0] * pixels.shape[1], -1)
    noise = NOISE if pixels.dtype == np.uint8 else 0
    return bool((np.ptp(rows, axis=0) <= noise).all())


def examine(data: bytes, path: Path) -> EncodedPicture | Missing:
    """A user's picture file, decoded in full to see whether it is whole. Its bytes and suffix are kept."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # oddities in metadata are not ours to report
            Image.open(io.BytesIO(data), formats=tuple(SUFFIXES)).verify()
            with Image.open(io.BytesIO(data), formats=tuple(SUFFIXES)) as image:
                image.load()
                suffix = path.suffix.lower() or SUFFIXES[str(image.format)]
                return Missing("blank_image") if is_blank(image) else EncodedPicture(data, suffix)
    except Exception as error:  # decoders raise all kinds of exceptions on garbage
        return Missing("corrupt_file", f"{shown(path)}: {_why(data, error)}")


def _why(data: bytes, error: Exception) -> str:
    if not data:
        return "the file is empty"
    if isinstance(error, UnidentifiedImageError):
        return f"not a picture in one of these formats: {', '.join(SUFFIXES)}"
    return str(error) or type(error).__name__
