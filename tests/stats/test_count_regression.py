"""Regression of counts: its mode and precision by other optimizers, symmetry, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm

from askew.errors import NotEnoughData
from askew.stats.count_regression import (
    BASE_SCALE,
    CountModel,
    count_data,
    fit_at_scale,
    fit_counts,
    shares_of_logits,
)

Array = NDArray[np.float64]


def drawn(
    seed: int, *, items: int = 40, features: int = 4, values: int = 3, images: int = 5
) -> tuple[Array, Array, Array]:
    """Return features, counts, and effects (1 + features, values) of symmetric logits."""
    rng = np.random.default_rng(seed)
    x = (rng.random((items, features)) < 0.4).astype(float)
    effects = rng.normal(0, 0.8, (1 + features, values))
    shares = shares_of_logits(np.column_stack([np.ones(items), x]) @ effects)
    counts = np.array([rng.multinomial(images, row) for row in shares])
    return x, counts.astype(float), effects


def shares_of(model: CountModel) -> Array:
    return model.data.shares(model.mode)


def test_the_mode_and_the_precision_are_those_of_a_general_optimizer() -> None:
    x, counts, _ = drawn(1)
    model = fit_at_scale(count_data(x, counts), 0.7)
    design = np.column_stack([np.ones(len(x)), x])
    deviations = np.full(5, 0.7)
    deviations[0] = BASE_SCALE
    contrasts = model.data.contrasts

    def minus_log_posterior(flat: Array) -> float:
        effects = flat.reshape(2, 5).T
        shares = shares_of_logits(design @ effects @ contrasts)
        prior = norm.logpdf(effects, scale=deviations[:, None]).sum()
        return -float((counts * np.log(shares)).sum() + prior)

    optimum = minimize(minus_log_posterior, np.zeros(10), tol=1e-10)
    assert model.mode.T.ravel() == pytest.approx(optimum.x, abs=1e-4)
    covariance = np.linalg.inv(model.factor @ model.factor.T)
    step = 1e-4
    for place in (0, 4, 9):
        shift = step * np.eye(10)[place]
        around = [minus_log_posterior(optimum.x + sign * shift) for sign in (1, -1)]
        curvature = (sum(around) - 2 * minus_log_posterior(optimum.x)) / step**2
        assert np.linalg.inv(covariance)[place, place] == pytest.approx(curvature, rel=1e-3)


def test_two_values_are_penalized_logistic_regression() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    x, counts, _ = drawn(2, values=2)
    model = fit_at_scale(count_data(x, counts), 0.5)
    # The logit of two values is sqrt(2) times the effect of their contrast.
    variances = 2 * np.array([BASE_SCALE, *[0.5] * 4]) ** 2
    glm = statsmodels.GLM(
        counts, statsmodels.add_constant(x), family=statsmodels.families.Binomial()
    )
    wanted = glm.fit_regularized(alpha=1 / variances / len(x), L1_wt=0.0).params
    sign = np.sign(model.data.contrasts[0, 0])
    assert np.sqrt(2) * sign * model.mode[:, 0] == pytest.approx(wanted, abs=1e-3)


def test_the_evidence_is_the_integral_of_the_likelihood() -> None:
    model = fit_at_scale(count_data(np.zeros((1, 0)), [[120, 80]]), 1.0)

    def integrand(effect: float) -> float:
        likelihood = model.data.log_likelihood(np.array([[effect]]))
        return float(np.exp(likelihood + 150) * norm.pdf(effect, scale=BASE_SCALE))

    integral, _ = quad(integrand, -3, 3, points=[float(model.mode[0, 0])])
    assert model.evidence == pytest.approx(np.log(integral) - 150, abs=0.01)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000), values=st.integers(2, 4))
def test_no_value_and_no_order_of_items_is_special(seed: int, values: int) -> None:
    x, counts, _ = drawn(seed, items=12, features=3, values=values)
    rng = np.random.default_rng(seed)
    model = fit_counts(x, counts)
    value_order = rng.permutation(values)
    assert shares_of(fit_counts(x, counts[:, value_order])) == pytest.approx(
        shares_of(model)[:, value_order], abs=1e-6
    )
    item_order = rng.permutation(12)
    other = fit_counts(x[item_order], counts[item_order])
    assert other.scale == model.scale
    assert shares_of(other) == pytest.approx(shares_of(model)[item_order], abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_images_of_a_prompt_may_be_split_over_items(seed: int) -> None:
    x, counts, _ = drawn(seed, items=10, features=3)
    part = np.minimum(counts, 1)
    whole = fit_at_scale(count_data(x, counts), 0.5)
    split = fit_at_scale(count_data(np.vstack([x, x]), np.vstack([part, counts - part])), 0.5)
    assert split.mode == pytest.approx(whole.mode, abs=1e-5)
    assert split.factor == pytest.approx(whole.factor, abs=1e-4)


def test_without_images_the_posterior_is_the_prior() -> None:
    model = fit_at_scale(count_data([[1, 0], [0, 1]], np.zeros((2, 3))), 0.4)
    assert not model.mode.any()
    drawn_effects = model.draws(20_000, np.random.default_rng(0))
    assert drawn_effects.std(axis=0)[1:] == pytest.approx(np.full((2, 2), 0.4), rel=0.03)
    unknown = model.unknown_draws(20_000, np.random.default_rng(0))
    assert unknown.std(axis=0) == pytest.approx([0.4, 0.4], rel=0.03)


def test_draws_have_the_mode_and_the_inverse_precision() -> None:
    x, counts, _ = drawn(3)
    model = fit_counts(x, counts)
    draws = model.draws(20_000, np.random.default_rng(0))
    flat = draws.transpose(0, 2, 1).reshape(20_000, -1)
    covariance = np.linalg.inv(model.factor @ model.factor.T)
    assert draws.mean(axis=0) == pytest.approx(model.mode, abs=0.02)
    assert np.cov(flat.T) == pytest.approx(covariance, abs=0.05 * covariance.max())


@pytest.mark.slow
def test_intervals_of_effects_contain_the_true_effects() -> None:
    contained = []
    for seed in range(25):
        x, counts, effects = drawn(seed, features=8, images=4)
        model = fit_counts(x, counts)
        truth = effects @ model.data.contrasts.T
        draws = model.draws(300, np.random.default_rng(seed))
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        contained.append(((low < truth) & (truth < high))[1:].mean())
    assert np.mean(contained) == pytest.approx(0.9, abs=0.04)


def test_the_scale_of_strong_effects_is_larger() -> None:
    x, counts, _ = drawn(4, items=200, features=12)
    fair = np.random.default_rng(0).multinomial(5, [1 / 3] * 3, size=200)
    assert fit_counts(x, fair).scale < 0.25 < fit_counts(x, counts).scale


@pytest.mark.parametrize(
    ("features", "counts", "error"),
    [
        (np.zeros((0, 1)), np.zeros((0, 2)), NotEnoughData),
        (np.zeros((1, 1)), [[3]], NotEnoughData),
        (np.zeros((1, 1)), [[3, -1]], ValueError),
        (np.zeros((1, 1)), [[3, np.nan]], ValueError),
        (np.zeros((2, 1)), [[3, 1]], ValueError),
    ],
)
def test_unusable_data_is_refused(features: Array, counts: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        fit_counts(features, counts)  # type: ignore[arg-type]
