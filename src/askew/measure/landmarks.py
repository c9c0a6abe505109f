"""Landmarks of the only face in an image.

The studio's drawings need no detector, because the position of the face is known.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.errors import UnknownName
from askew.measure.face_detection import HogDetector, MtcnnDetector
from askew.types import Missing

Landmarks = NDArray[np.float64]
"""Coordinates x and y of three or five points in pixels, of shape (3, 2) or (5, 2).

If there are three points, they are the left eye, the right eye (as seen by the viewer) and the base
of the nose. If there are five points, they are the left eye, the right eye, the tip of the nose,
and the left and right corners of the mouth.
"""


class LandmarkFinder(Protocol):
    """Finder of landmarks. `fingerprint` changes whenever the landmarks could change."""

    fingerprint: str

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the landmarks of an image's only face, or the reason why there are none."""


class MtcnnLandmarks:
    """Landmark finder that returns MTCNN's five facial points."""

    fingerprint = MtcnnDetector.fingerprint

    def __init__(self) -> None:
        self._detector = MtcnnDetector()

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the landmarks, or Missing with the reason no_face or several_people."""
        faces = self._detector.detect(image)
        if len(faces) != 1:
            return no_single_face(faces)
        return faces[0].points


class DlibLandmarks:
    """Landmark finder that returns dlib's three facial points (extra `faces`).

    Raises
    ------
    MissingPackage
        If the extra is not installed.
    """

    fingerprint = HogDetector.fingerprint

    def __init__(self) -> None:
        self._detector = HogDetector()

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the landmarks, or Missing with the reason no_face or several_people."""
        faces = self._detector.detect(image)
        if len(faces) != 1:
            return no_single_face(faces)
        corners = faces[0].points
        # The person's left eye comes first.
        right = corners[:2].mean(axis=0)
        left = corners[2:4].mean(axis=0)
        return np.stack([left, right, corners[4]])


def no_single_face(faces: Sequence[object]) -> Missing:
    """Return the reason why an image with no face or several faces has no landmarks."""
    if faces:
        return Missing("several_people", f"{len(faces)} faces found")
    return Missing("no_face")


STUDIO_FACE: Landmarks = np.array([[54.8, 47.4], [73.2, 47.4], [64.0, 56.0]])
"""Landmarks of the face in an average studio drawing of 128 x 128 pixels.

The eyes are 9.2 pixels to the left and right of the middle. The nose is 8.6 pixels below the eyes.
"""


class StudioLandmarks:
    """Landmark finder that returns the mean position of faces in the studio's drawings.

    The position of the face in a drawing varies by 3 pixels around the mean.
    """

    fingerprint = "studio-geometry-1"

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the same landmarks for each image, scaled to its size."""
        return STUDIO_FACE * (np.array(image.size, dtype=float) / 128)


FINDERS: Mapping[str, type[LandmarkFinder]] = {
    "faces": MtcnnLandmarks,
    "hog": DlibLandmarks,
    "studio": StudioLandmarks,
}


def landmark_finder(name: str) -> LandmarkFinder:
    """Return the landmark finder with this name: `faces`, `hog` or `studio`.

    Raises
    ------
    UnknownName
        For another name.
    MissingPackage
        If the finder is `hog` and the extra `faces` is not installed.
    """
    UnknownName.unless_known("landmark finder", name, FINDERS)
    return FINDERS[name]()
