"""Paired differences agree with other packages and cover the truth of known populations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import binom, wasserstein_distance
from statsmodels.stats.contingency_tables import mcnemar

from askew.errors import NotEnoughData
from askew.stats.association import cas, mad, unit_vectors
from askew.stats.association_differences import AssociationDifferences, association_differences
from askew.stats.differences import distance_difference, share_difference
from askew.stats.paired_sets import PairedSets
from askew.types import Estimate
from benchmarks import calibration_comparison

CODES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


def answers(
    first: Sequence[int], second: Sequence[int], values: int = 3, paired: bool = True
) -> PairedSets:
    keys = [range(len(first)), range(len(second))] if paired else [None, None]
    return PairedSets.of(np.eye(values)[list(first)], np.eye(values)[list(second)], *keys)


def table(both: int, first_only: int, second_only: int, neither: int) -> PairedSets:
    """Return pairs of labels of two values, counted by which runs show the value."""
    cells = [(0, 0)] * both + [(0, 1)] * first_only + [(1, 0)] * second_only + [(1, 1)] * neither
    return answers(*zip(*cells, strict=True), values=2)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(1, 9))
def test_p_of_complete_pairs_is_mcnemars_mid_p(
    both: int, first: int, second: int, neither: int
) -> None:
    estimate = share_difference(table(both, first, second, neither), 0)
    exact = mcnemar([[both, first], [second, neither]], exact=True).pvalue
    expected = 1.0 if exact == 1 else exact - binom.pmf(first, first + second, 0.5)
    assert estimate.p == pytest.approx(expected)
    assert estimate.value == pytest.approx((first - second) / (both + first + second + neither))


def wilson(k: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z = 1.959963984540054
    center = 2 * k + z * z
    reach = z * math.sqrt(z * z + 4 * k * (n - k) / n)
    return (center - reach) / (2 * (n + z * z)), (center + reach) / (2 * (n + z * z))


def test_the_interval_is_newcombes_tenth_method() -> None:
    # Newcombe (1998), "Improved confidence intervals for the difference between binomial
    # proportions based on paired data": his formulas with this table, computed by hand below.
    n = 50
    x = 48
    y = 38
    low_x, high_x = wilson(x, n)
    low_y, high_y = wilson(y, n)
    phi = (36 * 0 - 12 * 2) / math.sqrt(x * 2 * y * 12)
    down = (x / n - low_x, high_y - y / n)
    up = (high_x - x / n, y / n - low_y)
    low, high = (
        sign * math.sqrt(a * a - 2 * phi * a * b + b * b) + 0.2
        for sign, (a, b) in ((-1, down), (1, up))
    )
    estimate = share_difference(table(36, 12, 2, 0), 0)
    assert (estimate.low, estimate.high) == (pytest.approx(low), pytest.approx(high))
    assert low == pytest.approx(0.0569, abs=5e-4)  # as printed in his table
    assert high == pytest.approx(0.3404, abs=5e-4)


def test_images_without_a_partner_count_as_independent() -> None:
    first = [0] * 9 + [1] * 3
    second = [0] * 4 + [1] * 12
    alone = share_difference(answers(first, second, 2, paired=False), 0)
    assert alone == share_difference(PairedSets.of_counts([9, 3], [4, 12]), 0)
    one_pair = PairedSets.of(
        np.eye(2)[first], np.eye(2)[second], [1] + [None] * 11, [1] + [None] * 15
    )
    estimate = share_difference(one_pair, 0)
    assert (estimate.low, estimate.high) == (pytest.approx(alone.low), pytest.approx(alone.high))
    assert estimate.p == pytest.approx(alone.p, abs=0.03)


def test_mid_p_with_missing_partners_counts_all_assignments() -> None:
    sets = PairedSets.of(
        [[1.0], [0.0], [1.0], [1.0]], [[0.0], [1.0], [0.0]], [1, 2, None, None], [1, 2, None]
    )
    ways = []
    for swaps in range(4):  # both pairs differ
        pair_sum = [(1, 0), (0, 1), (1, 0), (0, 1)]
        a = sum(
            pair_sum[2 * k + (swaps >> k & 1)][0] if k == 0 else pair_sum[1 - (swaps >> k & 1)][0]
            for k in (0, 1)
        )
        for left in ([1, 1], [1, 0], [1, 0]):  # two of the remaining 1, 1, 0 go to the first set
            first = a + sum(left)
            second = 2 - a + 2 - sum(left)
            ways.append(abs(first / 4 - second / 3))
    observed = abs(3 / 4 - 1 / 3)
    reached = np.mean(np.array(ways) >= observed - 1e-9)
    exceeded = np.mean(np.array(ways) > observed + 1e-9)
    expected = (reached + exceeded) / 2
    assert share_difference(sets, 0).p == pytest.approx(expected)


def concepts(rng: np.random.Generator, n: int = 12, count: int = 3) -> list[np.ndarray]:
    return [rng.integers(0, 2, (n, 5)) for _ in range(count)]


def associated(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], seed: int = 0
) -> list[Estimate]:
    keys = range(len(first[0]))
    sets = [PairedSets.of(a, b, keys, keys) for a, b in zip(first, second, strict=True)]
    differences = association_differences(sets, rng=np.random.default_rng(seed), draws=100)
    return [*differences.cas, differences.mad]


def check_nothing(estimate: Estimate) -> None:
    assert (estimate.value, estimate.p) == (0.0, 1.0)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low == pytest.approx(-estimate.high)
    assert estimate.high >= 0


def check_turned(estimate: Estimate, other: Estimate) -> None:
    assert (estimate.value, estimate.low, estimate.high, estimate.p) == (
        pytest.approx(-other.value),
        pytest.approx(-other.high),
        pytest.approx(-other.low),
        other.p,
    )


@settings(max_examples=10)
@given(CODES)
def test_a_run_does_not_differ_from_itself(pairs: list[tuple[int, int]]) -> None:
    codes = [a for a, _ in pairs]
    sets = answers(codes, codes)
    for value in range(3):
        check_nothing(share_difference(sets, value))
    check_nothing(distance_difference(sets, [1, 1, 1], rng=np.random.default_rng(0), draws=50))


@settings(max_examples=10)
@given(CODES)
def test_swapped_runs_give_the_same_with_the_other_sign(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    for value in range(3):
        check_turned(
            share_difference(answers(first, second), value),
            share_difference(answers(second, first), value),
        )
    forth, back = (
        distance_difference(sets, [1, 1, 1], rng=np.random.default_rng(0), draws=50)
        for sets in (answers(first, second), answers(second, first))
    )
    check_turned(forth, back)


@settings(max_examples=3)
@given(st.integers(0, 1000))
def test_associations_of_a_run_with_itself_and_of_swapped_runs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = concepts(rng)
    second = concepts(rng)
    for entry in associated(first, first):
        check_nothing(entry)
    for forth, back in zip(associated(first, second), associated(second, first), strict=True):
        check_turned(forth, back)


def test_p_of_associations_counts_all_exchanges() -> None:
    rng = np.random.default_rng(4)
    first = concepts(rng, n=2)
    second = concepts(rng, n=2)
    for rows in (*first, *second):
        rows[:, 0] = 1  # no set without a concept
    estimates = associated(first, second)

    def scores(sets: Sequence[np.ndarray]) -> np.ndarray:
        c = np.array([cas(sets[0].mean(axis=0), other.mean(axis=0)) for other in sets[1:]])
        return np.append(c, mad(c))

    differences = []
    for code in range(2**6):
        bits = np.array([code >> k & 1 for k in range(6)]).reshape(3, 2, 1)
        entry = [np.where(bit, b, a) for bit, a, b in zip(bits, first, second, strict=True)]
        other = [np.where(bit, a, b) for bit, a, b in zip(bits, first, second, strict=True)]
        differences.append(np.abs(scores(entry) - scores(other)))
    expected = (np.array(differences) >= differences[0] - 1e-9).mean(axis=0)
    assert [e.p for e in estimates] == pytest.approx(expected, abs=0.07)


def test_pairing_narrows_the_interval_and_sharpens_the_test() -> None:
    rng = np.random.default_rng(0)
    sets = calibration_comparison.answered(rng, 60, [0.6, 0.4], [0.45, 0.55], 0.95)
    paired = share_difference(sets, 0)
    apart = share_difference(PairedSets.of(sets.first, sets.second), 0)
    assert paired.value == pytest.approx(apart.value)
    assert paired.high - paired.low < 0.75 * (apart.high - apart.low)
    assert paired.p < apart.p
    reference = [0.1, 0.9]
    how = {"draws": 400}
    near = distance_difference(sets, reference, rng=np.random.default_rng(0), **how)
    far = distance_difference(
        PairedSets.of(sets.first, sets.second), reference, rng=np.random.default_rng(0), **how
    )
    assert near.high - near.low < 0.75 * (far.high - far.low)


@pytest.mark.slow
def test_differences_are_covered() -> None:
    share, distance = calibration_comparison.share_and_distance(".85; .2, mirrored", 60, draws=80)
    assert min(share.coverage, distance.coverage) >= 0.87


@pytest.mark.slow
@pytest.mark.parametrize("case", calibration_comparison.ANSWERS)
def test_differences_are_covered_closely(case: str) -> None:
    share, distance = calibration_comparison.share_and_distance(case, 400)
    assert min(share.coverage, distance.coverage) >= 0.91
    if calibration_comparison.ANSWERS[case][0] == calibration_comparison.ANSWERS[case][1]:
        assert distance.alarms <= 0.08


@pytest.mark.slow
@pytest.mark.parametrize("case", calibration_comparison.BIASES)
def test_differences_of_associations_are_covered(case: str) -> None:
    tallies = calibration_comparison.concept_scores(case, 150, draws=200)
    assert min(tally.coverage for tally in tallies) >= 0.9
    a, b, _ = calibration_comparison.BIASES[case]
    if a == b:
        assert max(tally.alarms for tally in tallies) <= 0.1
    elif b == 0.5:
        assert tallies[1].alarms >= 0.9


def sets(pairs: int, alone: tuple[int, int], columns: int = 3, seed: int = 0) -> PairedSets:
    rng = np.random.default_rng(seed)
    first, second = (rng.integers(0, 3, (pairs + n, columns)) for n in alone)
    keys = list(range(pairs))
    return PairedSets.of(first, second, [*keys, *[None] * alone[0]], [*keys, *[None] * alone[1]])


def test_rows_with_equal_keys_are_paired_and_the_rest_is_kept() -> None:
    estimate = PairedSets.of([[1.0], [2.0], [3.0]], [[30.0], [10.0], [50.0]], [1, 2, 3], [3, 1, 5])
    assert estimate.pairs[..., 0].tolist() == [[1, 3], [10, 30]]
    assert [rows[:, 0].tolist() for rows in estimate.rest] == [[2], [50]]
    assert len(estimate) == 2
    assert (estimate.first.sum(), estimate.second.sum()) == (6, 90)


@given(st.integers(0, 6), st.integers(0, 4), st.integers(0, 4), st.randoms(use_true_random=False))
def test_the_order_of_the_images_does_not_matter(
    pairs: int, a: int, b: int, shuffle: object
) -> None:
    if not (pairs + a and pairs + b):
        return
    rng = np.random.default_rng(1)
    first = rng.integers(0, 3, (pairs + a, 2))
    second = rng.integers(0, 3, (pairs + b, 2))
    keys = [[*range(pairs), *[None] * n] for n in (a, b)]
    orders = [list(range(len(rows))) for rows in (first, second)]
    for order in orders:
        shuffle.shuffle(order)  # type: ignore[attr-defined]
    moved = PairedSets.of(
        first[orders[0]],
        second[orders[1]],
        [keys[0][k] for k in orders[0]],
        [keys[1][k] for k in orders[1]],
    )
    original = PairedSets.of(first, second, *keys)
    for draw in ("resampled", "exchanged"):
        estimate, expected = (
            getattr(s, draw)(7, np.random.default_rng(3)) for s in (moved, original)
        )
        assert np.array_equal(estimate[0], expected[0])
        assert np.array_equal(estimate[1], expected[1])


def test_an_exchange_keeps_the_rows_of_a_pair_together() -> None:
    estimate = sets(5, (3, 6))
    first, second = estimate.exchanged(500, np.random.default_rng(0))
    n = len(estimate.first)
    m = len(estimate.second)
    total = estimate.first.sum(axis=0) + estimate.second.sum(axis=0)
    assert np.allclose(first * n + second * m, total)
    assert len(np.unique(first[:, 0])) > 5


def test_one_pair_has_two_equally_likely_exchanges() -> None:
    estimate = PairedSets.of([[1.0, 0.0]], [[0.0, 1.0]], [1], [1])
    first, second = estimate.exchanged(2000, np.random.default_rng(0))
    assert set(map(tuple, first)) == {(1.0, 0.0), (0.0, 1.0)}
    assert np.array_equal(first, second[:, ::-1])
    assert first[:, 0].mean() == pytest.approx(0.5, abs=0.05)


def test_resampled_means_are_correlated_only_for_pairs() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((30, 1))
    keys = list(range(30))
    together = PairedSets.of(rows, rows + 1, keys, keys).resampled(400, rng)
    apart = PairedSets.of(rows, rows + 1).resampled(400, rng)
    assert np.allclose(together[0] + 1, together[1])
    assert abs(np.corrcoef(apart[0][:, 0], apart[1][:, 0])[0, 1]) < 0.15
    assert apart[0].std() == pytest.approx(rows.std() / np.sqrt(30), rel=0.15)


def test_invalid_input_is_refused() -> None:
    with pytest.raises(NotEnoughData):
        PairedSets.of(np.zeros((0, 2)), np.ones((1, 2)))
    with pytest.raises(ValueError, match="2 and 3 columns"):
        PairedSets.of(np.ones((1, 2)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="twice"):
        PairedSets.of(np.ones((2, 2)), np.ones((1, 2)), [4, 4], [4])
    with pytest.raises(ValueError, match="1 keys for 2"):
        PairedSets.of(np.ones((2, 2)), np.ones((1, 2)), [4], [4])


def embeddings(rng: np.random.Generator, n: int, shift: float) -> list[np.ndarray]:
    """Return unit vectors of a baseline set that is near to the first of two counterfactual sets."""
    centers = np.eye(6)[:2] * 2
    baseline = (0.5 + shift / 2) * centers[0] + (0.5 - shift / 2) * centers[1]
    drawn = [center + rng.normal(size=(n, 6)) * 0.4 for center in (baseline, *centers)]
    return [unit_vectors(rows) for rows in drawn]


def compared_embeddings(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], draws: int = 200
) -> AssociationDifferences:
    keys = range(len(first[0]))
    sets = [PairedSets.of(a, b, keys, keys) for a, b in zip(first, second, strict=True)]
    rng = np.random.default_rng(3)
    return association_differences(sets, rng=rng, draws=draws, embedded=True)


def test_the_difference_of_cas_by_embedding_is_that_of_mean_cosines() -> None:
    rng = np.random.default_rng(5)
    first = embeddings(rng, 12, 0.8)
    second = embeddings(rng, 12, 0.0)
    scores = compared_embeddings(first, second)
    for place, estimate in enumerate(scores.cas, start=1):
        of_first = 1 - cdist(first[0], first[place], "cosine").mean()
        of_second = 1 - cdist(second[0], second[place], "cosine").mean()
        assert estimate.value == pytest.approx(of_first - of_second)
    assert scores.cas[0].value > 0 > scores.cas[1].value
    assert scores.mad.value > 0
    assert scores.mad.p is not None
    assert scores.mad.p < 0.05


def test_p_of_a_difference_by_embedding_counts_all_exchanges_of_pairs() -> None:
    """The counterfactual images of both models are equal, so only the baseline images count."""
    rng = np.random.default_rng(8)
    first = embeddings(rng, 5, 0.4)
    second = [embeddings(rng, 5, 0.0)[0], *first[1:]]
    pairs = np.stack([first[0], second[0]])
    other = first[1].mean(axis=0)
    gaps = []
    for swaps in product((0, 1), repeat=5):
        places = np.array(swaps)
        a = pairs[places, np.arange(5)].mean(axis=0)
        b = pairs[1 - places, np.arange(5)].mean(axis=0)
        gaps.append(abs((a - b) @ other))
    expected = np.mean(np.array(gaps) >= gaps[0] - 1e-9)
    estimate = compared_embeddings(first, second, draws=2000).cas[0]
    assert estimate.p == pytest.approx(expected, abs=0.02)


def test_alternatives_to_mad_are_compared_as_scipy_computes_them() -> None:
    """Without sampling error, plug-in and median-unbiased scores agree."""
    rows = {"far": [10.0, 0.0, 0.0], "near": [6.0, 2.0, 2.0], "even": [4.0, 3.0, 3.0]}
    counterfactuals = [np.array([rows["far"]] * 8), np.array([[0.0, 10.0, 0.0]] * 8)]
    first = [np.array([rows["near"]] * 8), *counterfactuals]
    second = [np.array([rows["even"]] * 8), *counterfactuals]
    keys = range(8)
    sets = [PairedSets.of(a, b, keys, keys) for a, b in zip(first, second, strict=True)]
    scores = association_differences(sets, rng=np.random.default_rng(0), draws=100)

    def spreads(baseline: np.ndarray) -> tuple[float, float]:
        similarities = np.array([cas(baseline[0], other[0]) for other in counterfactuals])
        shares = similarities / similarities.sum()
        w1 = wasserstein_distance(shares, [0.5, 0.5])
        return math.sqrt(w1 / 0.5), math.sqrt(np.std(similarities) / 0.5)

    of_first = spreads(first[0])
    of_second = spreads(second[0])
    assert scores.wasserstein.value == pytest.approx(of_first[0] - of_second[0], abs=0.02)
    assert scores.standard_deviation.value == pytest.approx(of_first[1] - of_second[1], abs=0.02)
    assert scores.wasserstein.value > 0


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 1000))
def test_exchanged_models_have_opposite_differences_by_embedding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = embeddings(rng, 8, 0.5)
    second = embeddings(rng, 8, 0.1)
    forth = compared_embeddings(first, second, draws=50)
    back = compared_embeddings(second, first, draws=50)
    for a, b in zip(forth.cas, back.cas, strict=True):
        assert a.value == pytest.approx(-b.value)
    assert forth.mad.value == pytest.approx(-back.mad.value)
    same = compared_embeddings(first, first, draws=50)
    assert all((score.value, score.p) == (0.0, 1.0) for score in (*same.cas, same.mad))
