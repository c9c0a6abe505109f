"""Alignment of faces, average faces, and skin by its place in the face."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from askew.errors import NotEnoughData, UnknownName
from askew.measure.landmarks import STUDIO_FACE, StudioLandmarks, landmark_finder
from askew.measure.portraits import (
    CANONICAL,
    FRAME,
    MASKS,
    aligned,
    average_face,
    cheek_mask,
    similarity,
    skin_change,
)
from askew.measure.skin import ita
from askew.studio.drawing import draw_with_masks
from askew.studio.scene import Scene
from askew.types import Missing

PARTS = st.floats(-40, 40)


@settings(deadline=None)
@given(st.floats(0.3, 3), st.floats(-3, 3), PARTS, PARTS)
def test_a_similarity_transform_is_recovered(
    scale: float, angle: float, x: float, y: float
) -> None:
    a = scale * np.exp(1j * angle)
    b = complex(x, y)
    moved = a * (CANONICAL[:, 0] + 1j * CANONICAL[:, 1]) + b
    transform = similarity(np.stack([moved.real, moved.imag], axis=1))
    assert transform == (pytest.approx(1 / a), pytest.approx(-b / a))


def test_landmarks_at_one_point_have_no_size() -> None:
    with pytest.raises(ValueError, match="are the same point"):
        similarity(np.ones((3, 2)))


def test_an_aligned_face_is_at_its_landmarks() -> None:
    picture = np.zeros((300, 260, 3), dtype=np.uint8)
    landmarks = CANONICAL * 1.5 + np.array([20.0, 30.0])
    for x, y in landmarks:
        picture[int(y) - 4 : int(y) + 5, int(x) - 4 : int(x) + 5] = 255
    face = aligned(picture, landmarks)
    assert face.shape == (FRAME, FRAME, 3)
    for x, y in CANONICAL:
        assert face[int(y), int(x)].min() > 200
    assert face[10, 10].max() == 0


def test_large_photographs_are_averaged_not_sampled() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (1600, 1600, 3), dtype=np.uint8)
    assert aligned(noise, CANONICAL * 12).std() < 20


def test_an_average_face_is_the_mean_and_needs_a_face() -> None:
    faces = np.stack([np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 100, np.uint8)])
    assert (average_face(faces) == 50).all()
    with pytest.raises(NotEnoughData):
        average_face(np.zeros((0, 8, 8, 3), np.uint8))


@pytest.mark.parametrize("ethnicity", ["white", "asian", "black"])
@pytest.mark.parametrize("gender", ["male", "female"])
def test_the_cheeks_of_a_drawing_are_skin_however_dark(ethnicity: str, gender: str) -> None:
    for seed in range(4):
        drawing = draw_with_masks(Scene(gender=gender, ethnicity=ethnicity), seed)
        cheeks = cheek_mask((128, 128), STUDIO_FACE)
        assert (drawing.masks["face"] & cheeks).sum() >= 0.95 * cheeks.sum()
        assert not isinstance(ita(drawing.image, cheeks), Missing)


def test_cheeks_separate_light_and_dark_skin_where_the_rule_fails() -> None:
    def tone(ethnicity: str) -> float:
        tones = [
            ita(
                draw_with_masks(Scene(ethnicity=ethnicity), seed).image,
                cheek_mask((128, 128), STUDIO_FACE),
            )
            for seed in range(4)
        ]
        return float(np.mean([value for value in tones if not isinstance(value, Missing)]))

    assert tone("white") > tone("hispanic") + 20 > tone("black") + 40


def test_a_brighter_image_has_brighter_skin_and_background_alike() -> None:
    before = draw_with_masks(Scene(ethnicity="hispanic"), 1).image
    after = before.point(lambda value: min(255, round(value * 1.05)))
    masks = MASKS["rule"](before, Missing("not_asked")), MASKS["rule"](after, Missing("not_asked"))
    change = skin_change(before, after, masks)
    assert not isinstance(change.lightness, Missing)
    assert not isinstance(change.background, Missing)
    assert 0.5 < change.lightness < 5
    assert 0.5 < change.background < 5


def test_without_a_face_skin_by_geometry_is_missing_not_zero() -> None:
    image = Image.new("RGB", (16, 16), (200, 150, 120))
    none = Missing("no_person", "no face found")
    change = skin_change(
        image, image, (MASKS["geometry"](image, none), MASKS["geometry"](image, none))
    )
    assert change.before == change.after == change.lightness == change.background == none
    assert change.coverage_before == 0


def test_the_studio_geometry_scales_with_the_image() -> None:
    landmarks = StudioLandmarks().find(Image.new("RGB", (256, 256)))
    np.testing.assert_allclose(landmarks, 2 * STUDIO_FACE)
    with pytest.raises(UnknownName, match="studio"):
        landmark_finder("face")
