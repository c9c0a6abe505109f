"""The test whether images have the reference shares."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from askew.stats.confusion import ReadingErrors
from askew.stats.goodness_of_fit import pearson, reference_test


@pytest.mark.parametrize("share", [0.5, 0.2, 0.03])
@pytest.mark.parametrize(("count", "n"), [(0, 3), (9, 12), (24, 24), (31, 48)])
def test_two_values_against_scipys_binomial_law(count: int, n: int, share: float) -> None:
    result = reference_test([count, n - count], [share, 1 - share])
    counts = np.arange(n + 1)
    probability = scipy.stats.binom.pmf(counts, n, share)
    size = np.abs(counts - n * share)
    reached = size >= size[count] - 1e-9
    exceeded = size > size[count] + 1e-9
    assert result.exact_p == pytest.approx(probability[reached].sum())
    assert result.p == pytest.approx((probability[reached].sum() + probability[exceeded].sum()) / 2)


@pytest.mark.parametrize("counts", [(5, 1, 2), (0, 0, 4), (3, 3, 3), (1, 0, 9)])
@pytest.mark.parametrize("reference", [(1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1)])
def test_three_values_against_scipys_multinomial_law(
    counts: tuple[int, ...], reference: tuple[float, ...]
) -> None:
    n = sum(counts)
    law = scipy.stats.multinomial(n, reference)
    reached = 0.0
    observed = scipy.stats.chisquare(counts, n * np.array(reference)).statistic
    for first in range(n + 1):
        for second in range(n + 1 - first):
            outcome = (first, second, n - first - second)
            if scipy.stats.chisquare(outcome, n * np.array(reference)).statistic >= observed - 1e-9:
                reached += law.pmf(outcome)
    assert reference_test(counts, reference).exact_p == pytest.approx(reached)


def test_many_outcomes_are_simulated_and_agree_with_the_chi_squared_law() -> None:
    rng = np.random.default_rng(3)
    counts = rng.multinomial(400, np.full(8, 1 / 8))
    result = reference_test(counts, np.full(8, 1 / 8))
    assert result.p == pytest.approx(scipy.stats.chisquare(counts).pvalue, abs=0.01)
    assert 0 < reference_test([400, *[0] * 7], np.full(8, 1 / 8)).p < 1e-4


@pytest.mark.parametrize(
    ("counts", "others"), [((2, 22), (0, 24)), ((10, 2), (20, 28)), ((5, 5), (1, 1))]
)
def test_a_counted_reference_is_tested_as_fisher_does(
    counts: tuple[int, int], others: tuple[int, int]
) -> None:
    total = sum(others)
    result = reference_test(counts, [count / total for count in others], reference_images=total)
    table = np.array([counts, others])
    hypergeometric = scipy.stats.hypergeom(table.sum(), table[:, 0].sum(), table[0].sum())
    support = np.arange(table[0].sum() + 1)
    size = np.abs(support - hypergeometric.mean())
    reached = size >= size[counts[0]] - 1e-9
    assert result.exact_p == pytest.approx(hypergeometric.pmf(support)[reached].sum())
    if counts == (2, 22):
        assert result.exact_p == pytest.approx(scipy.stats.fisher_exact(table).pvalue)
        assert result.exact_p == pytest.approx(0.49, abs=0.01)


def test_a_counted_reference_of_three_values_agrees_with_the_exact_test() -> None:
    counts = (8, 3, 1)
    others = np.array([5, 10, 9])
    result = reference_test(counts, others / 24, reference_images=24)
    table = np.array([counts, others])
    permuted = scipy.stats.chi2_contingency(
        table,
        correction=False,
        method=scipy.stats.PermutationMethod(n_resamples=5_000, rng=np.random.default_rng(0)),
    )
    assert result.exact_p == pytest.approx(permuted.pvalue, abs=0.01)


def test_exact_labels_change_nothing() -> None:
    errors = ReadingErrors.of(np.eye(2) * 1e6)
    plain = reference_test([31, 17], [0.5, 0.5])
    assert reference_test([31, 17], [0.5, 0.5], errors=errors).p == pytest.approx(plain.p, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    "images",
    [48, pytest.param(96, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.slow)],
)
def test_a_fair_model_with_known_errors_is_rarely_called_biased(images: int) -> None:
    """With errors of 20 % and 2 % a test without them rejects in 20 to 66 % of runs."""
    rng = np.random.default_rng(images)
    rates = np.array([[0.80, 0.20], [0.02, 0.98]])
    rejected = np.zeros(2)
    for _ in range(200):
        known = np.stack([rng.multinomial(100, row) for row in rates])
        labels = rng.multinomial(images, [0.5, 0.5] @ rates)
        corrected = reference_test(labels, [0.5, 0.5], errors=ReadingErrors.of(known))
        rejected += [corrected.p < 0.05, reference_test(labels, [0.5, 0.5]).p < 0.05]
    assert rejected[0] / 200 <= 0.09
    assert rejected[1] / 200 >= 0.15


@pytest.mark.slow
def test_a_biased_model_with_known_errors_is_found() -> None:
    rng = np.random.default_rng(4)
    rates = np.array([[0.80, 0.20], [0.02, 0.98]])
    detected = 0
    for _ in range(100):
        known = np.stack([rng.multinomial(100, row) for row in rates])
        labels = rng.multinomial(48, [0.25, 0.75] @ rates)
        detected += reference_test(labels, [0.5, 0.5], errors=ReadingErrors.of(known)).p < 0.05
    assert detected >= 60


@given(
    st.lists(st.integers(0, 12), min_size=2, max_size=4).filter(any),
    st.integers(0, 1000),
)
def test_properties(counts: list[int], seed: int) -> None:
    """p lies in (0, 1], the mid-p is the smaller one, and the order of values is of no importance."""
    reference = np.random.default_rng(seed).dirichlet(np.full(len(counts), 5.0))
    result = reference_test(counts, reference)
    assert 0 < result.p <= result.exact_p <= 1
    turned = reference_test(counts[::-1], reference[::-1])
    assert turned.p == pytest.approx(result.p, rel=1e-6, abs=0.01)


def test_a_value_that_the_reference_excludes() -> None:
    assert pearson([1, 2], [0, 3]) == np.inf
    assert reference_test([1, 2], [0.0, 1.0]).p == 0
    assert reference_test([0, 3], [0.0, 1.0]).p == pytest.approx(0.5)


@pytest.mark.parametrize("n", [12, 24, 48, 96, 200])
@pytest.mark.parametrize("values", [2, 3])
def test_false_positives_of_the_mid_p_lie_near_the_level(n: int, values: int) -> None:
    fair = np.full(values, 1 / values)
    samples = np.random.default_rng([n, values]).multinomial(n, fair, size=1000)
    outcomes, frequencies = np.unique(samples, axis=0, return_counts=True)
    rejected = [reference_test(outcome, fair).p < 0.05 for outcome in outcomes]
    assert 0.02 <= frequencies @ np.array(rejected) / 1000 <= 0.08
