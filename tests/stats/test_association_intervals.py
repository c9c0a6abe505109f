"""CAS and MAD with intervals: values, properties, planted truth."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from askew.errors import NotEnoughData
from askew.stats.association import cas, cas_clip, mad, mad_max, standard_deviation, unit_vectors
from askew.stats.association_intervals import Associations, associations
from askew.stats.spread_intervals import SpreadMeasure, high_end, low_end
from askew.types import Estimate

WORDS = 0.9 / np.arange(1, 31) ** 0.9


def spread_interval(
    scores: np.ndarray, errors: np.ndarray, spread: SpreadMeasure, level: float
) -> tuple[float, float]:
    return low_end(scores, errors, spread, level), high_end(scores, errors, spread, level)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def pictures(value: int | np.ndarray, n: int, r: np.random.Generator, k: int = 3) -> np.ndarray:
    answer = np.eye(k)[np.broadcast_to(value, n)]
    return np.concatenate(
        [answer, np.eye(2)[r.integers(2, size=n)], r.random((n, len(WORDS))) < WORDS], axis=1
    )


def axis(skew: float, n: int, r: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
    values = np.where(r.random(n) < skew, 0, r.integers(3, size=n))
    return pictures(values, n, r), [pictures(k, n, r) for k in range(3)]


def inside(estimate: Estimate, truth: float) -> bool:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low - 1e-9 <= truth <= estimate.high + 1e-9


@pytest.mark.parametrize("variant", ["paper", "code"])
def test_values_are_the_plug_in_scores(variant: str) -> None:
    initial, sets = axis(0.8, 20, rng())
    estimate = associations(initial, sets, rng=rng(1), draws=100, variant=variant)  # type: ignore[arg-type]
    scores = np.array([cas(initial.mean(axis=0), s.mean(axis=0), variant) for s in sets])  # type: ignore[arg-type]
    assert [e.value for e in estimate.cas] == pytest.approx(list(scores))
    assert estimate.mad.value == pytest.approx(float(mad(scores, variant)))  # type: ignore[arg-type]
    assert estimate.wasserstein.value == pytest.approx(float(mad(scores, "code")))
    assert estimate.standard_deviation.value == pytest.approx(
        float(standard_deviation(scores, variant))
    )  # type: ignore[arg-type]
    assert estimate.mad.max == mad_max(3, variant)  # type: ignore[arg-type]
    assert (estimate.cas[0].n, estimate.mad.n) == (40, 80)


def test_every_estimate_is_complete() -> None:
    initial, sets = axis(0.5, 24, rng())
    estimate = associations(initial, sets, rng=rng(1), draws=200, missing=[2, 1, 0, 3])
    assert [e.missing for e in estimate.cas] == [3, 2, 5]
    assert estimate.mad.missing == 6
    for e in (estimate.mad, estimate.wasserstein, estimate.standard_deviation):
        assert e.null is not None
        assert e.p is not None
        assert e.max is not None
        assert e.corrected == pytest.approx((e.value - e.null) / (e.max - e.null))
    for e in (*estimate.cas, estimate.mad):
        assert e.low is not None
        assert e.high is not None
        assert 0 <= e.low <= e.high <= (e.max or 0) + 1e-12
    assert all(e.null is None and e.p is None for e in estimate.cas)


def test_the_same_generator_gives_the_same_result() -> None:
    initial, sets = axis(0.5, 24, rng())
    assert associations(initial, sets, rng=rng(5), draws=100) == associations(
        initial, sets, rng=rng(5), draws=100
    )


def ends(estimate: Associations) -> list[float]:
    return [e.low or 0.0 for e in (*estimate.cas, estimate.mad)] + [
        e.high or 0.0 for e in (*estimate.cas, estimate.mad)
    ]


def test_order_of_images_and_concepts_and_absent_concepts_do_not_matter() -> None:
    r = rng(3)
    initial, sets = axis(0.7, 30, r)
    base = associations(initial, sets, rng=rng(1), draws=1000)
    order = r.permutation(initial.shape[1])
    changed = [s[r.permutation(len(s))][:, order] for s in (initial, *sets)]
    wider = [np.concatenate([s, np.zeros((len(s), 4))], axis=1) for s in changed]
    again = associations(wider[0], wider[1:], rng=rng(2), draws=1000)
    assert again.mad.value == pytest.approx(base.mad.value)
    # the root of a difference near 0 magnifies the noise of draws
    squares = (
        np.square(ends(again)),
        np.square(ends(base)),
    )
    assert np.allclose(*squares, atol=0.06)
    assert again.mad.null == pytest.approx(base.mad.null, abs=0.02)


def test_the_order_of_counterfactuals_only_permutes_the_scores() -> None:
    initial, sets = axis(0.7, 30, rng(3))
    base = associations(initial, sets, rng=rng(1), draws=2000)
    again = associations(initial, sets[::-1], rng=rng(2), draws=2000)
    assert [e.value for e in again.cas[::-1]] == pytest.approx([e.value for e in base.cas])
    assert again.mad.value == pytest.approx(base.mad.value)
    assert again.mad.high == pytest.approx(base.mad.high, abs=0.05)


def test_equal_and_disjoint_sets_reach_the_two_ends() -> None:
    r = rng(4)
    equal = associations(
        pictures(0, 48, r), [pictures(0, 48, r), pictures(0, 48, r)], rng=r, draws=300
    )
    assert all(e.value < 0.95 and e.high == 1.0 for e in equal.cas)
    assert equal.mad.low == 0.0
    apart = associations(
        np.tile([1, 0, 0], (24, 1)), [np.tile(e, (24, 1)) for e in ([0, 1, 0], [0, 0, 1])], rng=r
    )
    assert [(e.value, e.low) for e in apart.cas] == [(0.0, 0.0)] * 2
    assert all(e.high is not None and e.high < 0.1 for e in apart.cas)


@pytest.mark.slow
def test_planted_truth_is_covered() -> None:
    """A short version of benchmarks/calibration_associations.py; a plain percentile interval covers about .3
    here.
    """
    truth = []
    fair = []
    r = rng(6)
    words = np.concatenate([[0.5, 0.5], WORDS])
    scores = [
        float(cas(np.concatenate([np.eye(3)[0], words]), np.concatenate([np.eye(3)[k], words])))
        for k in (0, 1)
    ]
    for _ in range(12):
        leaning = associations(*axis(1.0, 48, r), rng=r, draws=200)
        truth += [inside(leaning.cas[0], scores[0]), inside(leaning.cas[1], scores[1])]
        truth.append(inside(leaning.mad, float(mad([scores[0], scores[1], scores[1]]))))
        fair.append(associations(*axis(0.0, 48, r), rng=r, draws=200).mad.low == 0.0)
    assert np.mean(truth) >= 0.85
    assert np.mean(fair) >= 0.80


def vectors(center: np.ndarray, n: int, r: np.random.Generator) -> np.ndarray:
    return center + r.normal(size=(n, np.shape(center)[-1]))


@pytest.mark.slow
def test_embedding_values_and_coverage() -> None:
    r = rng(7)
    centers = np.array([[4.0, 0, 0, 0, 1], [0, 4.0, 0, 0, 1], [0, 0, 4.0, 0, 1]])
    means = [unit_vectors(vectors(c, 50_000, r)).mean(axis=0) for c in centers]
    hits = []
    for _ in range(25):
        initial = vectors(centers[0], 30, r)
        sets = [vectors(c, 30, r) for c in centers]
        estimate = associations(initial, sets, rng=r, draws=300, embedded=True)
        assert [e.value for e in estimate.cas] == pytest.approx(
            [cas_clip(initial, s) for s in sets]
        )
        hits += [inside(e, float(means[0] @ m)) for e, m in zip(estimate.cas, means, strict=True)]
        assert estimate.mad.p is not None
        assert estimate.mad.p < 0.01
    assert 0.88 <= np.mean(hits) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    ("repeats", "slack"), [(40, 0.06), pytest.param(2000, 0.0, marks=pytest.mark.slow)]
)
def test_embeddings_of_a_fair_model_rarely_give_false_alarms(repeats: int, slack: float) -> None:
    r = rng(8)
    centers = 2 * np.eye(3, 8)
    p = []
    for _ in range(repeats):
        initial = vectors(centers[r.integers(3, size=48)], 48, r)
        p.append(
            associations(
                initial, [vectors(c, 48, r) for c in centers], rng=r, draws=200, embedded=True
            ).mad.p
            or 0
        )
    assert 0.02 - slack <= np.mean(np.array(p) < 0.05) <= 0.07 + slack


def test_too_little_data_is_refused() -> None:
    ones = np.ones((4, 3))
    with pytest.raises(NotEnoughData, match="but the number of sets is 1"):
        associations(ones, [ones], rng=rng())
    with pytest.raises(NotEnoughData, match="counterfactual set 1 is empty"):
        associations(ones, [ones, np.empty((0, 3))], rng=rng())
    with pytest.raises(NotEnoughData, match="concepts are 0"):
        associations(np.zeros((4, 3)), [ones, ones], rng=rng())
    with pytest.raises(ValueError, match="same columns"):
        associations(ones, [ones, np.ones((4, 2))], rng=rng())
    with pytest.raises(ValueError, match="negative"):
        associations(-ones, [ones, ones], rng=rng())
    with pytest.raises(ValueError, match="`missing` has 2 numbers"):
        associations(ones, [ones, ones], rng=rng(), missing=[0, 1])


def test_one_image_per_set_is_enough_for_an_estimate() -> None:
    estimate = associations(np.eye(3)[:1], [np.eye(3)[:1], np.eye(3)[1:2]], rng=rng(), draws=50)
    assert [e.value for e in estimate.cas] == [1.0, 0.0]


@pytest.mark.slow
def test_eight_axes_take_less_than_four_seconds_of_one_core() -> None:
    r = rng(9)
    initial = pictures(0, 48, r, k=6)
    sets = [pictures(k, 48, r, k=6) for k in range(6)]
    start = time.process_time()
    for _ in range(8):
        associations(initial, sets, rng=r)
    assert time.process_time() - start < 4


def half_difference(scores: np.ndarray) -> np.ndarray:
    return np.asarray(np.ptp(scores, axis=-1) / 2)


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.25, 0.6])
def test_two_scores_give_the_interval_of_a_folded_normal(gap: float) -> None:
    errors = np.random.default_rng(0).normal(size=(20_000, 2)) * 0.1
    errors -= errors.mean(axis=0)
    low, high = spread_interval(
        np.array([0.5 + gap / 2, 0.5 - gap / 2]), errors, half_difference, 0.95
    )
    sd = 0.1 * np.sqrt(2)

    def reach(true: float, share: float) -> float:
        return float(norm.cdf((gap - true) / sd) - norm.cdf((-gap - true) / sd)) - share

    expected_low = 0.0 if reach(0.0, 0.975) <= 0 else brentq(reach, 0.0, gap, args=(0.975,))
    assert low == pytest.approx(expected_low / 2, abs=0.01)
    gap = max(gap, sd * float(norm.isf(0.25)))  # the median under equality
    expected_high = brentq(reach, 0.0, gap + 1, args=(0.025,))
    assert high == pytest.approx(expected_high / 2, abs=0.01)


def test_without_errors_the_spread_is_known() -> None:
    scores = np.array([0.9, 0.4, 0.5])
    assert spread_interval(scores, np.zeros((10, 3)), mad, 0.95) == pytest.approx(
        (mad(scores), mad(scores)), abs=1e-3
    )


@pytest.mark.parametrize(
    "truth", [[0.5, 0.5, 0.5], [0.6, 0.5, 0.5], [0.9, 0.5, 0.4], [0.7, 0.7, 0.4, 0.4]]
)
def test_coverage(truth: list[float]) -> None:
    rng = np.random.default_rng(len(truth))
    scores = np.array(truth)
    hits = []
    for _ in range(80):
        errors = 0.05 * rng.normal(size=(300, len(truth)))
        low, high = spread_interval(scores + 0.05 * rng.normal(size=len(truth)), errors, mad, 0.95)
        hits.append(low - 1e-9 <= mad(scores) <= high + 1e-9)
    assert np.mean(hits) >= 0.9
