"""The face detector in NumPy, on photographs."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from scipy.signal import correlate
from skimage.data import astronaut

from askew.measure import mtcnn

EYES = ((204, 102), (247, 104))
MOUTH = ((203, 139), (245, 141))


@pytest.fixture(scope="module")
def photograph() -> Image.Image:
    return Image.fromarray(astronaut())


def test_the_astronaut_has_a_face_with_five_points(photograph: Image.Image) -> None:
    faces = mtcnn.detect(photograph)
    assert faces.scores[0] > 0.99
    left, top, right, bottom = faces.boxes[0]
    assert 160 < left < 200 < 250 < right < 290
    assert 50 < top < 90 < 150 < bottom < 200
    (left_eye, right_eye, nose, *mouth) = faces.points[0]
    for point, expected in zip((left_eye, right_eye, *mouth), (*EYES, *MOUTH), strict=True):
        assert np.hypot(*(point - expected)) < 4
    assert left_eye[0] < nose[0] < right_eye[0]
    assert max(left_eye[1], right_eye[1]) < nose[1] < mouth[0][1]


def test_a_moved_and_enlarged_face_is_found_at_its_place(photograph: Image.Image) -> None:
    before = mtcnn.detect(photograph).boxes[0]
    canvas = Image.new("RGB", (700, 900), "grey")
    canvas.paste(photograph.resize((700, 700), Image.Resampling.BICUBIC), (0, 150))
    faces = mtcnn.detect(canvas)
    expected = before * 700 / 512 + [0, 150, 0, 150]
    assert np.abs(faces.boxes[0] - expected).max() < 15


@pytest.mark.parametrize("size", [(1, 1), (11, 300), (12, 12), (200, 120)])
def test_images_of_any_size_without_a_face(size: tuple[int, int]) -> None:
    faces = mtcnn.detect(Image.new("RGB", size, "grey"))
    assert faces.boxes.shape == (0, 4)
    assert faces.points.shape == (0, 5, 2)


def test_a_convolution_equals_a_correlation() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(2, 3, 7, 6)).astype(np.float32)
    layers = {
        "conv.weight": rng.normal(size=(4, 3, 3, 2)).astype(np.float32),
        "conv.bias": rng.normal(size=4).astype(np.float32),
        "conv.slope": rng.normal(size=4).astype(np.float32),
    }
    result = mtcnn._convolution(features, layers, "conv")
    for image in range(2):
        for channel in range(4):
            expected = correlate(features[image], layers["conv.weight"][channel], "valid")[0]
            expected += layers["conv.bias"][channel]
            expected[expected < 0] *= layers["conv.slope"][channel]
            assert result[image, channel] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("length", "size", "expected"), [(5, 2, 3), (6, 3, 3), (7, 3, 3)])
def test_a_partial_last_window_is_pooled(length: int, size: int, expected: int) -> None:
    features = np.arange(length * length, dtype=np.float32).reshape(1, 1, length, length)
    pooled = mtcnn._max_pool(features, size)
    assert pooled.shape == (1, 1, expected, expected)
    assert pooled[0, 0, -1, -1] == features.max()
    assert pooled[0, 0, 0, 0] == (size - 1) * (length + 1)


def test_overlapping_boxes_are_suppressed() -> None:
    boxes = np.array([[0, 0, 9, 9], [1, 0, 10, 9], [20, 20, 29, 29], [3, 3, 5, 5]], dtype=float)
    scores = np.array([0.8, 0.9, 0.7, 0.6])
    assert mtcnn._suppressed(boxes, scores, 0.5).tolist() == [1, 2, 3]
    assert mtcnn._suppressed(boxes, scores, 0.5, of_smaller=True).tolist() == [1, 2]
