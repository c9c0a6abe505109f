"""In insertion and deletion the true place scores highest, and random maps are equally smooth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.insertion_deletion import areas, as_smooth, fills

PLACE = np.zeros((16, 16), dtype=bool)
PLACE[2:6, 2:6] = True


def fit(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the brightness of the place, of shape (1, n)."""
    return pixels[:, PLACE].mean(axis=(1, 2), dtype=float)[None, :] / 255


@pytest.mark.parametrize("cover", ["mean color", "blur"])
def test_the_map_of_the_true_place_scores_highest(cover: str) -> None:
    pixels = (
        np.where(PLACE[None, :, :, None], np.uint8(250), np.uint8(20))
        .repeat(3, axis=3)
        .repeat(2, axis=0)
    )
    fill = fills(pixels)[cover]
    rng = np.random.default_rng(0)
    right = PLACE[None].repeat(2, axis=0) + 0.01 * rng.random((2, 16, 16))
    (fitting,) = areas(fit, pixels, fill, right)
    (other,) = areas(fit, pixels, fill, -right)
    assert (fitting > 0.5).all()
    assert other == pytest.approx(-fitting)


def test_random_maps_have_the_spectrum_of_the_original_maps() -> None:
    maps = np.random.default_rng(1).random((2, 16, 16)).cumsum(axis=1).cumsum(axis=2)
    result = as_smooth(maps, np.random.default_rng(2))
    np.testing.assert_allclose(np.abs(np.fft.fft2(result)), np.abs(np.fft.fft2(maps)), rtol=1e-6)
    assert abs(np.corrcoef(result[0].ravel(), maps[0].ravel())[0, 1]) < 0.9
