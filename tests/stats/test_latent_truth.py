"""Errors of an instrument against raters who err."""

from __future__ import annotations

import numpy as np
import pytest

from askew.errors import NotEnoughData
from askew.stats.latent_truth import RatedLabels, instrument_errors, votes_of

ERRORS = np.array([[0.92, 0.08], [0.15, 0.85]])
"""P(label | true value) of the planted instrument."""


def study(
    rng: np.random.Generator, rates: tuple[float, float], per_image: int, images: int = 300
) -> RatedLabels:
    """Return a study of 30 raters: half of the images labeled as each value, of 1,000."""
    truth = (rng.random(1000) < 0.4).astype(int)
    labels = (rng.random(1000) < ERRORS[truth, 1]).astype(int)
    pairs = [np.flatnonzero(labels == label) for label in (0, 1)]
    half = images // 2
    chosen = np.concatenate([rng.choice(members, half, replace=False) for members in pairs])
    weights = np.repeat([len(members) / half for members in pairs], half)
    codes = np.full((30, images), -1)
    for place, image in enumerate(chosen):
        raters = rng.choice(30, per_image, replace=False)
        is_second = np.array([rates[0], 1 - rates[1]])[truth[image]]
        codes[raters, place] = rng.random(per_image) < is_second
    return RatedLabels.of(votes_of(codes, 2), labels[chosen], 2, weights, labels[chosen])


def test_raters_without_errors_give_the_weighted_counts() -> None:
    data = RatedLabels.of([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 1, 1, 1], 2, [9, 3, 4, 4])
    errors = instrument_errors(data, rng=np.random.default_rng(0), draws=20)
    assert errors.shares == pytest.approx([0.6, 0.4])
    assert errors.rates[0][0].value == pytest.approx(0.75, abs=0.03)
    assert errors.rater_rates[0, 0] > 0.9


def test_errors_of_raters_do_not_count_as_errors_of_the_instrument() -> None:
    rng = np.random.default_rng(1)
    rates = []
    for _ in range(12):
        errors = instrument_errors(study(rng, (0.15, 0.15), 3), rng=rng, draws=2)
        rates.append([rate.value for row in errors.rates for rate in row])
    assert np.mean(rates, axis=0) == pytest.approx(ERRORS.ravel(), abs=0.02)
    assert errors.rater_rates == pytest.approx(np.array([[0.85, 0.15], [0.15, 0.85]]), abs=0.06)


def test_images_without_a_vote_are_not_enough_data() -> None:
    with pytest.raises(NotEnoughData):
        RatedLabels.of([[0, 0]], [0], 2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        RatedLabels.of([[1, 0]], [2], 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rates", "per_image"), [((0.08, 0.08), 3), ((0.05, 0.18), 3), ((0.1, 0.1), 2)]
)
def test_intervals_hold_the_planted_errors(rates: tuple[float, float], per_image: int) -> None:
    rng = np.random.default_rng(2)
    held = np.zeros((2, 2))
    for _ in range(200):
        errors = instrument_errors(study(rng, rates, per_image), rng=rng, draws=200)
        for value in range(2):
            for label in range(2):
                estimate = errors.rates[value][label]
                held[value, label] += estimate.low <= ERRORS[value, label] <= estimate.high  # type: ignore[operator]
    assert 0.93 <= held.mean() / 200 <= 0.975
    assert held.min() / 200 >= 0.9
