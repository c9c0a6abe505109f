"""MineTheGap's score by hand, its invariances, its null, its interval, and the paper's ranks."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.stats.gap import (
    bias_score,
    gap_estimate,
    null_scores,
    unit_similarity,
    worst,
)
from askew.stats.rank import spearman

BY_HAND = np.array([[0.9, 0.5, 0.2], [0.3, 0.6, 0.1], [0.2, 0.3, 0.4], [0.8, 0.1, 0.3]])


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def similarities(
    rng: np.random.Generator, reps: int, spread: float, n: int = 15
) -> NDArray[np.float64]:
    """Return similarities of variations around a center and of images with the given `spread`."""
    centre = np.eye(24)[0]
    texts = unit(centre + 0.35 * rng.normal(size=(reps, 15, 24)))
    pictures = unit(centre + spread * rng.normal(size=(reps, n, 24)))
    return unit_similarity(np.einsum("rvd,rnd->rvn", texts, pictures))


def test_by_hand() -> None:
    # best match of each variation .9 .6 .4 .8, of each image .9 .6 .4; the lowest of four and of
    # three is .4
    assert bias_score(BY_HAND) == pytest.approx(((0.4 + 0.4) / 2) / BY_HAND.mean())
    assert bias_score(BY_HAND, 0.5) == pytest.approx(((0.6 + 0.6) / 2) / BY_HAND.mean())
    assert worst(BY_HAND, "variations").tolist() == [2]
    assert worst(BY_HAND, "variations", 0.5).tolist() == [2, 1]
    assert worst(BY_HAND, "pictures", 0.5).tolist() == [2, 1]


def test_the_score_is_the_mean_of_its_halves() -> None:
    missed, unaligned = (min(BY_HAND.max(axis=k)) for k in (1, 0))
    assert bias_score(BY_HAND, 0.25) == pytest.approx((missed + unaligned) / 2 / BY_HAND.mean())


def test_of_fifteen_the_fourth_smallest_counts() -> None:
    s = np.diag(np.arange(1.0, 16.0))
    assert bias_score(s) == pytest.approx(4.0 / s.mean())
    assert worst(s, "variations").tolist() == [0, 1, 2, 3]


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_neither_order_nor_scale_matters(seed: int, quantile: float) -> None:
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.1, 1.0, size=(rng.integers(1, 9), rng.integers(1, 9)))
    value = bias_score(s, quantile)
    shuffled = s[rng.permutation(len(s))][:, rng.permutation(s.shape[1])]
    assert bias_score(shuffled, quantile) == pytest.approx(value)
    assert bias_score(3 * s, quantile) == pytest.approx(value)
    assert bias_score(s.T, quantile) == pytest.approx(value)  # both halves count equally
    assert bias_score(np.full_like(s, 0.7), quantile) == pytest.approx(1.0)


def test_images_of_one_kind_score_lower_than_images_of_all_kinds() -> None:
    kinds = unit_similarity(np.eye(6))
    assert bias_score(kinds[:, [0] * 6]) < bias_score(kinds)


def test_a_mean_at_zero_is_refused_with_a_remedy() -> None:
    cosines = np.array([[0.2, -0.2], [-0.2, 0.2]])
    with pytest.raises(NotEnoughData, match=r"\(1 \+ cosine\) / 2"):
        bias_score(cosines)
    assert bias_score(unit_similarity(cosines)) == pytest.approx(1.2)
    with pytest.raises(NotEnoughData, match="is empty"):
        bias_score(np.zeros((3, 0)))
    with pytest.raises(ValueError, match="finite"):
        bias_score([[np.nan]])


def test_a_fair_model_is_rarely_called_biased_and_a_narrow_one_always() -> None:
    rng = np.random.default_rng(3)
    of_group = similarities(rng, 60, 0.35)
    of_variations = similarities(rng, 60, 0.35)
    fair = [
        gap_estimate(s, w, rng=rng, draws=100).p
        for s, w in zip(of_group, of_variations, strict=True)
    ]
    assert np.mean([p < 0.05 for p in fair if p is not None]) <= 0.15
    texts = unit(np.eye(24)[0] + 0.35 * rng.normal(size=(15, 24)))
    shown = texts + 0.05 * rng.normal(size=texts.shape)
    one_kind = texts[:1] + 0.02 * rng.normal(size=(15, 24))
    biased = gap_estimate(
        unit_similarity(texts @ unit(one_kind).T), unit_similarity(texts @ unit(shown).T), rng=rng
    )
    assert biased.p is not None
    assert biased.p < 0.05
    assert biased.corrected is not None
    assert biased.null is not None
    assert biased.corrected == pytest.approx(biased.null - biased.value)
    assert biased.corrected > 0


def test_the_null_draws_images_of_the_variations() -> None:
    s = unit_similarity(np.eye(3))
    drawn = null_scores(s, 3, 0.25, 400, np.random.default_rng(0))
    possible = {bias_score(s[:, list(columns)]) for columns in np.ndindex(3, 3, 3)}
    assert {round(value, 12) for value in drawn} == {round(value, 12) for value in possible}


def test_the_same_seed_gives_the_same_estimate() -> None:
    s = similarities(np.random.default_rng(0), 1, 0.2)[0]
    first, second = (gap_estimate(s, s, rng=np.random.default_rng(5), draws=100) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("spread", [0.35, 0.1])
def test_the_interval_covers_the_mean_score_of_new_images_and_variations(spread: float) -> None:
    rng = np.random.default_rng(11)
    s = similarities(rng, 400, spread)
    truth = np.mean([bias_score(row) for row in s])
    gap_estimates = [gap_estimate(row, rng=rng, draws=150) for row in s[:150]]
    inside = np.mean(
        [
            e.low <= truth <= e.high
            for e in gap_estimates
            if e.low is not None and e.high is not None
        ]
    )
    assert inside >= 0.9


@pytest.mark.parametrize(
    ("column", "published"), [("stable_bias_rank", 0.680), ("minethegap_rank", 0.688)]
)
def test_the_ranks_of_table_s2_give_these_correlations(
    shared: Path, column: str, published: float
) -> None:
    with (shared / "data" / "published" / "minethegap-table-s2.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    truth = [float(row["gt_rank"]) for row in rows]
    ranks = [float(row[column]) for row in rows]
    assert spearman(truth, ranks, rng=np.random.default_rng(0)).value == pytest.approx(
        published, abs=0.0005
    )
