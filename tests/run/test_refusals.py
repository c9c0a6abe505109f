"""Refusals that fall on one group are found, and equal refusals are not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from askew.findings import PictureSet
from askew.run.refusals import refusal_tests, refusal_warnings
from askew.types import Missing, Picture

IMAGES = 48
RUNS = 200


def image_set(value: str | None, refused: int, images: int = IMAGES) -> PictureSet:
    outcomes: list[Picture | Missing] = [Missing("refused", "no")] * refused
    outcomes += [Picture(f"{value} {k}", "", "a nurse", k) for k in range(images - refused)]
    axis = None if value is None else "gender"
    text = "a nurse" if value is None else f"a {value} nurse"
    return PictureSet.of("a nurse", outcomes, axis, value, text)


@pytest.mark.parametrize(
    ("rates", "low", "high"),
    [
        ((0.0, 0.3), 0.9, 1.0),
        ((0.3, 0.3), 0.0, 0.07),
        pytest.param((0.0, 0.0, 0.0, 0.3), 0.9, 1.0, marks=pytest.mark.slow),
        pytest.param((0.2, 0.2, 0.2, 0.2), 0.0, 0.07, marks=pytest.mark.slow),
    ],
)
def test_planted_refusals_are_found(rates: tuple[float, ...], low: float, high: float) -> None:
    rng = np.random.default_rng(5)
    stated = 0
    for _ in range(RUNS):
        sets = [
            image_set(f"value{k}", int(rng.binomial(IMAGES, rate))) for k, rate in enumerate(rates)
        ]
        stated += bool(refusal_warnings(sets))
    assert low <= stated / RUNS <= high


def test_the_p_value_is_that_of_fisher() -> None:
    (test,) = refusal_tests([image_set(None, 20), image_set("male", 2), image_set("female", 9)])
    assert test.p == pytest.approx(scipy.stats.fisher_exact([[9, 39], [2, 46]]).pvalue)
    assert (test.image_set.value, test.refused, test.others_refused) == ("female", 9, 2)


def test_the_sentence_has_both_counts() -> None:
    (sentence,) = refusal_warnings([image_set("male", 0), image_set("female", 14)])
    assert sentence == (
        "refusals differ between groups: 14 of 48 images of 'a female nurse' were refused, and 0 "
        "of 48 images for the other values of gender; significant after correction for 1 test "
        "(q < .001, Fisher's exact test)"
    )


@pytest.mark.parametrize("refused", [(0, 0), (3, 3)])
def test_equal_refusals_are_not_stated(refused: tuple[int, int]) -> None:
    assert refusal_warnings([image_set("male", refused[0]), image_set("female", refused[1])]) == []


def test_one_group_has_no_test() -> None:
    assert refusal_tests([image_set("male", 5)]) == []
