"""The score that counts: exact on known pictures, 0 in the mean of a fair model, and blind to what
a prompt says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from askew.findings import with_q
from askew.measure.base import PERSON
from askew.methods.mine.evidence import PromptEvidence
from askew.methods.mine.findings import BestPrompt, MineTheGap, family, loss_of
from askew.methods.mine.gather import BestCandidate
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.score import best_prompt
from askew.methods.mine.skew import SkewObjective, SkewReading, details, variations
from askew.pages.words import has_significant_q
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.prompts.axes import find_axis
from askew.prompts.evolution import Candidate
from askew.run.base import Outcome
from askew.stats.distance import expected_distance
from askew.types import Axis, Estimate, Missing, Picture, Prompt, Question
from known_vectors import RUN, KnownEmbedder, embed

GENDER = find_axis("gender")
AGE = find_axis("age")
SCORING = Scoring("none", draws=200)


def pictures_of(prompt: str, seed: int, images: int) -> Sequence[Outcome]:
    """Nurses are old women, anybody else is now a man, now a woman; a blocked prompt loses half its
    pictures.
    """
    shown = ["an old female one"] if "nurse" in prompt else ["a male one", "a female one"]
    made = [Picture(f"{shown[k % len(shown)]} {k}", "", prompt, seed) for k in range(images)]
    return [
        Missing("refused") if "blocked" in prompt and k % 2 else one for k, one in enumerate(made)
    ]


def objective(*axes: Axis) -> SkewObjective:
    return SkewObjective(RUN, KnownEmbedder(embed), pictures_of, axes, 6, 10)


def reading(counts: Sequence[int], axis: Axis = GENDER, stated: bool = False) -> SkewReading:
    values = tuple(
        value for value, count in zip(axis.values, counts, strict=True) for _ in range(count)
    )
    made = tuple(Picture(str(k), "", "a nurse") for k in range(len(values)))
    return SkewReading(
        ObservedSet(Prompt("a nurse"), made, {"vqa": {axis.name: values}}, ()),
        "vqa",
        (axis,),
        stated,
    )


def read(prompt: str, *axes: Axis) -> SkewReading:
    found = objective(*axes).read(prompt, 0)
    assert isinstance(found, SkewReading)
    return found


def test_a_picture_is_what_its_nearest_variation_says() -> None:
    assert read("a photo of a nurse", GENDER).seen.counts("known", GENDER) == [0, 6]
    assert read("a photo of a nurse", GENDER).loss() == pytest.approx(-1.0)
    assert read("a photo of a chef", GENDER).seen.counts("known", GENDER) == [3, 3]
    even = -1 / (0.5 - expected_distance(6, [0.5, 0.5]))
    null = expected_distance(6, [0.5, 0.5])
    assert read("a photo of a chef", GENDER).loss() == pytest.approx(-even * null)


def test_what_a_prompt_states_counts_nothing_and_costs_no_picture() -> None:
    def forbidden(prompt: str, seed: int, images: int) -> Sequence[Outcome]:
        raise AssertionError("a picture was made")

    stated = replace(objective(GENDER), pictures=forbidden).read("a photo of a female nurse", 0)
    assert isinstance(stated, SkewReading)
    assert stated.loss() == 0.0
    assert isinstance(stated.estimate(SCORING), Missing)
    both = read("a photo of a female chef", GENDER, AGE)
    assert both.loss() <= 0.0  # the other axis alone counts, if it leans
    assert [axis.name for axis in both.axes] == ["age"]


def test_of_several_axes_the_furthest_counts_and_it_alone_is_measured_again() -> None:
    search = objective(AGE, GENDER)
    first = search.read("a photo of a nurse", 0)
    again = search.read_held_out(first, "a photo of a nurse", 7)
    assert isinstance(first, SkewReading)
    assert isinstance(again, SkewReading)
    furthest = max(first.deviations(), key=lambda axis: first.deviations()[axis])  # type: ignore[arg-type,return-value]
    assert again.axes == (furthest,) == (first.axis(),)
    assert (len(first.seen.pictures), len(again.seen.pictures)) == (6, 10)


def test_nothing_that_could_have_a_gender_is_missing_and_so_are_too_few_pictures() -> None:
    assert isinstance(objective(GENDER).read("a photo of a table", 0), Missing)
    assert isinstance(variations("a photo of a table", [GENDER]), Missing)
    loss = read("a photo of a blocked nurse", GENDER).loss()
    assert isinstance(loss, Missing)
    assert loss.detail == "gender could be labeled in fewer than 5 of 6 images"


class Answers:
    """A VQA that sees nobody in every third picture."""

    name = fingerprint = "answers"

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        raise NotImplementedError


class AskingRun:
    """Answers female, and whether there is a person."""

    def ask(
        self, vqa: object, pictures: Sequence[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[str]]:
        assert questions[-1] == PERSON
        ids = [one.id for one in pictures if isinstance(one, Picture)]
        return {
            one: [*["female"] * (len(questions) - 1), "yes" if k % 6 else "no"]
            for k, one in enumerate(ids)
        }


def test_a_vqa_reads_where_there_is_one_and_nobody_is_no_answer() -> None:
    asked = SkewObjective(AskingRun(), Answers(), pictures_of, (GENDER,), 12, 12)  # type: ignore[arg-type]
    found = asked.read("a photo of a chef", 0)
    assert isinstance(found, SkewReading)
    assert found.seen.counts("answers", GENDER) == [0, 10]
    assert found.seen.missing("answers", GENDER) == {"no_person": 2}


@given(st.sampled_from([GENDER, AGE]), st.integers(2, 8))
def test_a_fair_model_leans_0_in_the_mean_and_one_value_is_1(axis: Axis, n: int) -> None:
    kinds = len(axis.values)
    every = [c for c in product(range(n + 1), repeat=kinds) if sum(c) == n]
    leans = [-loss for c in every if isinstance(loss := reading(c, axis).loss(), float)]
    weights = stats.multinomial.pmf(every, n, [1 / kinds] * kinds)
    assert float(np.dot(leans, weights)) == pytest.approx(0.0, abs=1e-9)
    assert reading([n] + [0] * (kinds - 1), axis).loss() == pytest.approx(-1.0)


def claims(counts: Sequence[Sequence[int]]) -> tuple[BestPrompt, ...]:
    """The prompts of a search whose fresh pictures show these."""
    found = []
    for k, own in enumerate(counts):
        prompt = f"a photo of a {('nurse', 'chef', 'lawyer', 'doctor', 'plumber')[k]}"
        evaluated = Candidate(prompt, loss=-1.0)
        fresh = reading(own)
        fresh = replace(fresh, seen=replace(fresh.seen, prompt=Prompt(prompt)))
        forms = variations(prompt, [GENDER])
        assert not isinstance(forms, Missing)
        shown = PromptEvidence(
            fresh.seen.pictures, dict.fromkeys(forms["gender"].values(), Missing("refused"))
        )
        one = BestCandidate(evaluated, fresh, fresh, shown)
        found.append(best_prompt(one, 0, SCORING))
    section = MineTheGap("skew", tuple(found), (), None, None)
    return with_q(section, family).best


def test_a_winner_is_told_by_its_fresh_shares() -> None:
    lean, even = claims([(48, 0), (25, 23)])
    assert lean.shares is not None
    assert isinstance(lean.held_out_score, Estimate)
    assert (lean.held_out_score.value, lean.held_out_score.corrected) == (0.5, pytest.approx(1.0))
    assert isinstance(lean.shares.distance, Estimate)
    assert lean.shares.distance.q == lean.held_out_score.q
    assert (has_significant_q(lean.held_out_score), has_significant_q(even.held_out_score)) == (
        True,
        False,
    )
    assert lean.missed_visual_concepts == ("a photo of a female nurse",)
    assert loss_of(lean.held_out_score, is_skew=True) < loss_of(even.held_out_score, is_skew=True)


@pytest.mark.slow
def test_where_nothing_leans_few_runs_claim_a_winner() -> None:
    rng = np.random.default_rng(0)
    runs = [claims([(int(x), 48 - int(x)) for x in rng.binomial(48, 0.5, 5)]) for _ in range(300)]
    claimed = sum(any(has_significant_q(one.held_out_score) for one in run) for run in runs)
    assert stats.binomtest(claimed, 300, 0.05, alternative="greater").pvalue > 0.01


def test_people_are_searched_for_leans_unless_told_otherwise() -> None:
    plan = MinePlan(topic="people")
    assert (plan.objective, plan.axes, plan.images, plan.selection) == (
        "skew",
        ("gender",),
        5,
        "learned",
    )
    assert MinePlan(topic="people", objective="eq1").axes == ()
    assert MinePlan().objective == "eq1"
    assert MinePlan(axes=("Body type",)).axes == ("body_type",)
    assert MinePlan(axes=("age",), images=9, selection="score").images == 9
    with pytest.raises(ValueError, match="axes need the objective skew"):
        MinePlan(objective="eq1", axes=("gender",))


@pytest.mark.parametrize(
    ("variation", "said"),
    [
        ("a photo of an old nurse", {"age": "old"}),
        ("a photo of a male nurse outdoors", {"gender": "male", "environment": "outdoors"}),
        ("a photo of a nurse", {}),
        ("a drawing of a hill", {}),
    ],
)
def test_what_a_variation_says_beyond_its_prompt_is_read_from_its_words(
    variation: str, said: dict[str, str]
) -> None:
    found = details("a photo of a nurse", variation)
    assert {
        axis: value for axis, value in found.items() if axis in said or axis == "gender"
    } == said
