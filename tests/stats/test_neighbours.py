"""The mean nearest neighbour among so many, against all the draws there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from askew.errors import NotEnoughData
from askew.stats.neighbours import nearest_similarity


@given(arrays(float, (3, 6), elements=st.floats(-1, 1)), st.integers(1, 6))
def test_it_is_the_mean_over_all_draws(similarity: np.ndarray, among: int) -> None:
    draws = [similarity[:, list(columns)].max(axis=1) for columns in combinations(range(6), among)]
    assert nearest_similarity(similarity, among) == pytest.approx(np.mean(draws, axis=0), abs=1e-9)


def test_more_neighbours_than_there_are_cannot_be_asked() -> None:
    for among in (0, 4):
        with pytest.raises(NotEnoughData):
            nearest_similarity(np.ones((2, 3)), among)
    with pytest.raises(ValueError, match="rows"):
        nearest_similarity([1.0], 1)
