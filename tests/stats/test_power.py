"""Power by sums over counts against simulations of the tests, other packages and properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, multinomial
from statsmodels.stats.gof import chisquare_effectsize
from statsmodels.stats.power import GofChisquarePower, NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize

from askew.stats.confusion import ReadingErrors
from askew.stats.distance import wasserstein
from askew.stats.exchange import exchange_test
from askew.stats.goodness_of_fit import possible_counts, reference_test
from askew.stats.paired_sets import PairedSets
from askew.stats.power import (
    POWER,
    PowerFunction,
    alternatives,
    detectable_deviation,
    detectable_distance,
    exchange_power,
    fit_power,
    images_needed,
    largest_deviation,
)

HALVES = (0.5, 0.5)
THIRDS = (1 / 3, 1 / 3, 1 / 3)
CENSUS = (0.88, 0.12)


@pytest.mark.parametrize(
    ("images", "reference", "deviation", "level"),
    [
        (24, HALVES, 0.25, 0.05),
        (48, HALVES, 0.2, 0.05 / 8),
        (30, THIRDS, 0.3, 0.05),
        (40, CENSUS, 0.15, 0.05),
        pytest.param(40, (0.2,) * 5, 0.25, 0.05, marks=pytest.mark.slow),
    ],
)
def test_the_power_is_that_of_simulated_verdicts(
    images: int, reference: tuple[float, ...], deviation: float, level: float
) -> None:
    """The standard error of 3,000 simulations is at most .009."""
    rng = np.random.default_rng(1)
    powers = []
    for truth in alternatives(reference, deviation):
        sets, times = np.unique(rng.multinomial(images, truth, 3_000), axis=0, return_counts=True)
        detected = [reference_test(counts, reference).p < level for counts in sets]
        powers.append(float(np.average(detected, weights=times)))
    assert fit_power(images, reference, deviation, level) == pytest.approx(min(powers), abs=0.02)


def test_the_power_on_an_ordered_axis_is_that_of_its_hardest_value() -> None:
    """Check three ordered values, of which the middle cannot gain a Wasserstein distance above 1/3."""
    shares = alternatives(THIRDS, 0.3, "wasserstein")
    assert len(shares) == 3
    assert [wasserstein(truth, THIRDS) for truth in shares] == pytest.approx([0.3] * 3)
    assert len(alternatives(THIRDS, 0.4, "wasserstein")) == 2
    powers = []
    for truth in shares:
        sets = possible_counts(12, 3)
        detected = [reference_test(counts, THIRDS).p < 0.05 for counts in sets]
        powers.append(multinomial(12, truth).pmf(sets)[detected].sum())
    power = fit_power(12, THIRDS, 0.3, 0.05, distance="wasserstein")
    assert power == pytest.approx(min(powers), abs=1e-9)


@pytest.mark.parametrize("images", [24, 48])
def test_labels_with_errors_have_the_power_of_simulated_verdicts(images: int) -> None:
    errors = ReadingErrors.of([[80, 20], [2, 98]])
    rng = np.random.default_rng(1)
    powers = []
    for truth in alternatives(HALVES, 0.3):
        females = rng.binomial(images, truth @ errors.rates[:, 1], 3_000)
        numbers, times = np.unique(females, return_counts=True)
        tests = [
            reference_test((images - number, number), HALVES, errors=errors) for number in numbers
        ]
        powers.append(float(np.average([test.p < 0.05 for test in tests], weights=times)))
    power = fit_power(images, HALVES, 0.3, 0.05, errors=errors)
    assert power == pytest.approx(min(powers), abs=0.02)
    assert power < fit_power(images, HALVES, 0.3, 0.05)


@pytest.mark.parametrize("distance", ["total_variation", "wasserstein"])
def test_reports_and_planning_state_the_same_detectable_deviation(distance: str) -> None:
    level = 0.05 / 8
    detectable = detectable_distance(48, THIRDS, distance, level=level)
    assert detectable is not None
    assert fit_power(48, THIRDS, detectable, level, distance=distance) >= POWER
    assert fit_power(48, THIRDS, 0.99 * detectable, level, distance=distance) < POWER
    planned = detectable_deviation(fit_power, 48, THIRDS, level=level)
    assert (detectable == planned) == (distance == "total_variation")


@pytest.mark.parametrize(
    ("images", "reference", "deviation"),
    [
        pytest.param(24, HALVES, 0.3, marks=pytest.mark.slow),
        (60, CENSUS, 0.2),
        pytest.param(40, THIRDS, 0.3, marks=pytest.mark.slow),
    ],
)
def test_the_power_of_a_comparison_is_that_of_simulated_verdicts(
    images: int, reference: tuple[float, ...], deviation: float
) -> None:
    """The standard error of 400 simulations is at most .025, so this asks for 2.4 of them."""
    rng = np.random.default_rng(2)
    powers = []
    for truth in alternatives(reference, deviation):
        detected = 0
        for first, second in zip(
            rng.multinomial(images, reference, 400),
            rng.multinomial(images, truth, 400),
            strict=True,
        ):
            detected += exchange_test(PairedSets.of_counts(first, second)).p < 0.05
        powers.append(detected / 400)
    assert exchange_power(images, reference, deviation, 0.05) == pytest.approx(
        min(powers), abs=0.06
    )


@pytest.mark.parametrize("images", [12, 31, 48])
def test_two_uniform_values_are_tested_as_by_the_mid_p_sign_test(images: int) -> None:
    """With two equal shares the test is the two-sided sign test, by its mid-p."""
    number = np.arange(images + 1)
    exact = np.array([binomtest(k, images).pvalue for k in number])
    twice = np.where(2 * number == images, 1, 2)
    mid_p = exact - twice * binom.pmf(number, images, 0.5) / 2
    expected = binom.pmf(number, images, 0.7)[mid_p < 0.05].sum()
    assert fit_power(images, HALVES, 0.2, 0.05) == pytest.approx(expected, abs=1e-12)


def test_many_images_agree_with_the_asymptotic_laws_of_statsmodels() -> None:
    truth = alternatives(THIRDS, 0.08)[0]
    effect = chisquare_effectsize(THIRDS, truth)
    expected = GofChisquarePower().power(effect, 500, alpha=0.05, n_bins=3)
    assert fit_power(500, THIRDS, 0.08, 0.05) == pytest.approx(expected, abs=0.01)
    of_two = proportion_effectsize(0.6, 0.5)
    expected = NormalIndPower().power(of_two, 600, alpha=0.05)
    assert exchange_power(600, HALVES, 0.1, 0.05) == pytest.approx(expected, abs=0.01)


def test_exact_and_approximate_comparisons_meet() -> None:
    exact = exchange_power(200, HALVES, 0.15, 0.05)
    assert exchange_power(202, HALVES, 0.15, 0.05) == pytest.approx(exact, abs=0.02)


@given(
    st.integers(2, 40),
    st.lists(st.integers(1, 9), min_size=2, max_size=3),
    st.floats(0.02, 0.9),
    st.sampled_from([0.05, 0.005]),
)
def test_power_is_a_probability_that_grows_with_the_level(
    images: int, weights: list[int], part: float, level: float
) -> None:
    reference = tuple(weight / sum(weights) for weight in weights)
    deviation = part * largest_deviation(reference)
    power = fit_power(images, reference, deviation, level)
    assert 0 <= power <= 1
    assert power <= fit_power(images, reference, deviation, 4 * level) + 1e-12
    for truth in alternatives(reference, deviation):
        assert truth.sum() == pytest.approx(1)
        assert np.abs(truth - reference).sum() / 2 == pytest.approx(deviation)


@pytest.mark.parametrize("power_of", [fit_power, exchange_power])
@pytest.mark.parametrize("reference", [HALVES, CENSUS, THIRDS])
def test_the_images_suffice_and_fewer_do_not(
    power_of: PowerFunction, reference: tuple[float, ...]
) -> None:
    images = images_needed(power_of, reference, 0.3, power=0.9)
    assert images is not None
    assert power_of(images, reference, 0.3, 0.05) >= 0.9
    assert power_of(images * 4 // 5, reference, 0.3, 0.05) < 0.9
    detectable = detectable_deviation(power_of, images, reference, power=0.9)
    assert detectable is not None
    assert detectable <= 0.3 + 1e-3


def test_limits() -> None:
    assert detectable_deviation(fit_power, 4, HALVES) is None
    assert images_needed(fit_power, HALVES, 0.001) is None
    assert largest_deviation(CENSUS) == pytest.approx(0.88)
    with pytest.raises(ValueError, match=r"at most 0\.5"):
        fit_power(24, HALVES, 0.6, 0.05)
    with pytest.raises(ValueError, match=r"at most 0\.5"):
        images_needed(fit_power, HALVES, 0.6)
