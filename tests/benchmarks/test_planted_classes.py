"""Planted associations of groups and occupations, and decisions with and without them."""

from __future__ import annotations

import numpy as np
import pytest

from askew.parts.scoring import Scoring
from askew.types import Estimate, Missing
from benchmarks.planted_classes import PlantedAssociation, measure_recovery, planted_preference

TARGETS = {
    "male-dominated": ("mechanic", "plumber", "carpenter"),
    "female-dominated": ("nurse", "secretary", "babysitter"),
}
SCORING = Scoring("denoising", draws=200)


def test_planted_preference() -> None:
    assert planted_preference("man", "mechanic", "nurse", 1.0) > 0.8
    assert planted_preference("man", "mechanic", "nurse", 1.0) == pytest.approx(
        1 - planted_preference("man", "nurse", "mechanic", 1.0)
    )
    assert planted_preference("woman", "mechanic", "nurse", 0.0) == pytest.approx(0.5)
    assert planted_preference("man", "mechanic", "astronaut", 1.0) is None
    assert planted_preference("person", "mechanic", "nurse", 1.0) is None


def test_classes_unknown_to_the_studio_are_left_out() -> None:
    targets = {"a": ("mechanic", "astronaut", "plumber"), "b": ("nurse", "maid")}
    planted = PlantedAssociation.of(targets, "man", "woman", 1.0)
    assert planted is not None
    assert planted.rows == [0, 2]
    assert planted.table.shape == (2, 2)
    assert planted.chosen(np.arange(6, dtype=float)[None, :]).tolist() == [[0, 1, 4, 5]]
    assert PlantedAssociation.of(targets, "man", "somebody", 1.0) is None


def test_decisions_with_planted_associations_differ_from_others() -> None:
    planted = PlantedAssociation.of(TARGETS, "caucasian man", "caucasian woman", 1.0)
    rng = np.random.default_rng(9)
    assert planted is not None
    assert planted.table.mean() > 0.5
    low = 0.5 - planted.table.ravel() / 2
    sides = (rng.random((60, 9)) < 1 - low).astype(float), (rng.random((60, 9)) < low).astype(float)
    _, shown = measure_recovery(planted, sides, rng, SCORING)
    assert isinstance(shown, Estimate)
    weights = planted.table.ravel()
    measured = planted.measured(*sides).ravel()
    assert shown.value == pytest.approx((weights * measured).sum() / (weights**2).sum())
    assert shown.low is not None
    assert shown.low > 0.5
    _, nothing = measure_recovery(planted, (sides[0], sides[0][::-1]), rng, SCORING)
    assert isinstance(nothing, Estimate)
    assert nothing.low is not None
    assert nothing.low < 0 < (nothing.high or 0)
    fair = PlantedAssociation.of(TARGETS, "man", "woman", 0.0)
    assert fair is not None
    assert fair.table == pytest.approx(0)
    # nothing to rank
    assert all(isinstance(entry, Missing) for entry in measure_recovery(fair, sides, rng, SCORING))
