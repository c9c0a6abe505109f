"""How skin changed between a picture and its edit, and how much of that the exposure may explain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from askew.measure.colour import Bytes
from askew.measure.landmarks import Landmarks
from askew.measure.portraits import cheek_mask
from askew.measure.skin import Mask, ita, lightness, rgb, skin_mask
from askew.types import Missing

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


def by_colour(image: Image.Image, landmarks: Landmarks | Missing) -> Mask | Missing:
    """Pixels with the colour of skin."""
    return skin_mask(image)


def by_geometry(image: Image.Image, landmarks: Landmarks | Missing) -> Mask | Missing:
    """Pixels on the cheeks, whatever their colour; Missing without a face."""
    if isinstance(landmarks, Missing):
        return landmarks
    return cheek_mask((image.height, image.width), landmarks)


MASKS: dict[str, MaskOf] = {"rule": by_colour, "geometry": by_geometry}


def skin_change(before: Image.Image, after: Image.Image, masks: tuple[Mask | Missing, Mask | Missing]) -> SkinChange:
    """Compare a picture with its edit. Both have the same size; a mask that is Missing makes what needs it Missing."""
    first, second = masks
    a, b = rgb(before), rgb(after)
    if isinstance(first, Missing) or isinstance(second, Missing):
        none = first if isinstance(first, Missing) else second
        assert isinstance(none, Missing)
        return SkinChange(_tone(a, first), _tone(b, second), _coverage(first), _coverage(second), none, none)
    both, neither = first & second, ~(first | second)
    return SkinChange(
        ita(a, first), ita(b, second), _coverage(first), _coverage(second), _shift(a, b, both), _shift(a, b, neither)
    )


def _tone(pixels: Bytes, mask: Mask | Missing) -> float | Missing:
    return mask if isinstance(mask, Missing) else ita(pixels, mask)


def _coverage(mask: Mask | Missing) -> float:
    return 0.0 if isinstance(mask, Missing) else float(mask.mean())


def _shift(before: Bytes, after: Bytes, mask: Mask) -> float | Missing:
    """Change of mean L* on the same pixels."""
    first, second = lightness(before, mask), lightness(after, mask)
    if isinstance(first, Missing) or isinstance(second, Missing):
        return Missing("no_person", "no pixel is left to compare")
    return second - first
