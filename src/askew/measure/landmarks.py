"""Landmarks of the only face of an image.

In the studio's drawings, the position of the face is known.
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
"""x and y in pixels, (3, 2) or (5, 2).

Three points are the left eye, the right eye (as seen by the viewer) and the base of the nose. Five
points are the left eye, the right eye, the tip of the nose, and the left and right corner of the
mouth.
"""


class LandmarkFinder(Protocol):
    """Finder of landmarks. `fingerprint` changes whenever the landmarks could change."""

    fingerprint: str

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the landmarks of an RGB image with one face, else why there are none."""


class MtcnnLandmarks:
    """Finder of the five points of the detector MTCNN."""

    fingerprint = MtcnnDetector.fingerprint

    def __init__(self) -> None:
        self._detector = MtcnnDetector()

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the landmarks; Missing: no_face for no face, several_people for more than one."""
        faces = self._detector.detect(image)
        if len(faces) != 1:
            return no_single_face(faces)
        return faces[0].points


class DlibLandmarks:
    """Finder of three points by dlib's frontal detector and predictor (extra `faces`).

    Raises
    ------
    MissingPackage
        If the extra is not installed.
    """

    fingerprint = HogDetector.fingerprint

    def __init__(self) -> None:
        self._detector = HogDetector()

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the landmarks; Missing: no_face for no face, several_people for more than one."""
        faces = self._detector.detect(image)
        if len(faces) != 1:
            return no_single_face(faces)
        corners = faces[0].points
        # The person's left eye comes first.
        right = corners[:2].mean(axis=0)
        left = corners[2:4].mean(axis=0)
        return np.stack([left, right, corners[4]])


def no_single_face(faces: Sequence[object]) -> Missing:
    """Return the reason why an image with no face or several faces has no only face."""
    if faces:
        return Missing("several_people", f"{len(faces)} faces found")
    return Missing("no_face")


STUDIO_FACE: Landmarks = np.array([[54.8, 47.4], [73.2, 47.4], [64.0, 56.0]])
"""Landmarks of the mean drawing, 128 x 128 pixels.

The eyes are 9.2 pixels left and right of the middle, the nose 8.6 below the eyes.
"""


class StudioLandmarks:
    """Finder that returns the mean position of the face in the studio's drawings. It varies by 3 pixels."""

    fingerprint = "studio-geometry-1"

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the same landmarks for each image, in proportion to its size."""
        return STUDIO_FACE * (np.array(image.size, dtype=float) / 128)


FINDERS: Mapping[str, type[LandmarkFinder]] = {
    "faces": MtcnnLandmarks,
    "hog": DlibLandmarks,
    "studio": StudioLandmarks,
}


def landmark_finder(name: str) -> LandmarkFinder:
    """Return the finder `faces`, `hog` or `studio`.

    Raises
    ------
    UnknownName
        For another name.
    MissingPackage
        If the extra `faces` is not installed, for the finder `hog`.
    """
    UnknownName.unless_known("landmark finder", name, FINDERS)
    return FINDERS[name]()
