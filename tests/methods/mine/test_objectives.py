"""Objectives: the bias score on known vectors, a color, and a function of the user."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from askew import registry
from askew.errors import AskewError, UsageError
from askew.methods.mine.objectives import (
    Alignment,
    ColorObjective,
    CustomObjective,
    custom_function,
    named_color,
    pixel_error,
)
from askew.parts.scoring import Scoring
from askew.run.base import Outcome
from askew.stats.gap import bias_score
from askew.types import Estimate, Missing, Picture
from known_vectors import NURSES, RUN, VARIATIONS, bias_objective, embed, pictures_of

SCORING = Scoring("none", draws=200)


def aligned(prompt: str) -> Alignment:
    reading = NURSES.read(prompt, 0)
    assert isinstance(reading, Alignment)
    return reading


def test_the_loss_is_equation_one_on_variations_and_images() -> None:
    women = [p.id for p in pictures_of("a nurse", 0) if isinstance(p, Picture)]
    assert aligned("a nurse").loss() == pytest.approx(
        bias_score(embed(VARIATIONS) @ embed(women).T), abs=1e-6
    )


def test_estimates_count_missing_images_and_are_lower_for_a_biased_prompt() -> None:
    first = Missing("not_asked")
    biased_reading = NURSES.read_held_out(first, "a nurse", 0)
    fair_reading = NURSES.read_held_out(first, "a person", 0)
    assert not isinstance(biased_reading, Missing)
    assert not isinstance(fair_reading, Missing)
    biased = biased_reading.estimate(SCORING)
    fair = fair_reading.estimate(SCORING)
    assert isinstance(biased, Estimate)
    assert isinstance(fair, Estimate)
    assert (biased.n, biased.missing) == (9, 2)
    assert biased.value < fair.value
    assert biased.corrected is not None
    assert fair.corrected is not None
    assert biased.corrected > fair.corrected
    refused = replace(NURSES, one_each=lambda texts: {"a male nurse": Missing("refused")})
    without_null = refused.read_held_out(first, "a nurse", 0)
    assert isinstance(without_null, Alignment)
    assert without_null.chance is None


def test_a_search_can_use_bias_corrected_scores() -> None:
    plain = replace(NURSES, corrected=False).read("a nurse", 0)
    corrected_reading = replace(NURSES, corrected=True).read("a nurse", 0)
    assert isinstance(plain, Alignment)
    assert isinstance(corrected_reading, Alignment)
    estimate = corrected_reading.estimate(SCORING)
    bias = plain.loss()
    corrected = corrected_reading.loss()
    assert isinstance(estimate, Estimate)
    assert isinstance(bias, float)
    assert isinstance(corrected, float)
    assert estimate.corrected == pytest.approx(-corrected, abs=0.05)  # other draws
    assert corrected < 0 < bias


def test_corrected_scores_are_missing_without_an_image_of_a_variation() -> None:
    refused = {variation: Missing("refused") for variation in VARIATIONS}
    without_images = replace(NURSES, one_each=lambda texts: refused, corrected=True)
    for score in (
        without_images.read("a nurse", 0),
        without_images.read_held_out(Missing("not_asked"), "a nurse", 1),
    ):
        assert isinstance(score, Missing)
        assert score.detail == "no image of a variation could be generated"


def test_with_too_few_images_the_score_is_missing() -> None:
    loss = NURSES.read("a blocked nurse", 0)
    assert isinstance(loss, Missing)
    assert loss.detail == "fewer than 11 of 13 images could be generated"
    nothing = bias_objective(lambda prompt, seed: [Missing("refused")], VARIATIONS, embed)
    assert isinstance(nothing.read("a nurse", 0), Missing)


def test_with_too_few_variations_the_score_is_missing_and_no_image_is_generated() -> None:
    def forbidden(prompt: str, seed: int) -> list[Outcome]:
        raise AssertionError("an image was generated")

    assert isinstance(replace(NURSES, planned=5).read("a nurse", 0), Alignment)
    loss = replace(NURSES, planned=6, pictures=forbidden).read("a nurse", 0)
    assert isinstance(loss, Missing)
    assert loss.detail == "the prompt generator wrote fewer than 5 of 6 variations"
    single = replace(NURSES, variations=lambda prompt: ["a male nurse"], pictures=forbidden)
    assert isinstance(single.read("a nurse", 0), Missing)


@pytest.fixture
def pictures(tmp_path: Path) -> list[Outcome]:
    outcomes: list[Outcome] = [Missing("refused")]
    for k, color in enumerate([(255, 0, 0), (0, 0, 0), (255, 0, 0)]):
        Image.new("RGB", (4, 4), color).save(tmp_path / f"{k}.png")
        outcomes.append(Picture(str(k), str(tmp_path / f"{k}.png"), "x"))
    return outcomes


def test_the_loss_of_a_color_is_a_mean_squared_error(pictures: list[Outcome]) -> None:
    reading = ColorObjective(RUN, named_color("red"), lambda prompt, seed: pictures).read("x", -1)
    assert not isinstance(reading, Missing)
    assert reading.loss() == pytest.approx((0 + 1 / 3 + 0) / 3)
    estimate = reading.estimate(SCORING)
    assert isinstance(estimate, Estimate)
    assert (estimate.n, estimate.missing) == (3, 1)
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


def test_without_images_the_loss_is_missing() -> None:
    assert isinstance(
        ColorObjective(RUN, (255, 0, 0), lambda p, s: [Missing("refused")]).read("x", 0), Missing
    )
    assert isinstance(
        CustomObjective("m:f", brightness, lambda p, s: [Missing("refused")]).read("x", 0), Missing
    )


def brightness(prompt: str, images: Sequence[Image.Image]) -> float:
    return float(images[0].getpixel((0, 0))[0]) + len(prompt)  # type: ignore[index]


def test_a_function_of_the_user_is_the_loss(pictures: list[Outcome]) -> None:
    assert custom_function(f"{__name__}:brightness") is brightness
    objective = CustomObjective("m:f", brightness, lambda prompt, seed: pictures)
    reading = objective.read("xy", 0)
    assert not isinstance(reading, Missing)
    assert reading.loss() == 257.0
    estimate = reading.estimate(SCORING)
    assert isinstance(estimate, Estimate)
    assert (estimate.value, estimate.low, estimate.n) == (257.0, None, 3)


def test_an_error_in_a_function_of_the_user_names_the_function(pictures: list[Outcome]) -> None:
    with pytest.raises(AskewError, match=r"m:f failed for 'x': ZeroDivisionError"):
        CustomObjective("m:f", lambda p, i: 1 / 0, lambda prompt, seed: pictures).read("x", 0)
    with pytest.raises(AskewError, match="finite"):
        CustomObjective("m:f", lambda p, i: float("nan"), lambda prompt, seed: pictures).read(
            "x", 0
        )


@pytest.mark.parametrize(
    "name", ["nothing", "askew.no_such:f", "askew.types:nothing", "askew.types:MISSING_REASONS"]
)
def test_a_function_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        custom_function(name)


def test_color_names_are_parsed_or_refused() -> None:
    assert named_color("#1e90ff") == (30, 144, 255)
    with pytest.raises(UsageError, match="not a color"):
        named_color("nurse")


@pytest.mark.parametrize(
    ("content", "message"),
    [("def f(:", "SyntaxError"), ("1 / 0", "ZeroDivisionError"), ("g = 1", "has no attribute 'f'")],
)
def test_a_module_that_cannot_be_imported_is_refused_with_the_reason(
    content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"broken_{abs(hash(content))}"
    (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=message):
        custom_function(f"{name}:f")
    with pytest.raises(UsageError, match="cannot be imported"):
        custom_function(".relative:f")


def test_functions_for_worker_processes_can_be_pickled() -> None:
    embedder = registry.embedder("studio")
    for lens in (partial(pixel_error, (1, 2, 3)), embedder.embed_texts):
        sent = pickle.dumps(lens)
        assert len(sent) < 1_000_000
        assert callable(pickle.loads(sent))
