"""Agreement of raters, against other packages and planted raters."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.inter_rater import cohens_kappa

from askew.errors import NotEnoughData
from askew.stats.agreement import (
    alpha_estimate,
    cohen_kappa,
    kappa_estimate,
    krippendorff_alpha,
)
from askew.types import Scale

VALUES = 4
SCALES: tuple[Scale, ...] = ("nominal", "ordinal")

tables = st.tuples(st.integers(2, 6), st.integers(2, 12)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, VALUES - 1))
)


def planted(
    raters: int, items: int, right: float, rng: np.random.Generator, overlap: int | None = None
) -> np.ndarray:
    """Return labels of raters who are right with this probability, else draw one of two values."""
    truth = rng.integers(0, 2, items)
    guesses = rng.integers(0, 2, (raters, items))
    ratings = np.where(rng.random((raters, items)) < right, truth, guesses)
    if overlap is not None:
        ranks = rng.random((raters, items)).argsort(axis=0)
        ratings = np.where(ranks < overlap, ratings, -1)
    return ratings


@pytest.mark.parametrize("scale", SCALES)
@given(ratings=tables)
def test_alpha_equals_the_package_krippendorff(scale: Scale, ratings: np.ndarray) -> None:
    pairable = ratings[:, (ratings >= 0).sum(axis=0) >= 2]
    if len(np.unique(pairable[pairable >= 0])) < 2:
        with pytest.raises(NotEnoughData):
            krippendorff_alpha(ratings, VALUES, scale)
        return
    expected = krippendorff.alpha(
        reliability_data=np.where(ratings < 0, np.nan, ratings),
        level_of_measurement=scale,
        value_domain=list(range(VALUES)),
    )
    assert krippendorff_alpha(ratings, VALUES, scale) == pytest.approx(expected, abs=1e-9)


def test_alpha_of_krippendorffs_example() -> None:
    # Krippendorff (2011), section C: four observers, twelve units; nominal .743, ordinal .815
    rows = ["123321412   ", "1233224125 3", " 3332342251 ", "12332441251 "]
    ratings = np.full((4, 12), -1)
    for rater, row in enumerate(rows):
        for item, cell in enumerate(row.replace(" ", "0")):
            ratings[rater, item] = int(cell) - 1
    assert krippendorff_alpha(ratings, 5, "nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(ratings, 5, "ordinal") == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize(("scale", "kind"), [("nominal", None), ("ordinal", "quadratic")])
@given(ratings=arrays(np.int64, (2, 15), elements=st.integers(-1, VALUES - 1)))
def test_kappa_equals_statsmodels(scale: Scale, kind: str | None, ratings: np.ndarray) -> None:
    both = ratings[:, (ratings >= 0).all(axis=0)]
    table = np.zeros((VALUES, VALUES))
    np.add.at(table, (both[0], both[1]), 1)
    if not both.size or (len(np.unique(both)) == 1):
        with pytest.raises(NotEnoughData):
            cohen_kappa(ratings, VALUES, scale)
        return
    expected = cohens_kappa(table, wt=kind, return_results=False)
    assert cohen_kappa(ratings, VALUES, scale) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=15)
@given(ratings=tables, seed=st.integers(0, 9))
def test_order_of_raters_and_items_does_not_matter(ratings: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(rng.permutation(ratings, axis=0), axis=1)
    try:
        alpha = krippendorff_alpha(ratings, VALUES)
    except NotEnoughData:
        return
    assert krippendorff_alpha(shuffled, VALUES) == pytest.approx(alpha)
    assert alpha <= 1


@pytest.mark.parametrize("right", [0.0, 0.5, 0.9])
def test_alpha_of_planted_raters_is_the_square_of_their_reliability(right: float) -> None:
    ratings = planted(12, 4000, right, np.random.default_rng(1), overlap=3)
    assert krippendorff_alpha(ratings, 2) == pytest.approx(right**2, abs=0.03)


def test_full_agreement_has_an_interval_that_shrinks_with_the_items() -> None:
    rng = np.random.default_rng(0)
    few = alpha_estimate(np.tile([0, 1] * 5, (3, 1)), 2, rng=rng, draws=50)
    many = alpha_estimate(np.tile([0, 1] * 50, (3, 1)), 2, rng=rng, draws=50)
    assert few.value == many.value == 1
    assert few.low is not None
    assert few.low < (many.low or 0) < 1


def test_two_raters_are_not_resampled() -> None:
    ratings = planted(2, 40, 0.8, np.random.default_rng(3))
    rng = np.random.default_rng(0)
    assert alpha_estimate(ratings, 2, rng=rng, draws=50).interval == "bootstrap over items"
    assert alpha_estimate(ratings, 2, rng=rng, draws=50, over="raters").low is None
    with pytest.raises(ValueError, match="two raters"):
        kappa_estimate(planted(3, 9, 0.5, rng), 2, rng=rng)


def test_raters_who_differ_widen_the_interval_over_raters() -> None:
    rng = np.random.default_rng(4)
    careful = planted(6, 300, 0.95, rng)
    truth = np.round(careful.mean(axis=0)).astype(np.int64)
    hasty = np.where(rng.random((3, 300)) < 0.2, truth, rng.integers(0, 2, (3, 300)))
    ratings = np.vstack([careful, hasty])
    of_items = alpha_estimate(ratings, 2, rng=rng, draws=200, over="items")
    of_both = alpha_estimate(ratings, 2, rng=rng, draws=200)
    assert width(of_both) > 2 * width(of_items)


def width(estimate: object) -> float:
    return float(estimate.high - estimate.low)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["alpha", "kappa"])
def test_intervals_hold_the_agreement_of_planted_raters(kind: str) -> None:
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        if kind == "alpha":
            ratings = planted(30, 150, 0.8, rng, overlap=3)
            estimate = alpha_estimate(ratings, 2, rng=rng, draws=300, over="items")
        else:
            estimate = kappa_estimate(planted(2, 150, 0.8, rng), 2, rng=rng, draws=300)
        held += bool(estimate.low <= 0.64 <= estimate.high)  # type: ignore[operator]
    assert 0.92 <= held / 200 <= 0.98
