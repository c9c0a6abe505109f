"""Labels against requests: all permutations of the labels, and planted mitigations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from askew.stats.following import followed

CODES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6)


def table_of(pairs: list[tuple[int, int]], values: int = 3) -> np.ndarray:
    table = np.zeros((values, values), dtype=int)
    for requested, label in pairs:
        table[requested, label] += 1
    return table


@given(CODES)
def test_p_is_the_share_of_permutations(pairs: list[tuple[int, int]]) -> None:
    result = followed(table_of(pairs))
    requests = [requested for requested, _ in pairs]
    agreeing = []
    for labels in permutations([label for _, label in pairs]):
        agreeing.append(sum(a == b for a, b in zip(requests, labels, strict=True)))
    observed = sum(a == b for a, b in pairs)
    assert result.rate.value == observed / len(pairs)
    assert result.rate.null == pytest.approx(np.mean(agreeing) / len(pairs))
    assert result.rate.p == pytest.approx(np.mean(np.array(agreeing) >= observed), abs=0.03)
    assert result.below_p == pytest.approx(np.mean(np.array(agreeing) <= observed), abs=0.03)


@given(st.lists(st.integers(0, 12), min_size=4, max_size=4).filter(any))
def test_two_values_are_fishers_test(counts: list[int]) -> None:
    table = np.array(counts).reshape(2, 2)
    result = followed(table)
    assert result.rate.p == pytest.approx(fisher_exact(table, alternative="greater").pvalue)
    assert result.below_p == pytest.approx(fisher_exact(table, alternative="less").pvalue)
    assert result.least_p <= (result.rate.p or 0) + 1e-9
    mirrored = followed(table[::-1, ::-1])
    assert mirrored.rate.p == pytest.approx(result.rate.p)


@pytest.mark.parametrize(
    ("table", "verdict"),
    [
        ([[22, 0], [0, 2]], "followed"),
        ([[21, 1], [0, 2]], "followed"),
        ([[0, 22], [2, 0]], "less_than_by_chance"),
        ([[2, 20], [0, 2]], "fewer_than_asked"),
        ([[12, 12], [12, 12]], "no_more_than_by_chance"),
        ([[10, 14], [0, 24]], "fewer_than_asked"),
        ([[24, 0], [0, 0]], "followed"),
        ([[23, 1], [0, 0]], "followed"),
        ([[4, 20], [0, 0]], "fewer_than_asked"),
        ([[2, 0], [0, 2]], "followed"),
        ([[0, 2], [2, 0]], "no_more_than_by_chance"),
    ],
)
def test_verdicts(table: list[list[int]], verdict: str) -> None:
    assert followed(table).verdict == verdict


def test_labels_that_ignore_requests_rarely_follow_more_than_by_chance() -> None:
    rng = np.random.default_rng(0)
    significant = 0
    for _ in range(300):
        pairs = np.stack([rng.integers(0, 2, 40), rng.random(40) < 0.3], axis=1).astype(int)
        significant += (followed(table_of(pairs.tolist(), 2)).rate.p or 0) < 0.05
    assert significant / 300 <= 0.07


def test_labels_with_few_errors_are_followed() -> None:
    """Three of a hundred labels are wrong; a mitigation that works is seldom named."""
    rng = np.random.default_rng(1)
    named = 0
    for _ in range(200):
        requests = (rng.random(48) < 0.5).astype(int)
        labels = np.where(rng.random(48) < 0.03, 1 - requests, requests)
        pairs = np.stack([requests, labels], axis=1)
        named += followed(table_of(pairs.tolist(), 2)).verdict != "followed"
    assert named / 200 <= 0.03


def test_a_table_needs_images() -> None:
    with pytest.raises(ValueError, match="must be square"):
        followed([[0, 0], [0, 0]])
    with pytest.raises(ValueError, match="must be square"):
        followed([[1, 0]])
