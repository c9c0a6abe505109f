"""Encoding images, opening image files, and checking that image files are usable."""

import io
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from askew.store.entries import read_bytes
from askew.store.files import sha256, shown
from askew.types import Missing

COMPRESSION = 1
"""PNG compression level.

Level 1 takes half as long as level 6, and the files are about 15 % larger.
"""

SUFFIXES = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp"}
"""Image formats that askew reads, and the file suffix that a store uses for each format."""

MOST_BYTES = 2**28
MOST_PIXELS = 50_000_000
LIMIT_VARIABLE = "ASKEW_MAX_PIXELS"
"""Environment variable that sets the maximum number of pixels in an image file."""

SINGLE_COLOR = (
    "the image shows a single color. Possible causes are a safety checker, or values that are not "
    "finite (NaN; try -M dtype=float32)"
)
"""Explanation for blank images from a model."""

LFS_POINTER = b"version https://git-lfs"
"""Beginning of the text that Git stores in place of a large file."""

NO_IMAGES: Mapping[bytes, str] = {
    LFS_POINTER: "a Git LFS pointer, not an image; run git lfs pull",
    b"<!doctype": "a web page, not an image; download the image again",
    b"<html": "a web page, not an image; download the image again",
}
"""Messages about files that are not images, keyed by the file's first bytes in lower case."""

OTHER_FORMATS: Mapping[bytes, str] = {
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"\xff\x0a": "JPEG XL",
    b"\0\0\0\x0cJXL ": "JPEG XL",
    b"\0\0\0\x0cjP  ": "JPEG 2000",
    b"8BPS": "Photoshop",
    b"%PDF": "PDF",
    b"<svg": "SVG",
}
"""Names of image formats that askew cannot read, keyed by the first bytes of the file."""

BRANDS = {
    b"avif": "AVIF",
    b"avis": "AVIF",
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx"), "HEIC"),
    **dict.fromkeys((b"mif1", b"msf1"), "HEIF"),
}
"""Formats of files that contain "ftyp" at byte 4, keyed by the four bytes at byte 8."""

NOISE = 2
"""Maximum change in a pixel value (0 to 255) when a single-color image is encoded and decoded."""


@dataclass(frozen=True)
class EncodedPicture:
    """The bytes of an image file, and the suffix of the file, such as ".png"."""

    data: bytes
    suffix: str = ".png"

    @cached_property
    def id(self) -> str:
        """SHA-256 of the bytes as 64 hexadecimal digits, computed at most once."""
        return sha256(self.data)


def encode(image: Image.Image) -> EncodedPicture | Missing:
    """Encode an image as an RGB PNG without metadata. Return `Missing` for a blank image.

    Images with identical pixels are encoded as identical bytes.
    """
    if not _has_numbers(image):
        return Missing("blank_image", SINGLE_COLOR)
    clean = as_rgb(image)
    if _shows_single_color(clean):
        return Missing("blank_image", SINGLE_COLOR)
    clean.info = {}
    buffer = io.BytesIO()
    clean.save(buffer, "PNG", compress_level=COMPRESSION)
    return EncodedPicture(buffer.getvalue())


def opened(path: str | Path) -> Image.Image:
    """Open an image file from a store as an upright RGB image with 8 bits per channel.

    Raises
    ------
    OSError
        If the file cannot be read, is a link, has another format, or has too many pixels.
    """
    data = io.BytesIO(read_bytes(Path(path), follow=False))
    with Image.open(data, formats=tuple(SUFFIXES)) as file:
        check_size(file)
        return as_rgb(ImageOps.exif_transpose(file))


def check_size(image: Image.Image) -> None:
    """Check that an image does not have more pixels than the limit, according to its file header.

    Raises
    ------
    OSError
        If the number of pixels exceeds the limit.
    """
    most = int(os.environ.get(LIMIT_VARIABLE) or MOST_PIXELS)
    pixels = image.width * image.height
    if pixels > most:
        raise OSError(
            f"{image.width}×{image.height} pixels exceed the limit of {most}; to read the "
            f"image, set {LIMIT_VARIABLE}={pixels}"
        )


