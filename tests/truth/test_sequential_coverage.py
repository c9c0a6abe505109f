"""Coverage of intervals after stopping, for winners of a search and for paired differences."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.sequential import Cell
from benchmarks.sequential_coverage import PairedCase, paired_coverage, winner_coverage

LEAST = 0.93


@pytest.mark.slow
@pytest.mark.parametrize("bias", [0.0, 0.25, 1.0])
def test_intervals_of_winners_contain_the_truth(bias: float) -> None:
    coverage = winner_coverage(bias, 60, np.random.default_rng(1))
    assert coverage.share >= LEAST
    assert coverage.deviation >= LEAST
    assert (coverage.significant > 0.5) == (bias > 0)


@pytest.mark.slow
@pytest.mark.parametrize("agreement", [0.0, 0.5])
def test_intervals_of_paired_differences_contain_the_truth(agreement: float) -> None:
    first = Cell("", "gender", np.array([0.5, 0.5]))
    second = Cell("", "gender", np.array([0.8, 0.2]))
    case = PairedCase("", first, second, agreement)
    assert paired_coverage(case, 200, np.random.default_rng(2)) >= LEAST
