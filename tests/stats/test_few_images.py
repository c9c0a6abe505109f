"""Intervals need three images: resamples of one or two images are alike, so they would be too short."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.stats.association_differences import association_differences
from askew.stats.association_intervals import Associations, associations
from askew.stats.clustered import clustered_mean, clustered_mean_difference
from askew.stats.differences import dependence_change
from askew.stats.gap import gap_estimate
from askew.stats.intervals import LEAST_IMAGES, Floats, ends, from_enough, sure_ends
from askew.stats.means import mean_cas, mean_cas_contrast, student_mean
from askew.stats.overlap import entanglement
from askew.stats.paired_sets import PairedSets
from askew.types import Estimate

FEW = pytest.mark.parametrize("images", [1, 2, 3])


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def image_set(images: int, seed: int) -> Floats:
    """Counts of five concepts, of which each image has some."""
    counts = np.random.default_rng(seed).integers(0, 2, (images, 5)).astype(float)
    counts[:, 0] = 1
    return counts


def scores_of(images: int, embedded: bool) -> Associations:
    sets = [image_set(images if seed == 1 else 6, seed) for seed in range(4)]
    return associations(sets[0], sets[1:], rng=rng(), draws=50, embedded=embedded)


def all_estimates(scores: Associations) -> list[Estimate]:
    spreads = [scores.mad, scores.wasserstein, scores.standard_deviation]
    return [*scores.cas, *scores.cas_contrast, *spreads]


def check(estimate: Estimate, images: int) -> None:
    """An interval is present from three images, and is absent below, also from its record."""
    has_interval = images >= LEAST_IMAGES
    for part in (estimate.low, estimate.high, estimate.level, estimate.interval):
        assert (part is not None) == has_interval
    if not has_interval:
        assert estimate.mark == estimate.value
        assert ends(estimate) == (estimate.value, estimate.value)
        assert sure_ends(estimate) == (-np.inf, np.inf)


@FEW
@pytest.mark.parametrize("embedded", [False, True])
def test_association_scores_with_one_small_set(images: int, embedded: bool) -> None:
    for estimate in all_estimates(scores_of(images, embedded)):
        check(estimate, images)


@FEW
@pytest.mark.parametrize("embedded", [False, True])
def test_differences_of_association_scores(images: int, embedded: bool) -> None:
    sets = []
    for seed in range(3):
        first = image_set(6, 10 + seed)
        second = image_set(images, 20 + seed)
        if embedded:
            first /= np.linalg.norm(first, axis=1, keepdims=True)
            second /= np.linalg.norm(second, axis=1, keepdims=True)
        sets.append(PairedSets.of(first, second))
    compared = association_differences(sets, rng=rng(), draws=30, embedded=embedded)
    for estimate in (*compared.cas, compared.mad, compared.wasserstein):
        check(estimate, images)
        assert estimate.p is not None


@FEW
def test_means_over_input_images(images: int) -> None:
    values = np.arange(2.0 * images).reshape(images, 2)
    check(clustered_mean(values, rng=rng(), draws=30), images)
    check(clustered_mean_difference(values, values[:, :1], rng=rng(), draws=30), images)


@FEW
def test_the_score_of_covered_variations(images: int) -> None:
    similarity = np.random.default_rng(1).uniform(0.2, 0.9, (5, images))
    check(gap_estimate(similarity, rng=rng(), draws=30), images)
    check(gap_estimate(similarity.T, rng=rng(), draws=30), images)


@FEW
def test_overlap_of_masks(images: int) -> None:
    matrix = np.random.default_rng(1).uniform(0.1, 0.8, (images, images))
    check(entanglement(matrix, rng=rng(), draws=30)[0], images)


@FEW
def test_changes_of_dependence(images: int) -> None:
    rows = np.eye(4)[np.arange(images) % 4]
    check(dependence_change(PairedSets.of(rows, rows[::-1]), (2, 2), rng=rng(), draws=30), images)


@given(number=st.floats(-1, 1), copies=st.integers(1, 2))
@settings(max_examples=20, deadline=None)
def test_one_number_and_equal_numbers_have_no_interval(number: float, copies: int) -> None:
    mean = student_mean([number] * copies, null=0.0)
    assert mean.interval is None
    assert mean.p is None
    assert mean_cas([0.5] * copies, [0.1] * copies).interval is None
    assert mean_cas_contrast([0.5] * copies, [0.1] * copies).interval is None


def test_the_smallest_set_decides() -> None:
    estimate = Estimate(0.5, low=0.2, high=0.7, level=0.95, interval="bootstrap", debiased=0.4)
    assert from_enough(estimate, 3, 9) is estimate
    stripped = from_enough(estimate, 9, 2)
    assert stripped == Estimate(0.5)