def as_rgb(image: Image.Image) -> Image.Image:
    """Convert an image to RGB with 8 bits per channel.

    16-bit grayscale images are scaled to 8 bits. Transparent images are drawn on a white
    background.
    """
    if image.mode.startswith("I;16"):
        return Image.fromarray(np.rint(np.asarray(image) / 257).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(image.convert("RGBA"))
    return ground.convert("RGB")


def is_blank(image: Image.Image | NDArray[np.generic]) -> bool:
    """Check whether an image is blank.

    A blank image has no pixels, has only one color apart from decoder noise, or contains numbers
    that are not finite.
    """
    if isinstance(image, Image.Image):
        return not _has_numbers(image) or _shows_single_color(as_rgb(image))
    pixels = np.asarray(image)
    if pixels.size == 0 or not np.isfinite(pixels).all():
        return True
    rows = pixels.reshape(pixels.shape[0] * pixels.shape[1], -1)
    noise = NOISE if pixels.dtype == np.uint8 else 0
    return bool((np.ptp(rows, axis=0) <= noise).all())


def _has_numbers(image: Image.Image) -> bool:
    """Check that an image has pixels and that all pixel values are finite."""
    if 0 in image.size:
        return False
    return image.mode != "F" or bool(np.isfinite(np.asarray(image)).all())


def _shows_single_color(image: Image.Image) -> bool:
    """Check whether an RGB image has only one color, apart from decoder noise."""
    spans = np.ptp(np.array(image.getextrema()), axis=1)
    return bool((spans <= NOISE).all())


def damage(path: Path) -> str:
    """Return the reason why an image file cannot be opened; empty if it can be opened."""
    if os.path.islink(path):
        return f"{shown(path)} is a link"
    reading = read(path)
    return reading.detail if isinstance(reading, Missing) else ""


def read(path: Path) -> EncodedPicture | Missing:
    """Return the bytes of an image file, or `Missing` with the reason why it cannot be used.

    The file is decoded completely to check that it is not damaged.
    """
    if not os.path.isfile(path):
        return Missing("absent_file", shown(path))
    try:
        with warnings.catch_warnings():
            # oddities in metadata are not askew's to report, and sizes have a limit of their own
            warnings.simplefilter("ignore")
            return _decoded(path)
    except UnidentifiedImageError:
        fault = _unidentified(path)
    except Exception as error:  # decoders raise all kinds of exceptions on garbage
        fault = _fault(error)
    return Missing("corrupt_file", f"{shown(path)}: {fault}")


def _decoded(path: Path) -> EncodedPicture | Missing:
    """Return the bytes of an image file. A damaged file can raise any exception."""
    formats = tuple(SUFFIXES)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"the file is larger than {MOST_BYTES // 2**20} MB")
    data = read_bytes(path)
    header = Image.open(io.BytesIO(data), formats=formats)
    check_size(header)
    # a JPEG with previews for other screens (MPO) contains the photo as its first image
    is_photo = header.format == "MPO"
    if getattr(header, "n_frames", 1) > 1 and not is_photo:
        raise ValueError("askew does not read animations; save one frame as PNG")
    suffix = SUFFIXES["JPEG" if is_photo else str(header.format)]
    header.verify()
    with Image.open(io.BytesIO(data), formats=formats) as image:
        if is_blank(image):
            return Missing("blank_image", f"{shown(path)}: the image shows a single color")
        return EncodedPicture(data, suffix)


def _unidentified(path: Path) -> str:
    """Explain, based on a file's first bytes, why askew cannot read the file as an image."""
    with path.open("rb") as stream:
        start = stream.read(64)
    if not start:
        return "the file is empty"
    for beginning, fault in NO_IMAGES.items():
        if start.lower().startswith(beginning):
            return fault
    name = BRANDS.get(start[8:12], "") if start[4:8] == b"ftyp" else ""
    for beginning, other in OTHER_FORMATS.items():
        if start.startswith(beginning):
            name = other
    if name:
        return f"askew does not read {name}; convert the file to PNG"
    return f"not an image in one of these formats: {', '.join(SUFFIXES)}"


def _fault(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
