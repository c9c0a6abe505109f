"""Shares corrected for an instrument's errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from askew.errors import NotEnoughData
from askew.stats.confusion import ReadingErrors, corrected_share_intervals
from askew.stats.distance import sensitivity
from askew.stats.intervals import Floats
from askew.stats.sensitivity import (
    CORRECTED_INTERVAL,
    AxisPairSample,
    debiased_value,
    interactions,
    null_sizes,
)
from askew.types import Estimate, Missing


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    k = draw(st.integers(2, 6))
    cells = draw(st.lists(st.integers(0, 8), min_size=k * k, max_size=k * k))
    observed = draw(st.lists(st.integers(0, 30), min_size=k, max_size=k).filter(any))
    return np.array(observed), np.array(cells).reshape(k, k) + 9 * np.eye(k, dtype=int)


def rates(k: int, right: float) -> np.ndarray:
    table = np.full((k, k), (1 - right) / (k - 1))
    np.fill_diagonal(table, right)
    return table


def test_rows_are_distributions() -> None:
    np.testing.assert_allclose(ReadingErrors.of([[3, 1], [0, 5]]).rates, [[0.75, 0.25], [0, 1]])


@settings(max_examples=15)
@given(problems())
def test_it_is_the_least_squares_solution_on_the_simplex(
    problem: tuple[np.ndarray, np.ndarray],
) -> None:
    observed, table = problem
    shares = observed / observed.sum()
    matrix = (table / table.sum(axis=1, keepdims=True)).T
    estimate = ReadingErrors.of(table).shares(observed)
    assert estimate.sum() == pytest.approx(1)
    assert np.all(estimate >= 0)

    def loss(s: np.ndarray) -> float:
        return float(((matrix @ s - shares) ** 2).sum())

    k = len(shares)
    other = minimize(
        loss,
        np.full(k, 1 / k),
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert loss(estimate) <= loss(other.x) + 1e-9


@given(st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(any))
def test_expected_answers_give_back_the_true_shares(weights: list[int]) -> None:
    true = np.array(weights) / sum(weights)
    table = rates(4, 0.7) * 60
    np.testing.assert_allclose(
        ReadingErrors.of(table).shares(true @ rates(4, 0.7)), true, atol=1e-9
    )


def test_a_perfect_instrument_changes_nothing() -> None:
    np.testing.assert_allclose(ReadingErrors.of(np.eye(3) * 10).shares([5, 3, 2]), [0.5, 0.3, 0.2])


def test_indistinguishable_values_still_give_shares() -> None:
    shares = ReadingErrors.of([[5, 5], [5, 5]]).shares([6, 4])
    assert shares.sum() == pytest.approx(1)
    assert np.all(shares >= 0)


def test_intervals_are_wider_with_fewer_labels() -> None:
    few, many = (
        corrected_share_intervals(
            [30, 18], rates(2, 0.9) * labels, rng=np.random.default_rng(0), draws=1000
        )[0]
        for labels in (10, 1000)
    )
    assert few.value == pytest.approx(many.value)
    assert few.high - few.low > many.high - many.low > 0.2
    assert (few.n, few.max) == (48, 1)


def coverage(
    true: list[float], right: float, pictures: int, labels: int, repeats: int
) -> np.ndarray:
    rng = np.random.default_rng(5)
    p = np.array(true)
    table = rates(len(true), right)
    hits = np.zeros(len(p))
    for _ in range(repeats):
        answers = rng.multinomial(pictures, p @ table)
        confused = rng.multinomial(labels, table)
        all_estimates = corrected_share_intervals(answers, confused, rng=rng, draws=200)
        hits += [e.low - 1e-9 <= t <= e.high + 1e-9 for e, t in zip(all_estimates, p, strict=True)]
    return hits / repeats


def test_intervals_cover_the_true_shares() -> None:
    estimate = coverage([0.8, 0.2], 0.9, 48, 20, 150)
    assert np.all(estimate >= 0.9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("true", "right", "pictures", "labels"),
    [([0.5, 0.5], 0.9, 48, 20), ([0.97, 0.03], 0.9, 48, 20), ([0.6, 0.3, 0.1], 0.8, 200, 50)],
)
def test_intervals_cover_the_true_shares_closely(
    true: list[float], right: float, pictures: int, labels: int
) -> None:
    assert np.all(coverage(true, right, pictures, labels, 600) >= 0.92)


def test_invalid_counts_are_refused() -> None:
    with pytest.raises(NotEnoughData):
        ReadingErrors.of([[1, 1], [0, 0]])
    with pytest.raises(NotEnoughData):
        ReadingErrors.of(np.eye(2)).shares([0, 0])
    with pytest.raises(ValueError, match="shape"):
        ReadingErrors.of(np.eye(2)).shares([1, 1, 1])
    with pytest.raises(ValueError, match="shape"):
        ReadingErrors.of([[1, 2, 3], [1, 2, 3]])


RATES = np.array([[0.8, 0.2], [0.15, 0.85]])
BEFORE = np.array([0.9, 0.1])
AFTER = np.array([[0.6, 0.4], [0.5, 0.5]])


def estimates(pairs: list[AxisPairSample], seed: int = 0, draws: int = 100) -> list[Estimate]:
    all_estimates = interactions(pairs, rng=np.random.default_rng(seed), draws=draws)
    return [entry for entry in all_estimates if isinstance(entry, Estimate)]


def covered(all_estimates: list[Estimate], truth: float) -> float:
    return float(np.mean([(e.low or -1) <= truth <= (e.high or 1) for e in all_estimates]))


def noisy(
    rng: np.random.Generator, repeats: int, labels: int = 100
) -> tuple[list[AxisPairSample], list[AxisPairSample]]:
    """Return pairs labeled with errors: as labeled, and with so many reference labels of each
    value.
    """
    before = BEFORE @ RATES
    after = AFTER @ RATES
    plain = [
        AxisPairSample(rng.multinomial(96, before), rng.multinomial(96, after), [1, 1])
        for _ in range(repeats)
    ]
    known = [
        AxisPairSample(
            p.initial, p.counterfactual, p.reference, confusion=rng.multinomial(labels, RATES)
        )
        for p in plain
    ]
    return plain, known


@pytest.mark.slow
def test_correction_comes_closer_to_the_truth_and_covers_it() -> None:
    truth = float(sensitivity(BEFORE, AFTER.mean(axis=0), [1, 1]))
    plain, known = (estimates(pairs) for pairs in noisy(np.random.default_rng(0), 80))
    assert abs(np.mean([e.value for e in known]) - truth) < 0.4 * abs(
        np.mean([e.value for e in plain]) - truth
    )
    assert covered(known, truth) >= 0.9
    assert covered(plain, truth) < 0.75
    assert {e.interval for e in known} == {CORRECTED_INTERVAL}


@pytest.mark.slow
def test_errors_create_no_sensitivity() -> None:
    rng = np.random.default_rng(1)
    still = np.array([0.8, 0.2])
    pairs = [
        AxisPairSample(
            rng.multinomial(96, still @ RATES),
            rng.multinomial(96, np.stack([still, still]) @ RATES),
            [1, 1],
            confusion=rng.multinomial(200, RATES),
        )
        for _ in range(80)
    ]
    estimate = estimates(pairs)
    assert abs(np.mean([e.value for e in estimate])) < 0.03
    assert covered(estimate, 0.0) >= 0.9
    graph = {(f"source {k}", "target"): pair for k, pair in enumerate(pairs[:20])}
    sizes = [*null_sizes(graph, rng=rng, draws=100).values()]
    seen = np.mean([abs(float(debiased_value(pair))) for pair in pairs])  # type: ignore[arg-type]
    assert np.mean(sizes) == pytest.approx(seen, rel=0.4)  # type: ignore[arg-type]


def test_more_labels_give_a_narrower_interval() -> None:
    counts = [[90, 30], [[60, 60], [70, 50]]]
    few, many = estimates(
        [AxisPairSample(*counts, [1, 1], confusion=n * RATES) for n in (20, 2000)], draws=300
    )
    assert (many.high or 0) - (many.low or 0) < 0.8 * ((few.high or 0) - (few.low or 0))


def test_an_instrument_without_errors_changes_nothing() -> None:
    tables = [40, 8, 12], [[20, 20, 20], [18, 22, 20]], [1, 1, 1], "wasserstein"
    plain, known = estimates(
        [AxisPairSample(*tables), AxisPairSample(*tables, confusion=1e9 * np.eye(3))], draws=300
    )  # type: ignore[arg-type]
    for name in ("value", "low", "high", "null"):
        assert getattr(known, name) == pytest.approx(getattr(plain, name), abs=0.02)


def test_other_edges_change_nothing() -> None:
    _, known = noisy(np.random.default_rng(2), 3)
    assert estimates(known)[1] == estimates(known[1:2])[0]


def test_shares_are_recovered_from_answers() -> None:
    errors = ReadingErrors.of(1000 * RATES)
    assert errors.shares(BEFORE @ RATES) == pytest.approx(BEFORE)
    forms = np.eye(2)
    assert pytest.approx(BEFORE) == (BEFORE @ RATES) @ (forms @ errors.inverse.T).T
    assert errors.drawn(400, 0).mean(axis=0) == pytest.approx(RATES, abs=0.01)


def test_standard_errors_are_those_of_simulated_answers() -> None:
    rng = np.random.default_rng(3)
    errors = ReadingErrors.of(200 * RATES)
    matrices = errors.drawn(4000, 1)
    answered: Floats = np.stack([rng.multinomial(80, BEFORE @ matrix) / 80 for matrix in matrices])
    corrected = answered @ errors.inverse
    assert errors.standard_errors(BEFORE, 80) == pytest.approx(corrected.std(axis=0), rel=0.07)


def test_pairs_that_cannot_be_corrected_are_missing() -> None:
    blind = AxisPairSample([30, 10], [[20, 20]], [1, 1], confusion=[[60, 40], [58, 42]])
    (estimate,) = interactions([blind], rng=np.random.default_rng(0))
    assert isinstance(estimate, Missing)
    assert "does not distinguish" in estimate.detail
    with pytest.raises(NotEnoughData):
        debiased_value(AxisPairSample([1, 1], [[1, 1]], [1, 1], confusion=[[5, 0], [0, 0]]))
    with pytest.raises(ValueError, match="values"):
        debiased_value(AxisPairSample([1, 1], [[1, 1]], [1, 1], confusion=np.eye(3)))
