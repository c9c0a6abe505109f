"""Tests of whether images are missing more often in some sets than in others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import fisher_exact

from askew.parts.scoring import Scoring
from askew.parts.survey.missing_pictures import MissingCount, MissingPictures, missing_pictures
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.sentences import missing_sentence
from askew.types import Missing, Picture, Prompt

NURSE = "a photo of a nurse"
SCORING = Scoring("studio", seed=4)


def sentence(entry: MissingPictures) -> str | None:
    return missing_sentence(entry, "pictures of “a photo of a nurse”")


def observed(axis: str | None, value: str | None, missing: int, planned: int) -> ObservedSet:
    gone = [Missing("blank_image", "the model's own safety checker hid the picture")] * missing
    there = [Picture(f"{value} {k}", "", NURSE) for k in range(planned - missing)]
    return ObservedSet(Prompt(NURSE, axis, value), (*gone, *there), {}, ())


def gender(
    male: tuple[int, int], female: tuple[int, int], initial: tuple[int, int] | None = None
) -> list[ObservedSet]:
    """Return sets with counts (missing, planned); by default the baseline's are those of men."""
    return [
        observed(None, None, *(initial or male)),
        observed("gender", "male", *male),
        observed("gender", "female", *female),
    ]


def test_a_rate_that_differs_is_reported() -> None:
    (entry,) = missing_pictures({NURSE: gender((1, 48), (14, 48))}, SCORING)
    assert entry.counts == {
        "initial": MissingCount(1, 48),
        "male": MissingCount(1, 48),
        "female": MissingCount(14, 48),
    }
    assert entry.q == entry.p < 0.01
    text = sentence(entry)
    assert text is not None
    assert text.startswith(
        "Gender: pictures of “a photo of a nurse” are missing more often for female (14 of 48) "
        "than for the baseline images (1 of 48)"
    )


def test_missing_images_of_only_the_baseline_are_reported() -> None:
    (entry,) = missing_pictures({NURSE: gender((0, 24), (0, 24), (10, 23))}, SCORING)
    expected = "more often for the baseline images (10 of 23) than for male (0 of 24)"
    assert expected in (sentence(entry) or "")


def test_a_difference_expected_by_chance_is_not_reported() -> None:
    (entry,) = missing_pictures({NURSE: gender((2, 48), (4, 48))}, SCORING)
    assert entry.q > 0.3
    assert sentence(entry) is None


def test_a_condition_is_compared_with_the_baseline_images() -> None:
    sets = [observed(None, None, 1, 48), observed("condition", "controlled", 14, 48)]
    (entry,) = missing_pictures({NURSE: sets}, SCORING)
    assert entry.counts == {"initial": MissingCount(1, 48), "controlled": MissingCount(14, 48)}
    assert entry.p == pytest.approx(fisher_exact([[1, 47], [14, 34]]).pvalue, rel=1)
    assert "more often for controlled (14 of 48) than for the baseline images (1 of 48)" in (
        sentence(entry) or ""
    )


def test_many_prompts_share_one_family() -> None:
    sets = {f"prompt {k}": gender((2, 48), (3, 48)) for k in range(9)} | {
        NURSE: gender((0, 48), (5, 48))
    }
    *_, last = missing_pictures(sets, SCORING)
    assert last.p < 0.05 < last.q


@pytest.mark.parametrize(
    "sets", [gender((0, 48), (0, 48)), gender((48, 48), (48, 48)), gender((3, 48), (0, 0))[:1], []]
)
def test_there_is_no_test_where_nothing_could_differ(sets: list[ObservedSet]) -> None:
    assert missing_pictures({NURSE: sets}, SCORING) == ()


def test_equal_rates_are_called_different_about_as_often_as_promised() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.binomial(24, 0.15, (300, 3))
    results = [
        missing_pictures({NURSE: gender((a, 24), (b, 24), (c, 24))}, SCORING)
        for a, b, c in drawn.tolist()
    ]
    assert np.mean([entry.p < 0.05 for group in results for entry in group]) <= 0.08
