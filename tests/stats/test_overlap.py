"""Overlap of maps: masks by hand, chance by simulation, and planted overlap."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from askew.errors import NotEnoughData
from askew.stats.overlap import (
    bilinear,
    chance_iou,
    covered,
    entanglement,
    iou,
    iou_matrix,
    mask,
)
from askew.types import Missing
from benchmarks.planted_overlap import planted_maps, planted_truth

MAP = np.arange(10.0).reshape(2, 5) + 1
MASKS = arrays(bool, (4, 3, 3), elements=st.booleans()).map(lambda m: m | np.eye(3, dtype=bool))


@pytest.mark.parametrize(
    ("threshold", "tau", "covered"),
    [
        ("percentile", 70, 3),
        ("percentile", 0, 10),
        ("percentile", 100, 1),
        ("max", 50, 6),
        ("minmax", 50, 5),
    ],
)
def test_masks(threshold: str, tau: float, covered: int) -> None:
    estimate = mask(MAP, threshold, tau)  # type: ignore[arg-type]
    assert estimate.sum() == covered
    assert estimate.flat[-1]


def test_each_map_has_a_separate_threshold() -> None:
    assert (mask(np.stack([MAP, 100 * MAP])).sum(axis=(1, 2)) == 3).all()


@pytest.mark.parametrize(("threshold", "tau"), [("half", 70), ("max", 101), ("max", -1)])
def test_invalid_masks_are_refused(threshold: str, tau: float) -> None:
    with pytest.raises(ValueError, match=r"threshold|tau"):
        mask(MAP, threshold, tau)  # type: ignore[arg-type]


def test_a_map_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        mask(MAP * np.nan)


def test_iou_by_hand() -> None:
    a = np.array([[1, 1, 0, 0]])
    b = np.array([[0, 1, 1, 0]])
    assert iou(a, b) == pytest.approx(1 / 3)
    assert iou(a, a) == 1
    assert iou(a, 1 - a) == 0
    assert chance_iou(a, b) == pytest.approx(0.25 / 0.75)


def test_chance_of_two_masks_of_thirty_percent() -> None:
    m = mask(np.random.default_rng(0).random((2, 64, 64)))
    assert chance_iou(m[0], m[1]) == pytest.approx(0.176, abs=1e-3)


def test_empty_masks_have_no_overlap() -> None:
    nothing = np.zeros((2, 2), dtype=bool)
    for score in (iou, chance_iou):
        with pytest.raises(NotEnoughData, match="empty"):
            score(nothing, nothing)


@given(MASKS, MASKS)
def test_the_matrix_holds_every_pair(a: np.ndarray, b: np.ndarray) -> None:
    matrix = iou_matrix(a, b)
    for i in range(4):
        for j in range(4):
            assert matrix[i, j] == pytest.approx(iou(a[i], b[j]))
    np.testing.assert_allclose(matrix, iou_matrix(b, a).T)


class TestEntanglement:
    def test_by_hand(self) -> None:
        matrix = np.full((4, 4), 0.2) + 0.3 * np.eye(4)
        miou, corrected = entanglement(matrix, rng=np.random.default_rng(0))
        assert miou.value == pytest.approx(0.5)
        assert miou.null == pytest.approx(0.2)
        assert miou.corrected == pytest.approx(0.375)
        assert not isinstance(corrected, Missing)
        assert corrected.value == pytest.approx(0.375)
        assert corrected.low == pytest.approx(0.375)  # all images give the same

    def test_the_jackknife_leaves_images_out(self) -> None:
        matrix = np.random.default_rng(1).random((6, 6))
        _, estimate = entanglement(matrix, rng=np.random.default_rng(0))
        values = []
        for i in range(6):
            rest = np.delete(np.delete(matrix, i, 0), i, 1)
            diagonal = np.diagonal(rest)
            null = (rest.sum() - diagonal.sum()) / 20
            values.append((diagonal.mean() - null) / (1 - null))
        error = np.sqrt(5 / 6 * np.sum((np.array(values) - np.mean(values)) ** 2))
        assert not isinstance(estimate, Missing)
        assert estimate.low is not None
        assert estimate.value - estimate.low == pytest.approx(stats.t.isf(0.025, 5) * error)

    def test_few_images(self) -> None:
        entry, corrected = entanglement([[0.4]], rng=np.random.default_rng(0))
        assert (entry.value, entry.low, entry.null) == (0.4, None, None)
        assert isinstance(corrected, Missing)
        two, corrected = entanglement(np.full((2, 2), 0.4), rng=np.random.default_rng(0))
        assert (two.low, two.null) == (None, None)
        assert isinstance(corrected, Missing)

    def test_constant_maps_leave_no_room_for_a_correction(self) -> None:
        miou, corrected = entanglement(np.ones((5, 5)), rng=np.random.default_rng(0))
        assert miou.corrected is None
        assert isinstance(corrected, Missing)

    @pytest.mark.parametrize("shape", [(0, 0), (2, 3)])
    def test_invalid_maps_are_refused(self, shape: tuple[int, int]) -> None:
        with pytest.raises((NotEnoughData, ValueError)):
            entanglement(np.zeros(shape), rng=np.random.default_rng(0))


class TestPlantedOverlap:
    @staticmethod
    def findings(overlap: float | None, pictures: int = 60, seed: int = 0) -> tuple[float, float]:
        """Return corrected mIoU and p of maps with planted overlap."""
        rng = np.random.default_rng(seed)
        a, b = (mask(m) for m in planted_maps(pictures, overlap, rng))
        miou, _ = entanglement(iou_matrix(a, b), rng=rng, draws=200)
        assert miou.corrected is not None
        assert miou.p is not None
        return miou.corrected, miou.p

    def test_the_corrected_overlap_follows_the_planted_one(self) -> None:
        corrected = [self.findings(overlap)[0] for overlap in np.linspace(0, 1, 9)]
        assert (np.diff(corrected) > 0.02).all()
        assert corrected[0] < 0
        assert corrected[-1] > 0.999

    def test_it_is_zero_at_chance(self) -> None:
        values = [self.findings(None, 30, seed) for seed in range(40)]
        assert np.mean([corrected for corrected, _ in values]) == pytest.approx(0, abs=0.02)
        assert np.mean([p < 0.05 for _, p in values]) <= 0.15

    def test_planted_masks_have_the_planted_overlap(self) -> None:
        a, b = (mask(m) for m in planted_maps(20, 0.5, np.random.default_rng(0)))
        np.testing.assert_allclose(iou(a, b), 0.5 / 1.5, atol=0.01)

    def test_the_truth_agrees_with_many_images(self) -> None:
        assert planted_truth(0.5, pictures=400) == pytest.approx(
            self.findings(0.5, 400, 1)[0], abs=0.02
        )


@pytest.mark.parametrize(
    ("old", "new"), [((4, 4), (16, 16)), ((3, 5), (7, 11)), ((8, 8), (3, 4)), ((1, 1), (2, 3))]
)
def test_resizing_agrees_with_pytorch(old: tuple[int, int], new: tuple[int, int]) -> None:
    maps = np.random.default_rng(0).random((2, 3, *old))
    expected = F.interpolate(torch.from_numpy(maps), new, mode="bilinear", align_corners=False)
    np.testing.assert_allclose(bilinear(maps, new), expected.numpy(), rtol=1e-12)


@given(arrays(bool, (4, 3, 5)), MASKS.map(lambda m: np.concatenate([m, m[..., :2]], axis=2)))
def test_coverage_of_regions_agrees_with_a_plain_loop(
    masks: np.ndarray, regions: np.ndarray
) -> None:
    estimate = covered(masks, regions)
    for i, entry in enumerate(masks):
        for j, region in enumerate(regions):
            inside = [bool(entry[place]) for place in zip(*np.nonzero(region), strict=True)]
            assert estimate[i, j] == pytest.approx(sum(inside) / len(inside))


def test_a_mask_and_its_complement_are_accurate_where_they_are_the_region() -> None:
    region = np.array([[[1, 1, 0, 0]], [[0, 1, 1, 0]]], dtype=bool)
    assert (
        np.diagonal(covered(region, region)).tolist()
        == np.diagonal(covered(~region, ~region)).tolist()
        == [1, 1]
    )
    assert covered(region, region)[0, 1] == 0.5
    with pytest.raises(NotEnoughData, match="a region is empty"):
        covered(region, np.zeros_like(region))
