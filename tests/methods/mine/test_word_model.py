"""Signed effects of words: opposite words cancel, stated axes count 0, planted changes are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from askew.methods.mine.findings import WordEffect
from askew.methods.mine.skew import unstated
from askew.methods.mine.word_model import (
    SharePrediction,
    axis_words,
    clearest_change,
    learn_shares,
    word_effects,
)
from askew.parts.survey.shares import DISTANCE
from askew.prompts.axes import find_axis
from askew.prompts.evolution import Candidate
from askew.stats.distance import distance_max, distance_named
from askew.studio.planted import truth
from askew.types import Axis, Estimate

GENDER = find_axis("gender")
AGE = find_axis("age")
MALE, FEMALE = GENDER.values
COUNTS = {
    "a plumber": (9, 1),
    "a plumber outdoors": (8, 2),
    "a nurse": (1, 9),
    "a nurse outdoors": (2, 8),
    "a clerk": (5, 5),
    "a clerk outdoors": (5, 5),
}


def open_axes(text: str) -> Sequence[Axis]:
    return unstated(text, (GENDER, AGE))


def candidates(
    counts: Mapping[str, Sequence[int]], axis: str = "gender", times: int = 3
) -> list[Candidate]:
    entries = []
    for text, of_text in counts.items():
        repeated = [times * count for count in of_text]
        entries.append(Candidate(text, loss=-0.5, counts={axis: repeated}))
    return entries


def learned(counts: Mapping[str, Sequence[int]] = COUNTS) -> SharePrediction:
    prediction = learn_shares(candidates(counts), 1, (GENDER, AGE), open_axes)
    assert prediction is not None
    return prediction


def test_words_of_opposite_effect_cancel_in_a_prompt() -> None:
    expected = learned().expected
    assert expected("a plumber") < -0.6
    assert expected("a nurse") < -0.6
    assert expected("a nurse with a plumber") > -0.2
    assert expected("plumbers") == expected("a plumber")


def test_a_stated_axis_has_no_skew() -> None:
    assert learned().expected("a male plumber") == 0
    assert learned().expected("a bearded plumber") == 0
    assert learned().expected("a red house") == 0


def test_the_largest_skew_of_several_axes_counts() -> None:
    old = candidates(dict.fromkeys(COUNTS, (1, 1, 18)), "age", 1)
    both = [
        Candidate(text, loss=-0.5, counts={"gender": counts, **entry.counts})
        for (text, counts), entry in zip(COUNTS.items(), old, strict=True)
    ]
    prediction = learn_shares(both, 1, (GENDER, AGE), open_axes)
    assert prediction is not None
    assert prediction.expected("a clerk") < -0.5
    assert prediction.expected("an old clerk") > -0.2


def test_a_draw_depends_only_on_the_seed_and_its_number() -> None:
    texts = ["a plumber", "an unknown word", "a nurse who is foreign"]
    draws = learned(), learned()
    in_order = [draws[0].drawn(0)(text) for text in texts]
    reversed_order = [draws[1].drawn(0)(text) for text in reversed(texts)]
    assert in_order == reversed_order[::-1]
    assert in_order != [draws[0].drawn(1)(text) for text in texts]


def test_an_unknown_word_may_be_biased_but_is_not_expected_to_be() -> None:
    prediction = learned()
    drawn = [prediction.drawn(number)("a welder") for number in range(50)]
    assert prediction.expected("a welder") > -0.2
    assert np.mean(drawn) < -0.4


def test_prompts_without_a_loss_teach_nothing() -> None:
    unusable = [Candidate("a nurse", loss=None, counts={"gender": (0, 9)})]
    assert learn_shares(unusable, 0, (GENDER,), open_axes) is None
    assert axis_words(candidates(COUNTS), (AGE,)) == {}


@pytest.mark.parametrize("axis", [GENDER, AGE])
def test_skew_is_the_distance_from_equal_shares_over_the_largest(axis: Axis) -> None:
    words = axis_words(candidates({"a nurse": [1] * len(axis.values)}, axis.name), (axis,))
    shares = np.random.default_rng(0).dirichlet(np.ones(len(axis.values)))
    equal = np.full(len(shares), 1 / len(shares))
    name = DISTANCE[axis.scale]
    wanted = distance_named(name)(shares, equal) / distance_max(equal, name)
    assert words[axis.name].skew(shares) == pytest.approx(float(wanted))


def test_the_clearest_word_comes_first_and_names_the_value_that_gains() -> None:
    effects = word_effects(candidates(COUNTS), (GENDER,), 0.9, seed=0)
    by_word = {effect.word: effect for effect in effects}
    assert {effect.word for effect in effects[:2]} == {"plumber", "nurse"}
    assert by_word["plumber"].value == MALE
    assert by_word["nurse"].value == FEMALE
    assert (by_word["plumber"].prompts, by_word["plumber"].images) == (2, 60)
    change = by_word["outdoors"].change
    assert isinstance(change, Estimate)
    assert change.low is not None
    assert change.high is not None
    assert change.low < 0 < change.high


def test_the_change_of_the_clearest_value_is_reported() -> None:
    rng = np.random.default_rng(0)
    added = rng.normal([0.3, -0.1, -0.2], [0.3, 0.01, 0.2], (500, 3))
    place, change = clearest_change(added, 0.9)
    assert place == 1
    assert change.value == pytest.approx(-0.1, abs=0.01)


JOBS = ("nurse", "plumber", "lawyer", "chef", "secretary", "pilot", "cashier", "carpenter")
DETAILS = ("", " in a park", " with glasses", " in an office")
LOOKS = ("", "bald ", "old ", "slim ")


def planted_counts(seed: int, images: int) -> dict[str, tuple[int, int]]:
    """Return drawn labels of prompts of planted jobs and details."""
    rng = np.random.default_rng(seed)
    counts = {}
    for job in JOBS:
        for look in LOOKS:
            for detail in DETAILS:
                text = f"a {look}{job}{detail}"
                women = int(rng.binomial(images, truth(text, "gender")["female"]))
                counts[text] = (images - women, women)
    return counts


def planted_change(word: str, texts: Sequence[str], value: str) -> float:
    """Return the mean planted change of a value's share where a look is taken from prompts."""
    changes = []
    for text in texts:
        if word in text.split():
            without = text.replace(f"{word} ", "")
            changes.append(truth(text, "gender")[value] - truth(without, "gender")[value])
    return float(np.mean(changes))


@pytest.mark.slow
def test_intervals_contain_the_planted_changes() -> None:
    contained = []
    for seed in range(6):
        counts = planted_counts(seed, 3)
        effects = word_effects(candidates(counts, times=1), (GENDER,), 0.95, seed)
        for effect in effects:
            if effect.word in ("bald", "old", "slim"):
                contained.append(
                    contains(effect, planted_change(effect.word, [*counts], effect.value))
                )
    assert np.mean(contained) >= 0.85


def contains(effect: WordEffect, change: float) -> bool:
    estimate = effect.change
    assert isinstance(estimate, Estimate)
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= change <= estimate.high
