"""Pairs of pictures: found by key whatever the order, resampled as pairs, exchanged within pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import NotEnoughData
from askew.stats.pairing import PairedSets


def sets(pairs: int, alone: tuple[int, int], columns: int = 3, seed: int = 0) -> PairedSets:
    rng = np.random.default_rng(seed)
    first, second = (rng.integers(0, 3, (pairs + n, columns)) for n in alone)
    keys = list(range(pairs))
    return PairedSets.of(first, second, [*keys, *[None] * alone[0]], [*keys, *[None] * alone[1]])


def test_rows_with_equal_keys_belong_together_and_the_rest_is_kept() -> None:
    found = PairedSets.of([[1.0], [2.0], [3.0]], [[30.0], [10.0], [50.0]], [1, 2, 3], [3, 1, 5])
    assert found.pairs[..., 0].tolist() == [[1, 3], [10, 30]]
    assert [rows[:, 0].tolist() for rows in found.rest] == [[2], [50]]
    assert len(found) == 2
    assert (found.first.sum(), found.second.sum()) == (6, 90)


@given(st.integers(0, 6), st.integers(0, 4), st.integers(0, 4), st.randoms(use_true_random=False))
def test_the_order_of_the_pictures_decides_nothing(pairs: int, a: int, b: int, shuffle: object) -> None:
    if not (pairs + a and pairs + b):
        return
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 3, (pairs + a, 2)), rng.integers(0, 3, (pairs + b, 2))
    keys = [[*range(pairs), *[None] * n] for n in (a, b)]
    orders = [list(range(len(rows))) for rows in (first, second)]
    for order in orders:
        shuffle.shuffle(order)  # type: ignore[attr-defined]
    moved = PairedSets.of(
        first[orders[0]], second[orders[1]], [keys[0][k] for k in orders[0]], [keys[1][k] for k in orders[1]]
    )
    original = PairedSets.of(first, second, *keys)
    for draw in ("resampled", "exchanged"):
        found, expected = (getattr(s, draw)(7, np.random.default_rng(3)) for s in (moved, original))
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])


def test_an_exchange_keeps_what_each_pair_holds_together() -> None:
    found = sets(5, (3, 6))
    first, second = found.exchanged(500, np.random.default_rng(0))
    n, m = len(found.first), len(found.second)
    total = found.first.sum(axis=0) + found.second.sum(axis=0)
    assert np.allclose(first * n + second * m, total)
    assert len(np.unique(first[:, 0])) > 5


def test_with_one_pair_there_are_two_exchanges_each_half_of_the_time() -> None:
    found = PairedSets.of([[1.0, 0.0]], [[0.0, 1.0]], [1], [1])
    first, second = found.exchanged(2000, np.random.default_rng(0))
    assert set(map(tuple, first)) == {(1.0, 0.0), (0.0, 1.0)}
    assert np.array_equal(first, second[:, ::-1])
    assert first[:, 0].mean() == pytest.approx(0.5, abs=0.05)


def test_resampled_means_of_pairs_move_together_and_others_do_not() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((30, 1))
    keys = list(range(30))
    together = PairedSets.of(rows, rows + 1, keys, keys).resampled(400, rng)
    apart = PairedSets.of(rows, rows + 1).resampled(400, rng)
    assert np.allclose(together[0] + 1, together[1])
    assert abs(np.corrcoef(apart[0][:, 0], apart[1][:, 0])[0, 1]) < 0.15
    assert apart[0].std() == pytest.approx(rows.std() / np.sqrt(30), rel=0.15)


def test_what_is_refused() -> None:
    with pytest.raises(NotEnoughData):
        PairedSets.of(np.zeros((0, 2)), np.ones((1, 2)))
    with pytest.raises(ValueError, match="2 and 3 columns"):
        PairedSets.of(np.ones((1, 2)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="twice"):
        PairedSets.of(np.ones((2, 2)), np.ones((1, 2)), [4, 4], [4])
    with pytest.raises(ValueError, match="1 keys for 2"):
        PairedSets.of(np.ones((2, 2)), np.ones((1, 2)), [4], [4])
