"""Landmarks on a photograph, if the extra is installed."""

from __future__ import annotations

import pytest
from PIL import Image
from skimage.data import astronaut

from askew.measure.faces import landmark_finder
from askew.types import Missing

pytest.importorskip("dlib")


def test_eyes_and_nose_of_the_astronaut_are_found() -> None:
    finder = landmark_finder("faces")
    landmarks = finder.find(Image.fromarray(astronaut()))
    assert not isinstance(landmarks, Missing)
    left, right, nose = landmarks
    assert 190 < left[0] < right[0] < 260
    assert left[0] < nose[0] < right[0]
    assert nose[1] > max(left[1], right[1])
    assert finder.find(Image.new("RGB", (200, 200))) == Missing("no_face")


def test_several_faces_have_no_landmarks() -> None:
    face = Image.fromarray(astronaut()).crop((130, 0, 330, 220))
    both = Image.new("RGB", (2 * face.width, face.height))
    for k in range(2):
        both.paste(face, (k * face.width, 0))
    assert landmark_finder("faces").find(both) == Missing("several_people", "2 faces found")
