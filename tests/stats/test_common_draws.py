"""Tabulated samples are multinomial samples."""

from __future__ import annotations

import numpy as np
import pytest

from askew.stats.common_draws import MOST_PICTURES, CommonDraws, rounded_pictures


def test_counts_have_the_moments_of_a_multinomial() -> None:
    p = np.array([0.5, 0.3, 0.15, 0.05])
    counts = CommonDraws(0, 4000).counts(p, 48)
    assert counts.shape == (4000, 4)
    assert np.all(counts.sum(axis=1) == 48)
    assert counts.min() >= 0
    assert counts.mean(axis=0) == pytest.approx(48 * p, abs=0.2)
    expected = 48 * (np.diag(p) - np.outer(p, p))
    assert np.cov(counts.T) == pytest.approx(expected, abs=0.8)


def test_populations_share_their_draws_and_streams_do_not() -> None:
    draws = CommonDraws(3, 200)
    both = draws.counts([[0.5, 0.5], [0.6, 0.4]], 20)
    assert np.array_equal(both[1], draws.counts([0.6, 0.4], 20))
    assert np.all(both[1, :, 0] >= both[0, :, 0])
    other = draws.counts([0.5, 0.5], 20, stream=1)
    assert abs(np.corrcoef(both[0, :, 0], other[:, 0])[0, 1]) < 0.25


def test_separate_populations_are_sampled_equally() -> None:
    draws = CommonDraws(5, 300)
    p = np.array([0.5, 0.3, 0.2])
    same = draws.counts_of_each(np.tile(p, (300, 1)), 40)
    assert np.array_equal(same, draws.counts(p, 40))
    each = np.random.default_rng(0).dirichlet([2, 2, 2], size=300)
    counts_of_each = draws.counts_of_each(each, 2000)
    assert counts_of_each.sum(axis=1).tolist() == [2000] * 300
    assert counts_of_each / 2000 == pytest.approx(each, abs=0.06)


def test_a_value_with_all_images_gets_all() -> None:
    assert np.all(CommonDraws(0, 50).counts([0.0, 1.0, 0.0], 7) == [0, 7, 0])


def test_images_are_rounded_by_at_most_a_hundredth() -> None:
    assert [rounded_pictures(n) for n in (0.2, 1, 48, 64)] == [1, 1, 48, 64]
    numbers = np.arange(65, MOST_PICTURES)
    rounded = np.array([rounded_pictures(n) for n in numbers])
    assert np.abs(rounded / numbers - 1).max() < 0.02
    assert len(set(rounded.tolist())) < 180
    assert rounded_pictures(1e9) == MOST_PICTURES
