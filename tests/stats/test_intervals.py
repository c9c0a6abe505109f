"""General parts of statistical inference."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap, false_discovery_control, norm
from statsmodels.stats.multitest import multipletests

from askew.errors import NotEnoughData
from askew.stats.intervals import (
    ENOUGH,
    array_of,
    benjamini_hochberg,
    bootstrap_errors,
    bootstrap_weights,
    corrected,
    first_accepted,
    p_by_rounds,
    p_value,
    percentile_interval,
    positive_counts,
    quantile,
    tail,
)
from askew.types import Estimate


def test_bootstrap_weights_are_resamples() -> None:
    weights = bootstrap_weights(12, 500, np.random.default_rng(0))
    assert weights.shape == (500, 12)
    assert np.allclose(weights.sum(axis=1), 1)
    assert np.allclose(weights * 12, np.round(weights * 12))


def test_bootstrap_errors_have_the_standard_error_of_the_mean() -> None:
    pictures = np.random.default_rng(1).random((40, 3))
    errors = bootstrap_errors(pictures, 20_000, np.random.default_rng(2))
    assert np.allclose(errors.std(axis=0), pictures.std(axis=0, ddof=1) / np.sqrt(40), rtol=0.03)
    assert np.all(bootstrap_errors(pictures[:1], 5, np.random.default_rng(2)) == 0)


def test_percentile_interval_agrees_with_scipy() -> None:
    x = np.random.default_rng(3).normal(size=30)
    draws = bootstrap_weights(30, 20_000, np.random.default_rng(4)) @ x
    expected = bootstrap(
        (x,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(5)
    )
    assert percentile_interval(draws, 0.95) == pytest.approx(
        tuple(expected.confidence_interval), abs=0.02
    )


def test_bisection_finds_where_a_test_starts_to_accept() -> None:
    assert first_accepted(lambda t: t >= 0.3, 0.0, 1.0, steps=30) == pytest.approx(0.3)
    assert first_accepted(lambda t: t >= -1, 0.0, 1.0) == 0.0
    assert first_accepted(lambda t: False, 0.0, 1.0, steps=60) == pytest.approx(1.0)


def test_inverting_the_normal_test_gives_the_normal_interval() -> None:
    upper = first_accepted(lambda mu: norm.cdf(0.7 - mu) <= tail(0.95), 0.0, 10.0, steps=40)
    assert upper == pytest.approx(0.7 + norm.isf(0.025))


def test_p_counts_the_observed_value_itself() -> None:
    assert p_value(2.0, np.array([1.0, 2.0, 3.0])) == 3 / 4
    assert p_value(9.0, np.array([1.0, 2.0, 3.0])) == 1 / 4
    assert p_value(0.1 + 0.2, np.array([0.3])) == 1.0


def test_correction_for_chance() -> None:
    assert corrected(Estimate(0.6), 0.2, 0.5, 1.2).corrected == pytest.approx(0.4)
    assert corrected(Estimate(0.1), 0.2, 0.5, 1.2).corrected == pytest.approx(-0.1)
    full = corrected(Estimate(1.0), 1.0, 1.0)
    assert (full.corrected, full.corrected_form, full.null, full.p) == (None, None, 1.0, 1.0)


def test_an_empty_set_is_an_error() -> None:
    with pytest.raises(NotEnoughData, match="set A is empty"):
        array_of(np.empty((0, 3)), "set A")
    with pytest.raises(NotEnoughData, match="are 0"):
        positive_counts([[1, 2], [0, 0]])
    with pytest.raises(ValueError, match="not finite"):
        array_of([[np.nan]])
    with pytest.raises(ValueError, match="1 axes"):
        array_of([1.0, 2.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        tail(1.0)


P_VALUES = st.lists(
    st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=40
)


@given(P_VALUES)
def test_agrees_with_scipy_and_statsmodels(p: list[float]) -> None:
    q = benjamini_hochberg(p)
    np.testing.assert_allclose(q, false_discovery_control(p), atol=1e-12, rtol=0)
    np.testing.assert_allclose(q, multipletests(p, method="fdr_bh")[1], atol=1e-12, rtol=0)


@given(P_VALUES, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_q_is_never_below_p(p: list[float], random: object) -> None:
    shuffled = list(range(len(p)))
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    q = benjamini_hochberg(p)
    np.testing.assert_allclose(benjamini_hochberg(np.array(p)[shuffled]), q[shuffled], atol=1e-15)
    assert np.all(q >= np.array(p) - 1e-15)


def test_an_empty_family_has_no_q_values() -> None:
    assert benjamini_hochberg([]).shape == (0,)


@pytest.mark.parametrize("p", [[0.1, float("nan")], [1.2], [-0.1], [[0.1]]])
def test_invalid_p_values_are_refused(p: list[object]) -> None:
    with pytest.raises(ValueError, match="p-values"):
        benjamini_hochberg(p)  # type: ignore[arg-type]


def test_p_by_rounds_equals_p_of_all_draws_and_stops_early() -> None:
    rng = np.random.default_rng(3)
    batches = []

    def rounds(n: int) -> Iterator[np.ndarray]:
        for _ in range(n):
            batches.append(rng.random((50, 2)))
            yield batches[-1]

    observed = np.array([0.5, 0.97])
    p = p_by_rounds(observed, rounds(40))
    drawn = np.concatenate(batches)
    assert p == pytest.approx(
        [p_value(x, column) for x, column in zip(observed, drawn.T, strict=True)]
    )
    assert (drawn[:, 1] >= 0.97).sum() >= ENOUGH
    assert (drawn[:-50, 1] >= 0.97).sum() < ENOUGH
    batches.clear()
    assert p_by_rounds(np.array([0.5, 2.0]), rounds(3))[1] == pytest.approx(1 / 151)


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
)
def test_quantiles_are_those_of_numpy(draws: list[float], shares: list[float]) -> None:
    draws_array = np.array(draws)
    assert quantile(draws_array, shares).tolist() == np.quantile(draws_array, shares).tolist()
    assert quantile(draws_array, shares[0]) == np.quantile(draws_array, shares[0])
    assert np.isnan(quantile(np.append(draws_array, np.nan), shares)).all()
