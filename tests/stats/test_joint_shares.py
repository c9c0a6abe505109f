"""Shares of combinations of values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import NotEnoughData
from askew.stats.distance import total_variation
from askew.stats.shares import LEAST_EXPECTED, joint_shares, share_intervals


def codes(counts: np.ndarray) -> np.ndarray:
    return np.repeat(np.argwhere(np.ones_like(counts)), counts.ravel(), axis=0)


def test_cells_of_two_axes_against_a_reference() -> None:
    counts = np.array([[30, 10], [10, 50]])
    reference = np.array([[3, 2], [2, 3]])
    found = joint_shares(codes(counts), (2, 2), reference, rng=np.random.default_rng(0), draws=200)
    assert found.against == "reference"
    by_values = {cell.values[0]: cell for cell in found.cells}
    assert by_values[1, 1].share == share_intervals([50, 50])[0]
    assert by_values[1, 1].ratio[0] == pytest.approx(0.5 / 0.3)
    assert by_values[1, 1].ratio[1] < 0.5 / 0.3 < by_values[1, 1].ratio[2]
    assert found.distance.value == pytest.approx(total_variation(counts.ravel(), reference.ravel()))
    assert found.distance.low is not None
    assert not any(cell.pooled for cell in found.cells)


def test_independent_axes_are_as_expected_and_tied_ones_are_not() -> None:
    rng = np.random.default_rng(1)
    free = np.column_stack([rng.integers(2, size=200), rng.integers(3, size=200), rng.integers(2, size=200)])
    tied = np.column_stack([free[:, 0], free[:, 1], free[:, 0]])
    loose, bound = (joint_shares(c, (2, 3, 2), rng=np.random.default_rng(0), draws=200) for c in (free, tied))
    assert loose.distance.p > 0.05
    assert bound.distance.p < 0.01
    assert abs(loose.distance.corrected) < 0.06
    assert bound.distance.corrected > 0.3
    assert bound.against == "independence"
    assert loose.distance.low < 0.05
    assert 0.4 < bound.distance.low <= bound.distance.value <= bound.distance.high <= 0.6


@pytest.mark.parametrize("tie", [0.0, 0.12])
def test_the_distance_from_independence_is_covered(tie: float) -> None:
    shares = np.outer([0.5, 0.5], [0.3, 0.4, 0.3]) + tie * np.array([[1, 0, -1], [-1, 0, 1]])
    rng = np.random.default_rng(4)
    tables = [rng.multinomial(96, shares.ravel()).reshape(2, 3) for _ in range(60)]
    found = [joint_shares(codes(table), (2, 3), rng=rng, draws=100).distance for table in tables]
    assert np.mean([d.low - 1e-9 <= 2 * tie <= d.high + 1e-9 for d in found]) >= 0.88


def test_sparse_combinations_are_pooled_by_what_is_expected_alone() -> None:
    reference = np.array([[0.5, 0.4], [0.09, 0.01]])
    some = joint_shares(codes(np.array([[50, 0], [0, 50]])), (2, 2), reference, rng=np.random.default_rng(0), draws=50)
    other = joint_shares(codes(np.array([[10, 80], [9, 1]])), (2, 2), reference, rng=np.random.default_rng(0), draws=50)
    # one picture of the last combination is expected; with nine of the third the rest has ten
    assert [cell.values for cell in some.cells] == [((0, 0),), ((0, 1),), ((1, 0), (1, 1))]
    assert [cell.values for cell in other.cells] == [cell.values for cell in some.cells]
    assert some.cells[-1].pooled
    assert some.cells[-1].share.value == pytest.approx(0.5)


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 2)), min_size=40, max_size=120))
def test_cells_add_up(pairs: list[tuple[int, int]]) -> None:
    try:
        found = joint_shares(pairs, (2, 3), rng=np.random.default_rng(0), draws=20)
    except NotEnoughData:
        return
    answered = sum(a >= 0 and b >= 0 for a, b in pairs)
    assert sum(cell.share.value for cell in found.cells) == pytest.approx(1)
    assert sum(cell.expected for cell in found.cells) == pytest.approx(1)
    assert all(cell.expected * answered >= LEAST_EXPECTED - 1e-9 for cell in found.cells)
    assert {cell.share.n for cell in found.cells} == {answered}
    assert {cell.share.missing for cell in found.cells} == {len(pairs) - answered}
    assert sorted(v for cell in found.cells for v in cell.values) == [(i, j) for i in range(2) for j in range(3)]


def test_what_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(NotEnoughData, match="at least 30"):
        joint_shares([[0, 0]] * 12, (2, 3), np.ones((2, 3)), rng=rng)
    with pytest.raises(NotEnoughData):
        joint_shares([[-1, 0]], (2, 3), rng=rng)
    with pytest.raises(ValueError, match="two or three"):
        joint_shares([[0]], (2,), rng=rng)
    with pytest.raises(ValueError, match="outside"):
        joint_shares([[0, 3]], (2, 3), rng=rng)
    with pytest.raises(ValueError, match="reference"):
        joint_shares([[0, 0]] * 50, (2, 3), np.ones((3, 2)), rng=rng)
