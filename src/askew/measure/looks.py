"""What measuring skin and averaging faces need of a picture: its pixels, its face, its skin."""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image

from askew.measure.colour import Bytes
from askew.measure.landmarks import LandmarkFinder, Landmarks
from askew.measure.portraits import aligned
from askew.measure.skin import Mask
from askew.measure.skin_change import MASKS
from askew.store.imagefile import opened
from askew.types import Missing, Picture

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
