"""Landmarks on a photograph, by MTCNN and by dlib if the extra is installed."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from skimage.data import astronaut

from askew.measure.landmarks import LandmarkFinder, landmark_finder
from askew.measure.portraits import aligned
from askew.types import Missing


@pytest.fixture(scope="module", params=["faces", "hog"])
def finder(request: pytest.FixtureRequest) -> LandmarkFinder:
    if request.param == "hog":
        pytest.importorskip("dlib")
    return landmark_finder(request.param)


def test_eyes_and_nose_of_the_astronaut_are_found(finder: LandmarkFinder) -> None:
    landmarks = finder.find(Image.fromarray(astronaut()))
    assert not isinstance(landmarks, Missing)
    left, right, nose = landmarks[:3]
    assert 190 < left[0] < right[0] < 260
    assert left[0] < nose[0] < right[0]
    assert nose[1] > max(left[1], right[1])
    assert finder.find(Image.new("RGB", (200, 200))) == Missing("no_face")


def test_both_finders_align_a_face_alike() -> None:
    pytest.importorskip("dlib")
    image = Image.fromarray(astronaut())
    faces = []
    for name in ("faces", "hog"):
        landmarks = landmark_finder(name).find(image)
        assert not isinstance(landmarks, Missing)
        faces.append(aligned(image, landmarks)[32:96, 32:96].astype(float))
    assert np.corrcoef(faces[0].ravel(), faces[1].ravel())[0, 1] > 0.8


def test_several_faces_have_no_landmarks(finder: LandmarkFinder) -> None:
    face = Image.fromarray(astronaut()).crop((130, 0, 330, 220))
    both = Image.new("RGB", (2 * face.width, face.height))
    for k in range(2):
        both.paste(face, (k * face.width, 0))
    assert finder.find(both) == Missing("several_people", "2 faces found")
