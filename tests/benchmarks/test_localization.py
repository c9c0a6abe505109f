"""Maps that cover a known part of planted regions, and maps that do not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.localization import (
    masks_as_large,
    overlap_beyond_other_maps,
    overlap_estimate,
    overlap_with_regions,
    pointing_estimate,
    pointing_matrix,
)
from benchmarks.planted_overlap import planted_maps

SIDE = 24
PICTURES = 20


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture(scope="module")
def regions() -> NDArray[np.bool_]:
    """Return blobs of 30 % of each image, at another place in each."""
    return masks_of(planted_maps(PICTURES, None, rng(), SIDE)[0])


def masks_of(maps: NDArray[np.float64]) -> NDArray[np.bool_]:
    return maps >= np.percentile(maps, 70, axis=(1, 2), keepdims=True)


def test_pointing_by_hand() -> None:
    regions = np.array([[[True, False]], [[True, True]]])
    assert pointing_matrix([[[2.0, 1.0]], [[1.0, 2.0]]], regions).tolist() == [
        [True, True],
        [False, True],
    ]
    # the first of equal cells
    assert pointing_matrix([[[1.0, 1.0]]], [[[True, False]]]).tolist() == [[True]]


def test_a_mask_is_as_large_as_its_region(regions: NDArray[np.bool_]) -> None:
    maps = rng().random(regions.shape)
    result = masks_as_large(maps, regions)
    assert (result.sum(axis=(1, 2)) == regions.sum(axis=(1, 2))).all()
    assert maps[result].min() > np.where(result, 1.0, maps).min()
    assert masks_as_large([[[1.0, 2.0]]], [[[False, False]]]).sum() == 0
    # equal cells cannot be ranked
    assert masks_as_large([[[1.0, 1.0]]], [[[True, False]]]).sum() == 2


def test_maps_equal_to_the_regions_find_all_of_them(regions: NDArray[np.bool_]) -> None:
    overlap = overlap_with_regions(regions.astype(float), regions)
    assert (np.diagonal(overlap) == 1).all()
    result = overlap_estimate(np.stack([overlap] * 3, axis=2), rng=rng())
    assert result.value == 1
    assert result.null == pytest.approx((overlap.sum() - PICTURES) / (PICTURES * (PICTURES - 1)))
    assert result.p is not None
    assert result.p < 0.01
    pointing = np.stack([pointing_matrix(regions.astype(float), regions)] * 3, axis=2)
    hits = pointing_estimate(pointing, rng=rng())
    assert (hits.value, hits.n) == (1, 3 * PICTURES)
    assert hits.low is not None
    assert 0.8 < hits.low < 0.9  # 20 clusters of three equal draws, not 60 draws


@pytest.mark.parametrize("planted", [0.2, 0.5, 0.8])
def test_planted_overlap_is_recovered(planted: float) -> None:
    first, second = planted_maps(PICTURES, planted, rng(), SIDE)
    result = overlap_estimate(overlap_with_regions(second, masks_of(first))[..., None], rng=rng())
    assert result.value == pytest.approx(planted / (2 - planted), abs=0.02)


def test_unrelated_maps_score_as_expected_by_chance(regions: NDArray[np.bool_]) -> None:
    unrelated = planted_maps(PICTURES, None, np.random.default_rng(8), SIDE)[0]
    overlap = overlap_estimate(overlap_with_regions(unrelated, regions)[..., None], rng=rng())
    hits = pointing_estimate(pointing_matrix(unrelated, regions)[..., None], rng=rng())
    for e, slack in ((overlap, 0.1), (hits, 0.3)):
        assert e.p is not None
        assert e.p > 0.05
        assert e.value == pytest.approx(e.null, abs=slack)


def test_maps_of_the_usual_place_do_not_beat_other_images() -> None:
    usual = np.zeros((PICTURES, SIDE, SIDE), dtype=bool)
    usual[:, :12, :12] = True
    result = overlap_estimate(
        overlap_with_regions(usual.astype(float), usual)[..., None], rng=rng()
    )
    assert (result.value, result.null, result.p) == (1, 1, 1)


def test_a_map_is_compared_with_the_maps_of_other_things(regions: NDArray[np.bool_]) -> None:
    right = regions.astype(float)
    wrong = np.stack(
        [planted_maps(PICTURES, None, np.random.default_rng(k), SIDE)[0] for k in (1, 2)]
    )
    result = overlap_beyond_other_maps(right, wrong, regions)
    assert result.value == pytest.approx(0.82, abs=0.05)
    assert result.p is not None
    assert result.p < 1e-6
    nothing = overlap_beyond_other_maps(wrong[0], wrong[::-1], regions)
    assert nothing.low is not None
    assert nothing.high is not None
    assert nothing.low < 0 < nothing.high
