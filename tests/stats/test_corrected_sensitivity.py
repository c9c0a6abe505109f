"""Sensitivity behind an instrument that errs."""

from __future__ import annotations

import numpy as np
import pytest

from askew.errors import NotEnoughData
from askew.stats.corrected_sensitivity import corrected_interaction, corrected_table
from askew.stats.distance import sensitivity
from askew.stats.sensitivity import Pair, interactions
from askew.types import Missing

RATES = np.array([[0.8, 0.2], [0.15, 0.85]])
BEFORE, AFTER = np.array([0.9, 0.1]), np.array([[0.6, 0.4], [0.5, 0.5]])


def test_correction_comes_closer_to_the_truth_and_covers_it() -> None:
    rng = np.random.default_rng(0)
    truth = sensitivity(BEFORE, AFTER.mean(axis=0), [1, 1])
    pairs = [Pair(rng.multinomial(96, BEFORE @ RATES), rng.multinomial(96, AFTER @ RATES), [1, 1]) for _ in range(60)]
    plain = interactions(pairs, rng=rng, draws=80)
    found = [corrected_interaction(pair, rng.multinomial(100, RATES), rng=rng, draws=80) for pair in pairs]
    assert abs(np.mean([e.value for e in found]) - truth) < 0.4 * abs(np.mean([e.value for e in plain]) - truth)
    assert np.mean([e.low <= truth <= e.high for e in found]) >= 0.9
    assert np.mean([e.low <= truth <= e.high for e in plain]) < 0.75


def test_more_labels_give_a_narrower_interval() -> None:
    pair = Pair([90, 30], [[60, 60], [70, 50]], [1, 1])
    widths = []
    for labels in (20, 2000):
        found = corrected_interaction(pair, labels * RATES, rng=np.random.default_rng(1), draws=200)
        widths.append(found.high - found.low)
    assert widths[1] < 0.8 * widths[0]


def test_a_perfect_instrument_changes_hardly_anything() -> None:
    pair = Pair([40, 8, 12], [[20, 20, 20], [18, 22, 20]], [1, 1, 1], "wasserstein")
    (plain,) = interactions([pair], rng=np.random.default_rng(0), draws=300)
    found = corrected_interaction(pair, 1000 * np.eye(3), rng=np.random.default_rng(0), draws=300)
    for name in ("value", "low", "high"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), abs=0.04)
    assert "corrected" in found.interval


def test_tables_keep_their_sums() -> None:
    table = corrected_table([[70, 30], [40, 60]], 1000 * RATES)
    assert table.sum(axis=1) == pytest.approx([100, 100])
    assert table @ RATES == pytest.approx(np.array([[70, 30], [40, 60]]))


def test_what_cannot_be_corrected() -> None:
    rng = np.random.default_rng(0)
    assert isinstance(corrected_interaction(Pair([0, 0], [[1, 1]], [1, 1]), RATES, rng=rng), Missing)
    with pytest.raises(NotEnoughData):
        corrected_interaction(Pair([1, 1], [[1, 1]], [1, 1]), [[5, 0], [0, 0]], rng=rng)
