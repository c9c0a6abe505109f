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
"""Modes whose numbers exceed a byte, "I;16" among them; conversion to RGB would clip them."""


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
    clean = image.convert("RGB")
    clean.info = {}
    buffer = io.BytesIO()
    clean.save(buffer, "PNG", compress_level=COMPRESSION)
    return EncodedPicture(buffer.getvalue())


def opened(path: str | Path) -> Image.Image:
    """A picture file as RGB of 8 bits a channel, turned upright as its EXIF says. Raises OSError."""
    with Image.open(path) as file:
        return ImageOps.exif_transpose(file).convert("RGB")


def is_blank(image: Image.Image | NDArray[np.generic]) -> bool:
    """Whether an image shows nothing: no pixels, a single colour but for noise, or numbers that are not finite."""
    if isinstance(image, Image.Image) and not image.mode.startswith(DEEP):
        image = image.convert("RGB")
    pixels = np.asarray(image)
    if pixels.size == 0 or not np.isfinite(pixels).all():
        return True
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
