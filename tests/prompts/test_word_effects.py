"""The words of prompts, and what is learnt of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space

from askew.prompts.word_effects import RATIOS, WordEffects, content_words, essence, ridge_effects

LOSSES = {"an old nurse": 1.0, "a young nurse": 1.1, "an old chef": 1.2, "a young chef": 1.3, "an old pilot": 1.0,
          "a young pilot": 1.1}  # fmt: skip


def test_near_duplicates_have_the_same_essence() -> None:
    assert essence("A nurse, in the park") == essence("park with a nurse")
    assert content_words("A nurse in the Park") == ["nurse", "park"]


def test_every_word_has_its_part_in_what_is_expected() -> None:
    found = WordEffects.learned(LOSSES)
    assert found.expected("an old nurse in a park") == found.expected("the old nurse")
    assert found.effects["old"] == pytest.approx(-found.effects["young"])
    assert found.expected("an old nurse") < found.expected("a young nurse") < found.expected("a young chef")
    assert found.expected("a red house") == found.base


def test_losses_in_another_order_say_the_same() -> None:
    found, again = WordEffects.learned(LOSSES), WordEffects.learned(dict(reversed(LOSSES.items())))
    assert {text: again.expected(text) for text in LOSSES} == pytest.approx(
        {text: found.expected(text) for text in LOSSES}
    )


def data(n: int, noise: float, effect: float = 1.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng([n, 1])
    features = (rng.random((n, 30)) < 0.2).astype(float)
    return features, 5 + features @ rng.normal(0, effect, 30) + rng.normal(0, noise, n)


def likelihood(features: NDArray[np.float64], values: NDArray[np.float64], ratio: float) -> float:
    """The restricted log-likelihood of contrasts of the values, in which the level has no part."""
    contrasts = null_space(np.ones((1, len(values)))).T
    z, v = contrasts @ values, contrasts @ (features @ features.T + ratio * np.eye(len(values))) @ contrasts.T
    scale = z @ np.linalg.solve(v, z) / len(z)
    return float(-len(z) / 2 * np.log(scale) - np.linalg.slogdet(v)[1] / 2)


@pytest.mark.parametrize("noise", [0.3, 2.0, 8.0])
def test_it_is_ridge_regression_at_the_most_likely_ratio(noise: float) -> None:
    features, values = data(60, noise)
    ratio = max(RATIOS, key=lambda one: likelihood(features, values, one))
    rows = np.vstack([np.c_[np.ones(60), features], np.c_[np.zeros(30), np.sqrt(ratio) * np.eye(30)]])
    wanted = np.linalg.lstsq(rows, np.r_[values, np.zeros(30)], rcond=None)[0]
    base, effects = ridge_effects(features, values)
    assert base == pytest.approx(wanted[0])
    assert effects == pytest.approx(wanted[1:])


def test_noise_alone_is_drawn_together() -> None:
    features, values = data(60, 1.0, effect=0.0)
    base, effects = ridge_effects(features, values)
    assert np.std(base + features @ effects) < 0.3 * np.std(values)


def test_what_has_no_spread_has_no_effects() -> None:
    assert ridge_effects([[1, 0], [0, 1], [1, 1]], [2, 2, 2])[1].tolist() == [0, 0]
    assert ridge_effects([[1, 0]], [3])[0] == 3
    assert ridge_effects(np.zeros((2, 0)), [1, 3])[0] == 2


@pytest.mark.parametrize(
    ("features", "values"), [([[1], [0]], [1]), ([1, 0], [1, 2]), ([[np.nan]], [1]), ([[1]], [np.inf]), ([], [])]
)
def test_what_does_not_fit_is_refused(features: list[list[float]], values: list[float]) -> None:
    with pytest.raises(ValueError, match="features"):
        ridge_effects(features, values)
