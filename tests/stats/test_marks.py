"""The mark of a score lies in its interval, nearer to the population's score than the plug-in
value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from askew.stats.association import cas
from askew.stats.association_differences import association_differences
from askew.stats.association_intervals import associations
from askew.stats.confusion import corrected_share_intervals
from askew.stats.differences import (
    distance_difference,
    risk_difference,
    share_difference,
)
from askew.stats.distance import DISTANCES
from askew.stats.paired_sets import PairedSets
from askew.stats.sensitivity import AxisPairSample, interactions
from askew.stats.shares import distance_estimate, share_intervals
from askew.types import Estimate

TABLES = 2000


def counts(rng: np.random.Generator, k: int) -> np.ndarray:
    """Return the counts of 1 to 40 images, from shares between uniform and very uneven."""
    return rng.multinomial(
        rng.integers(1, 40), rng.dirichlet(np.full(k, rng.choice([0.2, 1.0, 20.0])))
    )


def words(rng: np.random.Generator) -> np.ndarray:
    """Return concept counts of 3 to 12 images; all of them contain the first concept."""
    rows = rng.random((rng.integers(3, 12), 5)) < rng.random(5)
    return np.column_stack([np.ones(len(rows)), rows])


def of_shares(rng: np.random.Generator) -> list[Estimate]:
    k = int(rng.integers(2, 6))
    seen = counts(rng, k)
    name = list(DISTANCES)[int(rng.integers(3))]
    reference = np.ones(k) if name == "values" else rng.dirichlet(np.ones(k))
    a, b, c = (int(x) for x in counts(rng, 3))
    corrected = corrected_share_intervals(seen, np.eye(k) * 9 + 1, rng=rng, draws=20)
    estimates = [
        distance_estimate(seen, reference, distance=name, rng=rng, draws=20),
        risk_difference(a, b, a + b + c),
    ]
    return [*estimates, *share_intervals(seen), *corrected]


def of_differences(rng: np.random.Generator) -> list[Estimate]:
    k = int(rng.integers(2, 6))
    a = counts(rng, k)
    b = counts(rng, k)
    sets = PairedSets.of_counts(a, b)
    return [share_difference(sets, 0), distance_difference(sets, np.ones(k), rng=rng, draws=20)]


def of_interactions(rng: np.random.Generator) -> list[Estimate]:
    k = int(rng.integers(2, 5))
    pair = AxisPairSample(counts(rng, k), np.stack([counts(rng, k) for _ in range(3)]), np.ones(k))
    return [
        interaction
        for interaction in interactions([pair], rng=rng, draws=20)
        if isinstance(interaction, Estimate)
    ]


def of_concepts(rng: np.random.Generator) -> list[Estimate]:
    estimate = associations(
        words(rng), [words(rng) for _ in range(rng.integers(2, 4))], rng=rng, draws=20
    )
    return [*estimate.cas, estimate.mad, estimate.wasserstein, estimate.standard_deviation]


def of_embeddings(rng: np.random.Generator) -> list[Estimate]:
    sets = [rng.normal(rng.random(3), 1.0, (rng.integers(3, 12), 3)) for _ in range(3)]
    estimate = associations(sets[0], sets[1:], rng=rng, draws=20, embedded=True)
    return [*estimate.cas, estimate.mad, estimate.wasserstein, estimate.standard_deviation]


def of_comparisons(rng: np.random.Generator) -> list[Estimate]:
    sets = [PairedSets.of(words(rng), words(rng)) for _ in range(3)]
    differences = association_differences(sets, rng=rng, draws=10)
    return [*differences.cas, differences.mad]


FEW = {
    of_shares: 15,
    of_differences: 20,
    of_interactions: 15,
    of_embeddings: 15,
    of_concepts: 10,
    of_comparisons: 4,
}
"""Number of tables of each score in the suite; the slow tests use all."""


@pytest.mark.parametrize(
    ("scores", "tables"),
    [*FEW.items(), *(pytest.param(scores, TABLES, marks=pytest.mark.slow) for scores in FEW)],
)
def test_marks_lie_inside_their_intervals(
    scores: Callable[[np.random.Generator], list[Estimate]], tables: int
) -> None:
    for seed in range(tables):
        for score in scores(np.random.default_rng(seed)):
            assert score.low is not None
            assert score.high is not None
            assert score.low <= score.mark <= score.high


@pytest.mark.slow
def test_a_distance_of_few_images_is_marked_near_the_populations() -> None:
    rng = np.random.default_rng(0)
    p = [0.3, 0.25, 0.2, 0.15, 0.1]
    reference = np.ones(5)
    distance_estimates = [
        distance_estimate(rng.multinomial(24, p), reference, rng=rng, draws=200) for _ in range(100)
    ]
    truth = 0.15
    values = [e.value for e in distance_estimates]
    marks = [e.mark for e in distance_estimates]
    assert np.median(values) > truth + 0.03
    assert abs(np.median(marks) - truth) < 0.035


@pytest.mark.slow
def test_association_scores_of_few_images_are_marked_near_the_populations() -> None:
    """Two values are a concept each, twenty concepts do not differ, the baseline set is fair."""
    rng = np.random.default_rng(1)
    first, second = (
        np.concatenate([value, rng.uniform(0.1, 0.6, 20)]) for value in ([0.95, 0.05], [0.05, 0.95])
    )
    second[2:] = first[2:]
    populations = [(first + second) / 2, first, second]
    truth = float(cas(populations[0], first))
    cas_found = []
    mad_found = []
    for _ in range(30):
        initial, *others = ((rng.random((48, 22)) < p).astype(float) for p in populations)
        estimate = associations(initial, others, rng=rng, draws=100)
        cas_found.append(estimate.cas[0])
        mad_found.append(estimate.mad)
    assert np.mean([e.value for e in cas_found]) < truth - 0.1
    assert abs(np.mean([e.mark for e in cas_found]) - truth) < 0.05
    assert np.median([e.value for e in mad_found]) > 0.1
    # one half, if it were median-unbiased
    assert np.mean([e.mark < 0.03 for e in mad_found]) > 0.35
