"""Changes that the benchmark of downstream tasks shows with the opposite sign."""

from __future__ import annotations

from askew.types import Estimate
from benchmarks.downstream_truth import _negated


def test_a_negated_change_has_the_opposite_mark() -> None:
    change = Estimate(0.3, 0.1, 0.4, 0.95, debiased=0.25)
    negated = _negated(change)
    assert (negated.value, negated.low, negated.high) == (-0.3, -0.4, -0.1)
    assert negated.mark == -0.25
