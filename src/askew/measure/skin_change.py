"""How skin changed between a picture and its edit, and how much of that the exposure may explain.

What measuring skin and averaging faces need of a picture: its pixels, its face, its skin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from askew.measure.landmarks import LandmarkFinder, Landmarks
from askew.measure.portraits import aligned, cheek_mask
from askew.measure.skin import Bytes, Mask, ita, lightness, rgb, skin_mask
from askew.store.imagefile import opened
from askew.types import Missing, Picture

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


NOT_SOUGHT = Missing("not_asked", "no landmarks were asked for")


@dataclass(frozen=True, slots=True)
class Look:
    """A picture with its skin."""

    image: Image.Image
    mask: Mask | Missing


class Looks:
    """Looks at pictures, one after another, and keeps their aligned faces.

    finder     who finds landmarks; None finds none
    mask       how skin is found: rule or geometry
    piecewise  whether faces are warped until every landmark is in its place
    """

    def __init__(self, finder: LandmarkFinder | None, mask: str, *, piecewise: bool = False) -> None:
        self.faces: dict[str, Bytes | Missing] = {}
        self._finder, self._mask, self._piecewise = finder, MASKS[mask], piecewise

    def see(self, picture: Picture) -> Look:
        """Open a picture, find its face and its skin."""
        image = opened(picture.path)
        landmarks = self._landmarks(image)
        if self._finder is not None:
            self.faces[picture.id] = (
                landmarks if isinstance(landmarks, Missing) else aligned(image, landmarks, piecewise=self._piecewise)
            )
        return Look(image, self._mask(image, landmarks))

    def _landmarks(self, image: Image.Image) -> Landmarks | Missing:
        return NOT_SOUGHT if self._finder is None else self._finder.find(image)
