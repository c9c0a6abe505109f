"""Skin and its tone, by scikit-image's color conversions and on a photograph."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage.color import rgb2lab, rgb2ycbcr
from skimage.data import astronaut

from askew.errors import UsageError
from askew.measure.skin import ita, lab, lightness, skin_mask, tone, ycbcr
from askew.types import Missing

DARK = (87, 50, 28)
BYTES = st.integers(0, 255)


def patch(colour: tuple[int, int, int], side: int = 4) -> np.ndarray:
    return np.full((side, side, 3), colour, dtype=np.uint8)


def test_a_photograph_has_the_recorded_skin_and_tone() -> None:
    photo = astronaut()
    mask = skin_mask(photo)
    assert mask.sum() == 29_447
    assert ita(photo, mask) == ita(photo) == pytest.approx(36.57, abs=0.01)
    assert ita(photo, np.ones(mask.shape, dtype=bool)) == pytest.approx(53.01, abs=0.01)


def test_colors_agree_with_scikit_image() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (50, 40, 3), dtype=np.uint8)
    np.testing.assert_allclose(lab(pixels), rgb2lab(pixels), atol=1e-9)
    np.testing.assert_allclose(ycbcr(pixels), rgb2ycbcr(pixels), atol=1e-9)


@settings(deadline=None)
@given(BYTES, BYTES, BYTES, st.integers(1, 9))
def test_a_flat_patch_has_the_tone_of_its_color(r: int, g: int, b: int, side: int) -> None:
    image = patch((r, g, b), side)
    mask = skin_mask(image)
    assert mask.all() == mask.any()
    expected = rgb2lab(image)[0, 0]
    degrees = ita(image, np.ones(mask.shape, dtype=bool))
    if isinstance(degrees, Missing):
        assert expected[0] == 0 or expected[2] == pytest.approx(0, abs=1e-9)
    else:
        assert math.isfinite(degrees)
        assert degrees == pytest.approx(
            math.degrees(math.atan2(expected[0] - 50, expected[2])), abs=1e-6
        )


def test_the_rule_rejects_very_dark_skin_and_its_tone_is_then_missing() -> None:
    image = patch(DARK)
    assert not skin_mask(image).any()
    assert isinstance(ita(image), Missing)
    assert isinstance(lightness(image, skin_mask(image)), Missing)
    assert ita(image, np.ones((4, 4), dtype=bool)) == pytest.approx(-50.197, abs=0.001)


def test_outliers_beyond_one_deviation_do_not_move_the_tone() -> None:
    image = patch((224, 172, 105), 10)
    image[0, 0] = (255, 255, 0)
    assert ita(image) == pytest.approx(ita(patch((224, 172, 105))), abs=1e-9)


def test_images_in_other_modes_are_read_as_displayed() -> None:
    image = Image.fromarray(patch((224, 172, 105)))
    assert ita(image.convert("RGBA")) == ita(image)
    clear = image.convert("RGBA")
    clear.putalpha(0)
    assert not skin_mask(clear).any()
    assert not skin_mask(Image.new("I;16", (4, 4), 40000)).any()
    with pytest.raises(UsageError, match=r"\(4, 4\)"):
        ita(np.zeros((4, 4), dtype=np.uint8))
    with pytest.raises(UsageError, match="but the image has the shape"):
        ita(patch(DARK), np.ones((3, 3), dtype=bool))


@pytest.mark.parametrize(
    ("degrees", "name"), [(55.1, "very light"), (55.0, "light"), (10.0, "brown"), (-90, "dark")]
)
def test_classes_begin_above_their_angle(degrees: float, name: str) -> None:
    assert tone(degrees) == name
