"""Distributions computed from scipy.special agree with scipy.stats."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from askew.stats.distributions import (
    binomial_cdf,
    binomial_pmf,
    chi2_isf,
    chi2_sf,
    combined_p,
    f_sf,
    folded_normal_moments,
    hypergeometric_pmf,
    normal_cdf,
    normal_isf,
    normal_sf,
    sign_test,
    student_isf,
    student_sf,
)

SCORES = st.floats(-8, 8)
PROBABILITIES = st.floats(1e-9, 1 - 1e-9)
FREEDOMS = st.floats(1, 500)


@given(SCORES, PROBABILITIES)
def test_normal_and_folded_normal_agree_with_scipy(x: float, p: float) -> None:
    normal = scipy.stats.norm
    assert normal_cdf(x) == pytest.approx(normal.cdf(x))
    assert normal_sf(x) == pytest.approx(normal.sf(x))
    assert normal_isf(p) == pytest.approx(normal.isf(p), abs=1e-12)
    folded = scipy.stats.foldnorm
    expected = (folded.mean(abs(x)), folded.std(abs(x)))
    assert folded_normal_moments(abs(x)) == pytest.approx(expected, abs=1e-7)


@given(SCORES, PROBABILITIES, FREEDOMS, FREEDOMS)
def test_student_chi_squared_and_f_agree_with_scipy(
    x: float, p: float, freedom: float, error_freedom: float
) -> None:
    stats = scipy.stats
    assert student_sf(x, freedom) == pytest.approx(stats.t.sf(x, freedom), rel=1e-7)
    assert student_isf(p, freedom) == pytest.approx(stats.t.isf(p, freedom), rel=1e-6, abs=1e-7)
    assert chi2_isf(p, freedom) == pytest.approx(stats.chi2.isf(p, freedom), rel=1e-7)
    assert chi2_sf(x * x, freedom) == pytest.approx(stats.chi2.sf(x * x, freedom), rel=1e-7)
    expected = stats.f.sf(x * x, freedom, error_freedom)
    assert f_sf(x * x, freedom, error_freedom) == pytest.approx(expected, rel=1e-7, abs=1e-300)


def test_student_with_infinite_freedom_is_normal() -> None:
    assert student_isf(0.025, np.inf) == pytest.approx(normal_isf(0.025))


@given(st.integers(0, 3000), st.sampled_from([0.0, 1.0]) | PROBABILITIES)
def test_binomial_agrees_with_scipy(n: int, share: float) -> None:
    counts = np.arange(-1, n + 2)
    expected = scipy.stats.binom.pmf(counts, n, share)
    assert binomial_pmf(counts, n, share) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    counts = np.arange(n + 1)
    expected = scipy.stats.binom.cdf(counts, n, share)
    assert binomial_cdf(counts, n, share) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_sign_test_agrees_with_scipy(counts: tuple[int, int]) -> None:
    successes, n = counts
    assert sign_test(successes, n) == pytest.approx(scipy.stats.binomtest(successes, n).pvalue)


@given(st.integers(1, 400), st.data())
def test_the_hypergeometric_distribution_agrees_with_scipy(total: int, data: st.DataObject) -> None:
    marked = data.draw(st.integers(0, total))
    draws = data.draw(st.integers(0, total))
    counts = np.arange(-1, total + 1)
    expected = scipy.stats.hypergeom.pmf(counts, total, marked, draws)
    got = hypergeometric_pmf(counts, total, marked, draws)
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert got.sum() == pytest.approx(1)


@given(st.lists(st.sampled_from([0.0, 1.0]) | PROBABILITIES, min_size=1, max_size=8))
def test_combined_p_agrees_with_scipy(p_values: list[float]) -> None:
    with np.errstate(divide="ignore"):
        expected = scipy.stats.combine_pvalues(p_values).pvalue
    assert combined_p(p_values) == pytest.approx(expected, abs=1e-12)


def test_intervals_and_tests_do_not_import_scipy_stats() -> None:
    script = (
        "import sys; from askew.stats.intervals import benjamini_hochberg, student_stretch; "
        "benjamini_hochberg([.1, .2]); student_stretch(.95, 4); print('scipy.stats' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.stdout == "False\n"
