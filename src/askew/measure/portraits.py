"""Aligned faces, average faces, skin masks, and changes in skin color between images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike
from PIL import Image

from askew.errors import NotEnoughData
from askew.measure.landmarks import Landmarks, landmark_finder
from askew.measure.skin import Bytes, Mask, ita, lightness, rgb, skin_mask
from askew.store.imagefile import opened
from askew.types import Missing, Picture

FRAME = 128
"""Side length, in pixels, of the square frame in which faces are aligned."""

CANONICAL: Landmarks = np.array([[46.0, 52.0], [82.0, 52.0], [64.0, 70.0]])
"""Three landmarks in the frame."""

CANONICAL_FIVE: Landmarks = np.array(
    [[48.5, 49.3], [79.5, 49.3], [64.0, 68.3], [49.2, 81.5], [78.8, 81.5]]
)
"""Five landmarks in the frame.

These landmarks are the medians of MTCNN's points over 92 faces. The faces were aligned using dlib's
three landmarks.
"""

CHEEKS = ((46.0, 69.0, 8.0, 6.0), (82.0, 69.0, 8.0, 6.0))
"""Ellipses that contain only skin if the face in the frame is frontal.

Each ellipse is given by the coordinates x and y of its center, and by its two semi-axes.
"""

NOTHING_LEFT = Missing("unparseable", "no pixel is left to compare")
NOT_SOUGHT = Missing("not_asked", "no face detector is set")


def similarity(landmarks: Landmarks) -> tuple[complex, complex]:
    """Return the coefficients of the map z -> a z + b from landmarks to canonical landmarks.

    Here z = x + iy is the position of a landmark. The map rotates, scales and shifts the landmarks.
    The map minimizes the sum of squared distances between mapped and canonical landmarks.

    Raises
    ------
    ValueError
        If all landmarks are the same point.
    """
    canonical = CANONICAL if len(landmarks) == len(CANONICAL) else CANONICAL_FIVE
    z = landmarks[:, 0] + 1j * landmarks[:, 1]
    w = canonical[:, 0] + 1j * canonical[:, 1]
    centered = z - z.mean()
    size = float((np.abs(centered) ** 2).sum())
    if size == 0:
        raise ValueError("all landmarks are the same point, so the face has no size")
    a = complex((centered.conj() * (w - w.mean())).sum() / size)
    return a, complex(w.mean() - a * z.mean())


def aligned(image: Image.Image | ArrayLike, landmarks: Landmarks) -> Bytes:
    """Rotate, scale and shift an image so that its landmarks are near the canonical landmarks.

    Returns
    -------
    Bytes
        (FRAME, FRAME, 3).
    """
    a, b = similarity(landmarks)
    pixels = rgb(image)
    # Blocks are averaged first, so that a large photograph is not sampled point by point.
    block = max(int(0.5 / abs(a)), 1)
    height, width = (length // block * block for length in pixels.shape[:2])
    blocks = pixels[:height, :width].reshape(height // block, block, width // block, block, 3)
    small = blocks.mean(axis=(1, 3))
    y, x = np.mgrid[:FRAME, :FRAME]
    place = (x + 1j * y - b) / a
    coordinates = [(part - (block - 1) / 2) / block for part in (place.imag, place.real)]
    channels = [
        scipy.ndimage.map_coordinates(small[..., k], coordinates, order=1, mode="nearest")
        for k in range(3)
    ]
    return np.asarray(np.stack(channels, axis=-1).round().clip(0, 255).astype(np.uint8))


def average_face(faces: ArrayLike) -> Bytes:
    """Return the pixelwise mean of aligned faces, rounded to bytes.

    Raises
    ------
    NotEnoughData
        If there are no faces.
    """
    stack = np.asarray(faces)
    if not len(stack):
        raise NotEnoughData("an average face needs an image with exactly one detected face")
    return np.asarray(stack.mean(axis=0).round().astype(np.uint8))


def cheek_mask(size: tuple[int, int], landmarks: Landmarks) -> Mask:
    """Return a mask of a face's cheeks. The mask depends only on the landmarks, not on color.

    Parameters
    ----------
    size
        Height and width of the image.
    landmarks
        Landmarks of the face.
    """
    a, b = similarity(landmarks)
    y, x = np.mgrid[: size[0], : size[1]]
    place = a * (x + 1j * y) + b
    inside = []
    for center_x, center_y, radius_x, radius_y in CHEEKS:
        horizontal = ((place.real - center_x) / radius_x) ** 2
        vertical = ((place.imag - center_y) / radius_y) ** 2
        inside.append(horizontal + vertical <= 1)
    return np.asarray(np.logical_or.reduce(inside))


MaskOf = Callable[[Image.Image, "Landmarks | Missing"], "Mask | Missing"]
"""Function that maps an image and its face's landmarks to a skin mask."""


