"""Encoding pictures, opening them, and telling usable picture files from the rest."""

import io
import os
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

SUFFIXES = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp"}
"""Formats of picture files that are read, and how their copies in a store end."""

MOST_BYTES = 2**28
MOST_PIXELS = 50_000_000
LIMIT_VARIABLE = "ASKEW_MAX_PIXELS"
"""Environment variable with another limit of the pixels of a picture file, which its header tells."""

NOISE = 2
"""Differences between pixels, of 255, that a decoder leaves in a picture of one colour."""


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """The bytes of a picture file and its suffix, such as ".png"."""

    data: bytes
    suffix: str = ".png"


def encode(image: Image.Image) -> EncodedPicture | Missing:
    """An image as RGB PNG without metadata: equal pixels give equal bytes. A blank one is
    `Missing`.
    """
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
    """An image as it is meant to be seen, 8 bits a channel: 16-bit greys scaled, what is
    transparent on white.
    """
    if image.mode.startswith("I;16"):
        return Image.fromarray(np.rint(np.asarray(image) / 257).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(image.convert("RGBA"))
    return ground.convert("RGB")


def is_blank(image: Image.Image | NDArray[np.generic]) -> bool:
    """Whether an image shows nothing: no pixels, a single colour but for noise, or numbers that are
    not finite.
    """
    pixels = np.asarray(image)
    if pixels.size == 0 or not np.isfinite(pixels).all():
        return True
    if isinstance(image, Image.Image):
        pixels = np.asarray(as_rgb(image))
    rows = pixels.reshape(pixels.shape[0] * pixels.shape[1], -1)
    noise = NOISE if pixels.dtype == np.uint8 else 0
    return bool((np.ptp(rows, axis=0) <= noise).all())


def read(path: Path) -> EncodedPicture | Missing:
    """A user's picture file, decoded in full to see whether it is whole: its bytes, or why it is no
    picture to use.
    """
    if not os.path.isfile(path):
        return Missing("absent_file", shown(path))
    try:
        formats = tuple(SUFFIXES)
        most = int(os.environ.get(LIMIT_VARIABLE) or MOST_PIXELS)
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"the file is larger than {MOST_BYTES // 2**20} MB")
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # oddities in metadata are not ours to report, and sizes have our own limit
            image = Image.open(io.BytesIO(data := path.read_bytes()), formats=formats)
            pixels = f"{image.width}×{image.height} pixels"
            if image.width * image.height > most:
                raise ValueError(f"{pixels} are more than {most} ({LIMIT_VARIABLE} moves that)")
            if getattr(image, "n_frames", 1) > 1:
                raise ValueError("an animation, not one picture")
            suffix = SUFFIXES[str(image.format)]
            image.verify()
            with Image.open(io.BytesIO(data), formats=formats) as image:
                return Missing("blank_image") if is_blank(image) else EncodedPicture(data, suffix)
    except UnidentifiedImageError:
        why = f"not a picture in one of these formats: {', '.join(SUFFIXES)}"
    except Exception as error:  # decoders raise all kinds of exceptions on garbage
        why = (
            error.strerror
            if isinstance(error, OSError) and error.strerror
            else str(error) or type(error).__name__
        )
    return Missing("corrupt_file", f"{shown(path)}: {why}")
