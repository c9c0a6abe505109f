"""Faces laid on each other by landmarks: turned, scaled, shifted; average faces; skin by its place,
and its change.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike
from PIL import Image

from askew.errors import NotEnoughData
from askew.measure.faces import Landmarks, landmark_finder
from askew.measure.skin import Bytes, Mask, ita, lightness, rgb, skin_mask
from askew.store.imagefile import opened
from askew.types import Missing, Picture

FRAME = 128
"""Side of the frame, in pixels, in which faces are aligned."""

CANONICAL: Landmarks = np.array([[46.0, 52.0], [82.0, 52.0], [64.0, 70.0]])
"""The landmarks in that frame."""

CHEEKS = ((46.0, 69.0, 8.0, 6.0), (82.0, 69.0, 8.0, 6.0))
"""Ellipses in that frame, x, y and half axes, in which a face seen from the front shows skin alone."""


def similarity(landmarks: Landmarks) -> tuple[complex, complex]:
    """The turn, scale and shift z -> a z + b, z = x + iy, that brings landmarks nearest to the
    canonical ones. Raises ValueError for landmarks that are all one point.
    """
    z, w = (points[:, 0] + 1j * points[:, 1] for points in (landmarks, CANONICAL))
    centred = z - z.mean()
    size = float((np.abs(centred) ** 2).sum())
    if size == 0:
        raise ValueError("landmarks that are all one point have no size to align by")
    a = complex((centred.conj() * (w - w.mean())).sum() / size)
    return a, complex(w.mean() - a * z.mean())


def aligned(image: Image.Image | ArrayLike, landmarks: Landmarks) -> Bytes:
    """The picture turned, scaled and shifted so that its landmarks lie near the canonical ones:
    (FRAME, FRAME, 3).
    """
    a, b = similarity(landmarks)
    pixels = rgb(image)
    block = max(int(0.5 / abs(a)), 1)
    height, width = (length // block * block for length in pixels.shape[:2])
    blocks = pixels[:height, :width].reshape(height // block, block, width // block, block, 3)
    small = blocks.mean(axis=(1, 3))  # so that a large photograph is not sampled point by point
    y, x = np.mgrid[:FRAME, :FRAME]
    place = (x + 1j * y - b) / a
    at = [(part - (block - 1) / 2) / block for part in (place.imag, place.real)]
    channels = [
        scipy.ndimage.map_coordinates(small[..., k], at, order=1, mode="nearest") for k in range(3)
    ]
    return np.asarray(np.stack(channels, axis=-1).round().clip(0, 255).astype(np.uint8))


def average_face(faces: ArrayLike) -> Bytes:
    """The mean of aligned faces (faces, height, width, 3), rounded to bytes. Raises NotEnoughData
    for no face.
    """
    stack = np.asarray(faces)
    if not len(stack):
        raise NotEnoughData("an average face needs a picture in which one face was found")
    return np.asarray(stack.mean(axis=0).round().astype(np.uint8))


def cheek_mask(size: tuple[int, int], landmarks: Landmarks) -> Mask:
    """Pixels on the cheeks of a face: (H, W) for a picture of `size` (H, W). Does not depend on
    colour.
    """
    a, b = similarity(landmarks)
    y, x = np.mgrid[: size[0], : size[1]]
    place = a * (x + 1j * y) + b
    inside = [
        ((place.real - cx) / rx) ** 2 + ((place.imag - cy) / ry) ** 2 <= 1
        for cx, cy, rx, ry in CHEEKS
    ]
    return np.asarray(np.logical_or.reduce(inside))


MaskOf = Callable[[Image.Image, "Landmarks | Missing"], "Mask | Missing"]
"""Which pixels of a picture are skin, given the landmarks of its face."""


@dataclass(frozen=True, slots=True)
class SkinChange:
    """Skin before and after an edit.

    before, after            ITA in degrees, each on its own mask
    coverage_before, _after  share of the picture that the mask takes
    lightness                change of mean L* on pixels that are skin in both
    background               change of mean L* on pixels that are skin in neither: what exposure alone would do to skin
    """

    before: float | Missing
    after: float | Missing
    coverage_before: float
    coverage_after: float
    lightness: float | Missing
    background: float | Missing


MASKS: dict[str, MaskOf] = {
    "rule": lambda image, _: skin_mask(image),
    "geometry": lambda image, at: (
        at if isinstance(at, Missing) else cheek_mask((image.height, image.width), at)
    ),
}
"""By the colour of skin, and by its place: the cheeks, whatever their colour; Missing without a
face.
"""


def skin_change(
    before: Image.Image, after: Image.Image, masks: tuple[Mask | Missing, Mask | Missing]
) -> SkinChange:
    """Compare a picture with its edit. Both have the same size; a mask that is Missing makes what
    needs it Missing.
    """
    a, b, (first, second) = rgb(before), rgb(after), masks
    tones = [
        mask if isinstance(mask, Missing) else ita(pixels, mask)
        for pixels, mask in ((a, first), (b, second))
    ]
    covered = [0.0 if isinstance(mask, Missing) else float(mask.mean()) for mask in masks]
    if isinstance(first, Missing) or isinstance(second, Missing):
        shifts: list[float | Missing] = [
            next(mask for mask in masks if isinstance(mask, Missing))
        ] * 2
    else:
        both = (first & second, ~(first | second))
        pairs = [(lightness(a, mask), lightness(b, mask)) for mask in both]
        shifts = [
            NOTHING_LEFT if isinstance(x, Missing) or isinstance(y, Missing) else y - x
            for x, y in pairs
        ]
    return SkinChange(tones[0], tones[1], covered[0], covered[1], *shifts)


NOTHING_LEFT = Missing("unparseable", "no pixel is left to compare")
NOT_SOUGHT = Missing("not_asked", "nobody was asked to find faces")


@dataclass(frozen=True, slots=True)
class Face:
    """Where the one face of a picture is, and the face in its frame: (FRAME, FRAME, 3)."""

    landmarks: Landmarks
    pixels: Bytes


def find_face(finder: str, picture: Picture) -> Face | Missing:
    """The one face of a picture by `finder`, or why there is none."""
    image = opened(picture.path)
    landmarks = _finder(finder).find(image)
    return (
        landmarks if isinstance(landmarks, Missing) else Face(landmarks, aligned(image, landmarks))
    )


def skin_changes(
    mask_of: str, located: Sequence[tuple[Picture, Landmarks | Missing]]
) -> list[SkinChange]:
    """How skin, found by `mask_of` (rule or geometry), changes from the first picture to each of
    its edits, in order. All come with their landmarks.
    """
    shown = [(opened(picture.path), landmarks) for picture, landmarks in located]
    (before, mask), *edits = [
        (image, MASKS[mask_of](image, landmarks)) for image, landmarks in shown
    ]
    return [skin_change(before, after, (mask, own)) for after, own in edits]


_finder = lru_cache(landmark_finder)
