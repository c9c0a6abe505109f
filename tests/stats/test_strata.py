"""Shares from stratified labels, and the size of samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from askew.errors import NotEnoughData
from askew.stats.strata import (
    StratifiedLabels,
    accuracy_from_agreement,
    expected_shares,
    half_widths,
    sample_of_size,
    smallest_sample,
)


def test_shares_are_weighted_by_the_size_of_the_strata() -> None:
    labels = StratifiedLabels.of([900, 100], [[9, 1, 0], [5, 5, 0]])
    assert labels.shares.tolist() == pytest.approx([0.86, 0.14])


def test_images_without_a_value_do_not_count() -> None:
    labels = StratifiedLabels.of([50, 50], [[4, 4, 2], [0, 10, 0]])
    # .5 * .4 of all images have the first value, and .5 * .8 + .5 have a value
    assert labels.shares[0] == pytest.approx(0.2 / 0.9)
    assert labels.estimates()[0].missing == 2


def test_one_stratum_has_the_variance_of_a_simple_sample() -> None:
    labels = StratifiedLabels.of([10_000], [[120, 80, 0]])
    assert labels.variances()[0] == pytest.approx(0.6 * 0.4 / 199 * (1 - 200 / 10_000), rel=0.01)
    assert labels.variances(of_model=True)[0] == pytest.approx(0.6 * 0.4 / 199, rel=0.01)


def test_if_all_images_are_labeled_the_shares_are_known() -> None:
    estimate = StratifiedLabels.of([10, 10], [[10, 0, 0], [3, 7, 0]]).estimates()[0]
    assert (estimate.low, estimate.value, estimate.high) == (0.65, 0.65, 0.65)


@pytest.mark.parametrize(
    ("images", "labeled", "others"), [(48, 29, 1), (48, 29, 2), (96, 48, 2), (96, 48, 3)]
)
def test_equal_labels_do_not_exclude_a_rare_value(images: int, labeled: int, others: int) -> None:
    """The interval contains a share with which more than a tenth of samples have equal labels."""
    assert hypergeom.pmf(0, images, others, labeled) > 0.1
    estimate = StratifiedLabels.of([images], [[labeled, 0, 0]]).estimates()[0]
    assert estimate.low is not None
    assert estimate.low <= 1 - others / images


def test_a_stratum_without_labels_is_not_enough_data() -> None:
    with pytest.raises(NotEnoughData):
        StratifiedLabels.of([10, 10], [[3, 3, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="more labels than images"):
        StratifiedLabels.of([2], [[3, 3, 0]])


@given(
    sizes=st.lists(st.integers(2, 500), min_size=1, max_size=6),
    accuracy=st.floats(0.6, 0.99),
    half_width=st.floats(0.02, 0.3),
)
def test_the_smallest_sample_reaches_the_half_width(
    sizes: list[int], accuracy: float, half_width: float
) -> None:
    codes = np.arange(len(sizes))[:, None] % 3
    shares = expected_shares(codes, 3, accuracy)
    labels = smallest_sample(sizes, shares, half_width)
    assert np.all(labels <= sizes)
    assert np.all(labels >= 2)
    assert half_widths(sizes, shares, labels).max() <= half_width + 1e-9
    fewer = sample_of_size(sizes, shares, int(labels.sum()))
    assert fewer.sum() <= max(labels.sum(), 2 * len(sizes))


def test_strata_with_disagreement_get_more_labels() -> None:
    codes = [[0, 0], [0, 1], [1, 1]]
    labels = smallest_sample([300, 300, 300], expected_shares(codes, 2, 0.9), 0.05)
    assert labels[1] > 2 * labels[0]


@given(accuracy=st.floats(0.5, 1), values=st.integers(2, 6))
def test_accuracy_follows_from_agreement(accuracy: float, values: int) -> None:
    agreement = accuracy**2 + (1 - accuracy) ** 2 / (values - 1)
    assert accuracy_from_agreement(agreement, values) == pytest.approx(accuracy, abs=1e-6)
