"""How skin changed between a picture and its edit, and how much of that the exposure may explain.

What measuring skin and averaging faces need of pictures: lenses, which open pictures and can be sent elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image

from askew.measure.landmarks import Landmarks, landmark_finder
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


def by_geometry(image: Image.Image, landmarks: Landmarks | Missing) -> Mask | Missing:
    """Pixels on the cheeks, whatever their colour; Missing without a face."""
    return landmarks if isinstance(landmarks, Missing) else cheek_mask((image.height, image.width), landmarks)


MASKS: dict[str, MaskOf] = {"rule": lambda image, _: skin_mask(image), "geometry": by_geometry}
"""By the colour of skin, and by its place."""


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


NOT_SOUGHT = Missing("not_asked", "nobody was asked to find faces")


@dataclass(frozen=True, slots=True)
class Face:
    """Where the one face of a picture is, and the face in its frame: (FRAME, FRAME, 3)."""

    landmarks: Landmarks
    pixels: Bytes


@dataclass(frozen=True, slots=True)
class FaceLens:
    """Finds the one face of a picture by `finder`."""

    finder: str

    def __call__(self, picture: Picture) -> Face | Missing:
        """The face, or why there is none."""
        image = opened(picture.path)
        landmarks = _finder(self.finder).find(image)
        if isinstance(landmarks, Missing):
            return landmarks
        return Face(landmarks, aligned(image, landmarks))


@dataclass(frozen=True, slots=True)
class Compared:
    """A picture and its edits, each with its landmarks."""

    source: tuple[Picture, Landmarks | Missing]
    edits: Sequence[tuple[Picture, Landmarks | Missing]]


@dataclass(frozen=True, slots=True)
class SkinLens:
    """Sees how skin changes from a picture to its edits. `mask` says how skin is found: rule or geometry."""

    mask: str

    def __call__(self, one: Compared) -> list[SkinChange]:
        """A change for every edit, in order."""
        mask_of, (source, landmarks) = MASKS[self.mask], one.source
        before = opened(source.path)
        mask, changes = mask_of(before, landmarks), []
        for edit, own in one.edits:
            after = opened(edit.path)
            changes.append(skin_change(before, after, (mask, mask_of(after, own))))
        return changes


_finder = lru_cache(landmark_finder)
