"""Skew: exact on known images, 0 on average for a fair model, and without stated values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from askew.methods.mine.score import best_prompt, with_verdict_of_shares
from askew.methods.mine.skew import SkewObjective, SkewReading, details, variations
from askew.pages.words import has_significant_q
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.prompts.axes import find_axis
from askew.prompts.evolution import Candidate
from askew.run.base import Outcome, Rows
from askew.stats.distance import expected_distance
from askew.types import Axis, Estimate, Missing, Picture, Prompt, Question
from known_vectors import RUN, KnownEmbedder, embed

GENDER = find_axis("gender")
AGE = find_axis("age")
LIGHTING = find_axis("lighting")
SCORING = Scoring("none", draws=200)


def pictures_of(prompt: str, seed: int, images: int) -> Sequence[Outcome]:
    """Images that show nurses as old women and others as a man or a woman in turn.

    Half the images of a blocked prompt are missing.
    """
    shown = ["an old female one"] if "nurse" in prompt else ["a male one", "a female one"]
    outcomes: list[Outcome] = []
    for k in range(images):
        if "blocked" in prompt and k % 2:
            outcomes.append(Missing("refused"))
        else:
            outcomes.append(Picture(f"{shown[k % len(shown)]} {k}", "", prompt, seed))
    return outcomes


def objective(*axes: Axis) -> SkewObjective:
    return SkewObjective(RUN, KnownEmbedder(embed), pictures_of, axes, 6, 10)


def reading(counts: Sequence[int], axis: Axis = GENDER, stated: bool = False) -> SkewReading:
    values = tuple(
        value for value, count in zip(axis.values, counts, strict=True) for _ in range(count)
    )
    images = tuple(Picture(str(k), "", "a nurse") for k in range(len(values)))
    return SkewReading(
        ObservedSet(Prompt("a nurse"), images, {"vqa": {axis.name: values}}, ()),
        "vqa",
        (axis,),
        stated,
    )


def read(prompt: str, *axes: Axis) -> SkewReading:
    skew = objective(*axes).read(prompt, 0)
    assert isinstance(skew, SkewReading)
    return skew


def test_an_image_gets_the_value_of_its_most_similar_variation() -> None:
    assert read("a photo of a nurse", GENDER).seen.counts("known", GENDER) == [0, 6]
    assert read("a photo of a nurse", GENDER).loss() == pytest.approx(-1.0)
    assert read("a photo of a chef", GENDER).seen.counts("known", GENDER) == [3, 3]
    null = expected_distance(6, [0.5, 0.5])
    scale = -1 / (0.5 - null)
    assert read("a photo of a chef", GENDER).loss() == pytest.approx(-scale * null)


def test_an_axis_that_the_prompt_states_has_loss_0_and_needs_no_image() -> None:
    def forbidden(prompt: str, seed: int, images: int) -> Sequence[Outcome]:
        raise AssertionError("an image was generated")

    stated = replace(objective(GENDER), pictures=forbidden).read("a photo of a female nurse", 0)
    assert isinstance(stated, SkewReading)
    assert stated.loss() == 0.0
    assert isinstance(stated.estimate(SCORING), Missing)
    both = read("a photo of a female chef", GENDER, AGE)
    assert both.loss() <= 0.0  # only the other axis counts, if it is biased
    assert [axis.name for axis in both.axes] == ["age"]


def test_only_the_most_biased_axis_is_measured_on_held_out_images() -> None:
    search = objective(AGE, GENDER)
    first = search.read("a photo of a nurse", 0)
    again = search.read_held_out(first, "a photo of a nurse", 7)
    assert isinstance(first, SkewReading)
    assert isinstance(again, SkewReading)
    furthest = max(first.deviations(), key=lambda axis: first.deviations()[axis])  # type: ignore[arg-type,return-value]
    assert again.axes == (furthest,) == (first.axis(),)
    assert (len(first.seen.pictures), len(again.seen.pictures)) == (6, 10)


def test_skew_is_missing_without_a_person_and_with_too_few_images() -> None:
    assert isinstance(objective(GENDER).read("a photo of a table", 0), Missing)
    assert isinstance(variations("a photo of a table", [GENDER]), Missing)
    loss = read("a photo of a blocked nurse", GENDER).loss()
    assert isinstance(loss, Missing)
    assert loss.reason == "refused"
    assert loss.detail == "gender could be labeled in fewer than 5 of 6 images"


class Answers:
    """A VQA model; its answers come from AskingRun."""

    name = fingerprint = "answers"

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        raise NotImplementedError


class AskingRun:
    """A run that answers "female", and that each sixth image has no person."""

    def ask(
        self, vqa: object, pictures: Sequence[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[str]]:
        assert questions[-1] == PERSON
        ids = [image.id for image in pictures if isinstance(image, Picture)]
        return {
            image_id: [*["female"] * (len(questions) - 1), "yes" if k % 6 else "no"]
            for k, image_id in enumerate(ids)
        }


def test_a_vqa_model_labels_images_and_images_without_a_person_are_missing() -> None:
    asked = SkewObjective(AskingRun(), Answers(), pictures_of, (GENDER,), 12, 12)  # type: ignore[arg-type]
    skew = asked.read("a photo of a chef", 0)
    assert isinstance(skew, SkewReading)
    assert skew.seen.counts("answers", GENDER) == [0, 10]
    assert skew.seen.missing("answers", GENDER) == {"no_person": 2}


class SubjectEmbedder(KnownEmbedder):
    """An embedder that distinguishes images of people from all other images."""

    subject_captions: Mapping[str, Sequence[str]] = {
        "person": ("a man", "a woman"),
        "nobody": ("a room",),
    }

    def __init__(self) -> None:
        super().__init__(embed_subjects)


def embed_subjects(texts: Sequence[str]) -> Rows:
    """Return vectors of the texts, with a further coordinate for "room"."""
    room = np.array([[2.0 * ("room" in text)] for text in texts])
    rows = np.hstack([embed(texts), room])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def empty_rooms(rooms: int) -> Callable[[str, int, int], Sequence[Outcome]]:
    """Return a model that shows empty rooms in the first images, and a woman in all others."""

    def pictures(prompt: str, seed: int, images: int) -> Sequence[Outcome]:
        return [
            Picture(f"{'a female room' if k < rooms else 'a female one'} {k}", "", prompt, seed)
            for k in range(images)
        ]

    return pictures


@given(st.integers(0, 12))
def test_an_embedder_gives_images_without_a_person_no_value_of_people(rooms: int) -> None:
    skew = SkewObjective(RUN, SubjectEmbedder(), empty_rooms(rooms), (GENDER,), 12, 12)
    measured = skew.read("a photo of a nurse", 0)
    assert isinstance(measured, SkewReading)
    assert measured.seen.counts("known", GENDER) == [0, 12 - rooms]
    assert measured.seen.missing("known", GENDER) == ({"no_person": rooms} if rooms else {})
    loss = measured.loss()
    estimate = measured.estimate(SCORING)
    if rooms <= 2:
        assert loss == pytest.approx(-1.0)
        assert isinstance(estimate, Estimate)
    else:
        assert isinstance(loss, Missing)
        assert isinstance(estimate, Missing)
        assert (loss.reason, estimate.reason) == ("no_person", "no_person")


def test_axes_that_do_not_describe_people_need_no_person() -> None:
    skew = SkewObjective(RUN, SubjectEmbedder(), empty_rooms(12), (GENDER, LIGHTING), 12, 12)
    measured = skew.read("a photo of a nurse", 0)
    assert isinstance(measured, SkewReading)
    assert sum(measured.seen.counts("known", LIGHTING)) == 12
    assert sum(measured.seen.counts("known", GENDER)) == 0


class EmptyRooms(AskingRun):
    """A run that answers questions about light with the first value, and that nobody is there."""

    def ask(
        self, vqa: object, pictures: Sequence[Outcome], questions: Sequence[Question]
    ) -> dict[str, list[str]]:
        answers = [
            "female" if question.axis == "gender" else LIGHTING.values[0]
            for question in questions[:-1]
        ]
        return {image.id: [*answers, "no"] for image in pictures if isinstance(image, Picture)}


def test_a_vqa_model_labels_the_light_of_an_image_without_a_person() -> None:
    asked = SkewObjective(
        EmptyRooms(),  # type: ignore[arg-type]
        Answers(),
        pictures_of,
        (GENDER, LIGHTING),
        12,
        12,
    )
    skew = asked.read("a photo of a chef", 0)
    assert isinstance(skew, SkewReading)
    assert skew.seen.missing("answers", GENDER) == {"no_person": 12}
    assert skew.seen.counts("answers", LIGHTING)[0] == 12
    only_people = replace(asked, axes=(GENDER,)).read("a photo of a chef", 0)
    assert isinstance(only_people, SkewReading)
    for missing in (only_people.loss(), only_people.estimate(SCORING)):
        assert isinstance(missing, Missing)
        assert missing.reason == "no_person"
        assert "states" not in missing.detail


@given(st.sampled_from([GENDER, AGE]), st.integers(2, 8))
def test_skew_of_a_fair_model_is_0_on_average_and_of_a_single_value_1(axis: Axis, n: int) -> None:
    kinds = len(axis.values)
    tables = [c for c in product(range(n + 1), repeat=kinds) if sum(c) == n]
    losses = [reading(counts, axis).loss() for counts in tables]
    skews = [-loss for loss in losses if isinstance(loss, float)]
    weights = stats.multinomial.pmf(tables, n, [1 / kinds] * kinds)
    assert float(np.dot(skews, weights)) == pytest.approx(0.0, abs=1e-9)
    assert reading([n] + [0] * (kinds - 1), axis).loss() == pytest.approx(-1.0)


def claims(counts: Sequence[Sequence[int]]) -> tuple[BestPrompt, ...]:
    """The best prompts of a search whose held-out images have these counts."""
    prompts = []
    for k, prompt_counts in enumerate(counts):
        prompt = f"a photo of a {('nurse', 'chef', 'lawyer', 'doctor', 'plumber')[k]}"
        evaluated = Candidate(prompt, loss=-1.0)
        held_out = reading(prompt_counts)
        held_out = replace(held_out, seen=replace(held_out.seen, prompt=Prompt(prompt)))
        forms = variations(prompt, [GENDER])
        assert not isinstance(forms, Missing)
        shown = PromptEvidence(
            held_out.seen.pictures, dict.fromkeys(forms["gender"].values(), Missing("refused"))
        )
        candidate = BestCandidate(evaluated, held_out, held_out, shown)
        prompts.append(best_prompt(candidate, 0, SCORING))
    section = MineTheGap("skew", tuple(prompts), (), None, None)
    return with_verdict_of_shares(with_q(section, family), SCORING, {}).best


def test_the_best_prompts_are_tested_on_held_out_shares() -> None:
    biased, uniform = claims([(48, 0), (25, 23)])
    assert biased.shares is not None
    assert isinstance(biased.held_out_score, Estimate)
    assert (biased.held_out_score.value, biased.held_out_score.corrected) == (
        0.5,
        pytest.approx(1.0),
    )
    assert isinstance(biased.shares.distance, Estimate)
    assert biased.shares.distance.q == biased.held_out_score.q
    assert has_significant_q(biased.held_out_score) is True
    assert has_significant_q(uniform.held_out_score) is False
    assert biased.missed_visual_concepts == ("a photo of a female nurse",)
    assert loss_of(biased.held_out_score, is_skew=True) < loss_of(
        uniform.held_out_score, is_skew=True
    )


@pytest.mark.slow
def test_few_searches_of_a_fair_model_report_significant_bias() -> None:
    rng = np.random.default_rng(0)
    claimed = 0
    for _ in range(300):
        best = claims([(int(x), 48 - int(x)) for x in rng.binomial(48, 0.5, 5)])
        claimed += any(has_significant_q(prompt.held_out_score) for prompt in best)
    assert stats.binomtest(claimed, 300, 0.05, alternative="greater").pvalue > 0.01


def test_axes_of_skew_are_known_axes() -> None:
    assert MinePlan(objective="eq1").axes == ()
    assert MinePlan(axes=("Body type",)).axes == ("body_type",)
    assert MinePlan(axes=("age",), images=9, selection="score").images == 9
    with pytest.raises(ValueError, match="--axes needs the objective skew"):
        MinePlan(objective="eq1", axes=("gender",))


@pytest.mark.parametrize(
    ("variation", "stated"),
    [
        ("a photo of an old nurse", {"age": "old"}),
        ("a photo of a male nurse outdoors", {"gender": "male", "environment": "outdoors"}),
        ("a photo of a nurse", {}),
        ("a drawing of a hill", {}),
    ],
)
def test_details_are_the_values_that_only_the_variation_states(
    variation: str, stated: dict[str, str]
) -> None:
    values = details("a photo of a nurse", variation)
    compared = {axis for axis in values if axis in stated or axis == "gender"}
    assert {axis: values[axis] for axis in compared} == stated
