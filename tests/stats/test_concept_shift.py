"""The interval of CAS at both ends, its paths and its curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from askew.stats.association import cas
from askew.stats.concept_shift import DENSE_STEPS, SPARSE_STEPS, ConceptShift, concept_shift
from askew.stats.intervals import bootstrap_errors

WORDS = 0.9 / np.arange(1, 16) ** 0.9


def shift_of(
    first: np.ndarray, second: np.ndarray, rng: np.random.Generator, draws: int = 200
) -> ConceptShift:
    errors = [bootstrap_errors(s, draws, rng) for s in (first, second)]
    return concept_shift(first, second, errors[0], errors[1], rng)


def interval_of(
    first: np.ndarray, second: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    return shift_of(first, second, rng).interval(0.95)[:2]


def coverage(p: np.ndarray, q: np.ndarray, n: int, repeats: int) -> float:
    rng = np.random.default_rng(n)
    truth = float(cas(p, q))
    hits = []
    for _ in range(repeats):
        samples = [(rng.random((n, len(w))) < w).astype(float) for w in (p, q)]
        low, high = interval_of(samples[0], samples[1], rng)
        hits.append(low - 1e-9 <= truth <= high + 1e-9)
    return float(np.mean(hits))


def test_the_score_is_cas() -> None:
    rng = np.random.default_rng(0)
    first = rng.random((20, 8))
    second = rng.random((30, 8))
    assert shift_of(first, second, rng).score == pytest.approx(
        float(cas(first.mean(axis=0), second.mean(axis=0)))
    )


@pytest.mark.parametrize(
    ("path", "observed"), [("sparse", SPARSE_STEPS == 1.0), ("dense", DENSE_STEPS == 1.0)]
)
def test_paths_lead_from_equality_to_the_observed_difference(
    path: str, observed: np.ndarray
) -> None:
    rng = np.random.default_rng(1)
    shift = shift_of(rng.random((30, 8)) * 0.5, rng.random((30, 8)), rng)
    populations = getattr(shift, path)()
    assert np.allclose(populations[0][observed], shift.difference)
    curve = shift.curve(populations, 0.95)
    for values in (curve.scores, curve.low, curve.median, curve.high):
        assert np.all(np.diff(values) <= 1e-12)
    assert np.all(curve.low <= curve.median)
    assert np.all(curve.median <= curve.high)


def test_at_the_start_of_the_sparse_path_the_sets_are_equal() -> None:
    rng = np.random.default_rng(2)
    shift = shift_of(rng.random((30, 8)), rng.random((30, 8)), rng)
    assert np.all(shift.sparse()[0][0] == 0)
    assert shift.curve(shift.sparse(), 0.95).scores[0] == 1.0


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (WORDS, WORDS),
        (WORDS, WORDS[::-1]),
        (WORDS, np.concatenate([[0.1], WORDS[1:]])),
        (np.eye(6)[0], np.eye(6)[1] + 0.03 * np.eye(6)[0]),
        (np.eye(6)[0], np.eye(6)[1]),
    ],
    ids=["equal", "reversed", "one word", "hardly anything shared", "nothing shared"],
)
@pytest.mark.parametrize(
    ("n", "repeats", "least"), [(24, 40, 0.85), pytest.param(48, 600, 0.93, marks=pytest.mark.slow)]
)
def test_coverage(p: np.ndarray, q: np.ndarray, n: int, repeats: int, least: float) -> None:
    assert coverage(p, q, n, repeats) >= least


def test_a_sample_more_equal_than_chance_allows_a_small_difference() -> None:
    rng = np.random.default_rng(3)
    pictures = (rng.random((48, 15)) < WORDS).astype(float)
    low, high = interval_of(pictures, pictures, rng)
    assert low < 0.9
    assert high == 1.0


def test_rounding_does_not_order_equally_different_concepts() -> None:
    rng = np.random.default_rng(1)
    shift = shift_of(
        (rng.random((12, 30)) < 0.5).astype(float), (rng.random((12, 30)) < 0.3).astype(float), rng
    )
    shaken = replace(
        shift, difference=shift.difference * (1 + rng.uniform(-3e-16, 3e-16, len(shift.difference)))
    )
    assert not np.array_equal(shift.difference, shaken.difference)
    assert shaken.sparse()[0] == pytest.approx(shift.sparse()[0], abs=1e-12)
