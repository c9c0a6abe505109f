"""Safely open images sent by servers that use OpenAI's interface.

Each image contains the server's report in its `info`.
"""

import base64
import io

from openai.types import ImagesResponse
from PIL import Image, UnidentifiedImageError

from askew.errors import ServerError
from askew.models.base import REPORT, Setting
from askew.models.image_addresses import fetch_image
from askew.store.files import sha256
from askew.store.imagefile import MOST_PIXELS, SUFFIXES, as_rgb

LONGEST_TEXT = 4000
"""Maximum number of characters that askew keeps from a text in a server's report."""

SHAPE_TOLERANCE = 0.02
"""Maximum relative difference in aspect ratio between an image and its edited version."""


def image_of(answer: ImagesResponse, prompt: str, url: str) -> Image.Image:
    """Return the image in a server's response, with the server's report in the image's `info`.

    Parameters
    ----------
    answer
        The unchecked answer.
    prompt
        The prompt that was sent.
    url
        Address of the server, for error messages.

    Raises
    ------
    ServerError
        If the response contains no image that can be opened safely.
    """
    try:
        (entry,) = answer.data or []
        if not entry.b64_json and entry.url:
            data = fetch_image(str(entry.url), url)
        else:
            data = base64.b64decode(entry.b64_json or "", validate=True)
        image = opened_safely(data)
        image.info[REPORT] = _report(answer, entry.revised_prompt, prompt, data)
    except UnidentifiedImageError as error:
        formats = ", ".join(SUFFIXES)
        raise ServerError(f"{url} sent no image in one of these formats: {formats}") from error
    except Exception as error:  # decoders raise all kinds of exceptions on garbage
        raise ServerError(f"{url} sent no image: {str(error) or repr(error)}") from error
    return image


def png(image: Image.Image) -> bytes:
    """Return an image as a PNG file without metadata."""
    file = io.BytesIO()
    as_rgb(image).save(file, "PNG")
    return file.getvalue()


def as_large_as(image: Image.Image, size: tuple[int, int], url: str) -> Image.Image:
    """Resize an edited image to the size of the input image, and keep the server's report.

    Parameters
    ----------
    image
        The edited image, whose size the server chose.
    size
        Width and height of the input image in pixels.
    url
        Address of the server, for error messages.

    Raises
    ------
    ServerError
        If the aspect ratio of the edited image differs from that of the input image.
    """
    if image.size == size:
        return image
    ratio = image.width * size[1] / (image.height * size[0])
    if abs(ratio - 1) > SHAPE_TOLERANCE:
        raise ServerError(
            f"{url} returned an edited image of {image.width} x {image.height} pixels for an "
            f"image of {size[0]} x {size[1]} pixels; the aspect ratios differ. Use square "
            f"images, as in --resize {min(image.size)}, or another --edit-arg size"
        )
    resized = image.resize(size, Image.Resampling.LANCZOS)
    resized.info = dict(image.info)
    return resized


def opened_safely(data: bytes) -> Image.Image:
    """Open an untrusted image file safely, and return it as an RGB image.

    Raises
    ------
    Exception
        If the file is not a single PNG, JPEG or WebP image of at most `MOST_PIXELS` pixels.
    """
    with Image.open(io.BytesIO(data), formats=tuple(SUFFIXES)) as file:
        if file.width * file.height > MOST_PIXELS:
            raise ValueError(f"{file.width}×{file.height} pixels are more than {MOST_PIXELS}")
        if getattr(file, "n_frames", 1) > 1:
            raise ValueError("an animation, not one image")
        return as_rgb(file)


def _report(
    answer: ImagesResponse, revised: object, prompt: str, data: bytes
) -> dict[str, Setting]:
    """Return the server's report about an image, without fields of unexpected types."""
    report: dict[str, Setting] = {"original": sha256(data)}
    if isinstance(revised, str) and revised.strip() and revised.strip() != prompt:
        report["revised_prompt"] = _clean(revised)
    if isinstance(answer.created, int):
        report["created"] = answer.created
    tokens = getattr(answer.usage, "total_tokens", None)
    if isinstance(tokens, int):
        report["tokens"] = tokens
    request_id = getattr(answer, "_request_id", None)
    if isinstance(request_id, str):
        report["request_id"] = _clean(request_id)
    if b"c2pa" in data:
        report["c2pa"] = True
    return report


def _clean(text: str) -> str:
    """Return text from a server as a single line of valid Unicode, limited in length."""
    line = " ".join(text.split())[:LONGEST_TEXT]
    return line.encode(errors="replace").decode()
