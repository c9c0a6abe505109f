"""What measuring skin and averaging faces need of pictures: lenses, which open pictures and can be sent elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from askew.measure.landmarks import Landmarks, landmark_finder
from askew.measure.portraits import aligned
from askew.measure.skin import Bytes
from askew.measure.skin_change import MASKS, SkinChange, skin_change
from askew.store.imagefile import opened
from askew.types import Missing, Picture

NOT_SOUGHT = Missing("not_asked", "no landmarks were asked for")


@dataclass(frozen=True, slots=True)
class Face:
    """Where the one face of a picture is, and the face in its frame: (FRAME, FRAME, 3)."""

    landmarks: Landmarks
    pixels: Bytes


@dataclass(frozen=True, slots=True)
class FaceLens:
    """Finds the one face of a picture by `finder`; `piecewise` warps it until every landmark is in its place."""

    finder: str
    piecewise: bool = False

    def __call__(self, picture: Picture) -> Face | Missing:
        """The face, or why there is none."""
        image = opened(picture.path)
        landmarks = _finder(self.finder).find(image)
        if isinstance(landmarks, Missing):
            return landmarks
        return Face(landmarks, aligned(image, landmarks, piecewise=self.piecewise))


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
