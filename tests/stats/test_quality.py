"""Distances between image sets, and dependence that a mitigation adds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats.contingency import association

from askew.errors import NotEnoughData
from askew.stats.contingency import cramers_v, raked
from askew.stats.differences import dependence_change, kernel_distance
from askew.stats.paired_sets import PairedSets
from slow_cases import quick_only


def plain_kernel_distance(a: np.ndarray, b: np.ndarray) -> float:
    def k(x: np.ndarray, y: np.ndarray) -> float:
        return float((x @ y / len(x) + 1) ** 3)

    apart = [(i, j) for i in range(len(a)) for j in range(len(a)) if i != j]
    return float(
        np.mean([k(a[i], a[j]) + k(b[i], b[j]) - k(a[i], b[j]) - k(b[i], a[j]) for i, j in apart])
    )


def test_the_kernel_distance_is_the_plain_double_sum() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(6, 4))
    b = rng.normal(0.5, 1, size=(6, 4))
    estimate = kernel_distance(a, b, rng=rng, draws=99)
    assert estimate.value == pytest.approx(plain_kernel_distance(a, b), abs=1e-12)
    with pytest.raises(NotEnoughData):
        kernel_distance(a[:1], b[:1], rng=rng)


@pytest.mark.parametrize("common", [0.0, 0.9])
def test_one_model_has_no_distance_from_itself_and_uniform_p_values(common: float) -> None:
    """Images of one seed may have much in common."""
    rng = np.random.default_rng(1)
    estimates = []
    for _ in range(200):
        noise = rng.normal(size=(2, 20, 8))
        seed = rng.normal(size=(20, 8))
        estimates.append(
            kernel_distance(*(common * seed + np.sqrt(1 - common**2) * noise), rng=rng, draws=199)
        )
    assert abs(np.mean([estimate.value for estimate in estimates])) < 3 * np.std(
        [estimate.value for estimate in estimates]
    ) / np.sqrt(200)
    assert np.mean([estimate.p <= 0.05 for estimate in estimates]) < 0.1
    assert (
        kernel_distance(rng.normal(size=(30, 8)), rng.normal(1, 1, size=(30, 8)), rng=rng).p < 0.01
    )


def test_cramers_v_is_scipys() -> None:
    rng = np.random.default_rng(2)
    tables = rng.integers(1, 30, size=(20, 3, 4))
    assert cramers_v(tables) == pytest.approx(
        [association(table, method="cramer") for table in tables]
    )
    assert cramers_v(np.array([[5, 5], [0, 0]])) == 0


def test_a_raked_table_has_new_shares_and_the_same_odds_ratios() -> None:
    was = np.array([[30.0, 10], [5, 5]])
    like = np.array([[10, 30], [30, 30]])
    estimate = raked(was, like)
    assert estimate.sum(axis=0) == pytest.approx(like.sum(axis=0) / 100)
    assert estimate.sum(axis=1) == pytest.approx(like.sum(axis=1) / 100)
    assert estimate[0, 0] * estimate[1, 1] / estimate[0, 1] / estimate[1, 0] == pytest.approx(3)
    assert raked(was, [[10, 0], [30, 0]])[:, 1] == pytest.approx([0, 0])


def cells(values: np.ndarray) -> np.ndarray:
    return np.eye(4)[values]


@pytest.mark.slow
@pytest.mark.parametrize("share", quick_only([0.8], [0.0, 0.8]))
def test_only_a_true_rise_of_dependence_is_significant(share: float) -> None:
    """A `share` of the images is the same before and after."""
    rng = np.random.default_rng(3)
    even = np.full(4, 0.25)
    built = np.array([0.45, 0.05, 0.05, 0.45])
    places = range(96)
    fair = []
    for _ in range(100):
        before, other = rng.choice(4, (2, 96), p=even)
        after = np.where(rng.random(96) < share, before, other)
        sets = PairedSets.of(cells(after), cells(before), places, places)
        fair.append(dependence_change(sets, (2, 2), rng=rng, draws=199).p <= 0.05)
    assert np.mean(fair) < 0.1
    before, after = (cells(rng.choice(4, 96, p=p)) for p in (even, built))
    seen = dependence_change(PairedSets.of(after, before, places, places), (2, 2), rng=rng)
    assert seen.p < 0.01
    assert 0 < seen.low <= seen.value <= seen.high