@dataclass(frozen=True, slots=True)
class SkinChange:
    """Skin color before and after an edit.

    Attributes
    ----------
    before, after
        Skin tone inside the mask of each image, as the individual typology angle (ITA) in degrees.
    coverage_before, coverage_after
        Share of each image that its mask covers.
    lightness
        Change in mean lightness L* over the pixels that are skin in both images.
    background
        Change in mean L* over the pixels that are not skin in either image. This value measures a
        change in exposure.
    """

    before: float | Missing
    after: float | Missing
    coverage_before: float
    coverage_after: float
    lightness: float | Missing
    background: float | Missing


def _mask_by_geometry(image: Image.Image, landmarks: Landmarks | Missing) -> Mask | Missing:
    if isinstance(landmarks, Missing):
        return landmarks
    return cheek_mask((image.height, image.width), landmarks)


MASKS: dict[str, MaskOf] = {
    "rule": lambda image, _: skin_mask(image),
    "geometry": _mask_by_geometry,
}
"""Functions that return a skin mask.

`rule` selects pixels by color. `geometry` selects the cheeks by their position in the face, and
returns Missing if there is no face.
"""


def skin_change(
    before: Image.Image, after: Image.Image, masks: tuple[Mask | Missing, Mask | Missing]
) -> SkinChange:
    """Compare an image with its edited version.

    Parameters
    ----------
    before, after
        Images of the same size.
    masks
        Skin mask of each image. If a mask is Missing, the measures that need this mask are also
        Missing.
    """
    pixels_before = rgb(before)
    pixels_after = rgb(after)
    mask_before, mask_after = masks
    lightness_change: float | Missing
    background_change: float | Missing
    if isinstance(mask_before, Missing):
        lightness_change = background_change = mask_before
    elif isinstance(mask_after, Missing):
        lightness_change = background_change = mask_after
    else:
        both = mask_before & mask_after
        neither = ~(mask_before | mask_after)
        lightness_change = _lightness_change(pixels_before, pixels_after, both)
        background_change = _lightness_change(pixels_before, pixels_after, neither)
    return SkinChange(
        before=_tone(pixels_before, mask_before),
        after=_tone(pixels_after, mask_after),
        coverage_before=_coverage(mask_before),
        coverage_after=_coverage(mask_after),
        lightness=lightness_change,
        background=background_change,
    )


def _tone(pixels: Bytes, mask: Mask | Missing) -> float | Missing:
    return mask if isinstance(mask, Missing) else ita(pixels, mask)


def _coverage(mask: Mask | Missing) -> float:
    return 0.0 if isinstance(mask, Missing) else float(mask.mean())


def _lightness_change(before: Bytes, after: Bytes, mask: Mask) -> float | Missing:
    """Return the change in mean lightness L* inside a mask, or Missing if the mask is empty."""
    lightness_before = lightness(before, mask)
    lightness_after = lightness(after, mask)
    if isinstance(lightness_before, Missing) or isinstance(lightness_after, Missing):
        return NOTHING_LEFT
    return lightness_after - lightness_before


@dataclass(frozen=True, slots=True)
class Face:
    """The only face in an image.

    Attributes
    ----------
    landmarks
        Landmarks, in pixels of the image.
    pixels
        The aligned face, an array of shape (FRAME, FRAME, 3).
    """

    landmarks: Landmarks
    pixels: Bytes


def find_face(finder: str, picture: Picture) -> Face | Missing:
    """Return the only face in an image, or the reason why there is none."""
    image = opened(picture.path)
    landmarks = _finder(finder).find(image)
    if isinstance(landmarks, Missing):
        return landmarks
    return Face(landmarks=landmarks, pixels=aligned(image, landmarks))


def skin_changes(
    mask_of: str, located: Sequence[tuple[Picture, Landmarks | Missing]]
) -> list[SkinChange]:
    """Return the changes in skin color from the first image to its edited versions, in order.

    Parameters
    ----------
    mask_of
        Kind of mask, `rule` or `geometry`.
    located
        The image, followed by its edited versions, each with its landmarks.
    """
    masked = []
    for picture, landmarks in located:
        image = opened(picture.path)
        masked.append((image, MASKS[mask_of](image, landmarks)))
    before, mask_before = masked[0]
    return [skin_change(before, after, (mask_before, mask)) for after, mask in masked[1:]]


_finder = lru_cache(landmark_finder)
