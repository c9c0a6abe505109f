"""Objectives: the bias score on vectors that are known, a colour, and a function of the user's own."""

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
    found = NURSES.read(prompt, 0)
    assert isinstance(found, Alignment)
    return found


def test_it_is_equation_one_on_variations_and_pictures() -> None:
    women = [p.id for p in pictures_of("a nurse", 0) if isinstance(p, Picture)]
    assert aligned("a nurse").loss() == pytest.approx(
        bias_score(embed(VARIATIONS) @ embed(women).T), abs=1e-6
    )


def test_estimates_count_what_is_missing_and_find_the_lean() -> None:
    first = Missing("not_asked")
    found = [NURSES.read_held_out(first, prompt, 0) for prompt in ("a nurse", "a person")]
    biased, fair = (one if isinstance(one, Missing) else one.estimate(SCORING) for one in found)
    assert isinstance(biased, Estimate)
    assert isinstance(fair, Estimate)
    assert (biased.n, biased.missing) == (9, 2)
    assert biased.value < fair.value
    assert biased.corrected is not None
    assert fair.corrected is not None
    assert biased.corrected > fair.corrected
    alone = replace(
        NURSES, one_each=lambda texts: {"a male nurse": Missing("refused")}
    ).read_held_out(first, "a nurse", 0)
    assert isinstance(alone, Alignment)
    assert alone.chance is None


def test_a_search_may_take_chance_off_every_score() -> None:
    plain, less = (
        replace(NURSES, corrected=corrected).read("a nurse", 0) for corrected in (False, True)
    )
    assert isinstance(plain, Alignment)
    assert isinstance(less, Alignment)
    estimate, (bias, corrected) = less.estimate(SCORING), (plain.loss(), less.loss())
    assert isinstance(estimate, Estimate)
    assert isinstance(bias, float)
    assert isinstance(corrected, float)
    assert estimate.corrected == pytest.approx(-corrected, abs=0.05)  # other draws
    assert corrected < 0 < bias


def test_where_chance_is_taken_off_a_prompt_without_a_picture_of_a_variation_has_no_score() -> None:
    refused = {one: Missing("refused") for one in VARIATIONS}
    unpictured = replace(NURSES, one_each=lambda texts: refused, corrected=True)
    for found in (
        unpictured.read("a nurse", 0),
        unpictured.read_held_out(Missing("not_asked"), "a nurse", 1),
    ):
        assert isinstance(found, Missing)
        assert found.detail == "no image of a variation could be generated"


def test_too_few_pictures_are_missing_not_a_lower_score() -> None:
    loss = NURSES.read("a blocked nurse", 0)
    assert isinstance(loss, Missing)
    assert loss.detail == "fewer than 11 of 13 images could be generated"
    nothing = bias_objective(lambda prompt, seed: [Missing("refused")], VARIATIONS, embed)
    assert isinstance(nothing.read("a nurse", 0), Missing)


def test_fewer_variations_than_were_asked_for_are_missing_too_and_cost_no_picture() -> None:
    def forbidden(prompt: str, seed: int) -> list[Outcome]:
        raise AssertionError("a picture was made")

    assert isinstance(replace(NURSES, planned=5).read("a nurse", 0), Alignment)
    loss = replace(NURSES, planned=6, pictures=forbidden).read("a nurse", 0)
    assert isinstance(loss, Missing)
    assert loss.detail == "the prompt generator wrote fewer than 5 of 6 variations"
    alone = replace(NURSES, variations=lambda prompt: ["a male nurse"], pictures=forbidden)
    assert isinstance(alone.read("a nurse", 0), Missing)


@pytest.fixture
def pictures(tmp_path: Path) -> list[Outcome]:
    found: list[Outcome] = [Missing("refused")]
    for k, color in enumerate([(255, 0, 0), (0, 0, 0), (255, 0, 0)]):
        Image.new("RGB", (4, 4), color).save(tmp_path / f"{k}.png")
        found.append(Picture(str(k), str(tmp_path / f"{k}.png"), "x"))
    return found


def test_a_colour_is_a_mean_squared_error(pictures: list[Outcome]) -> None:
    found = ColorObjective(RUN, named_color("red"), lambda prompt, seed: pictures).read("x", -1)
    assert not isinstance(found, Missing)
    assert found.loss() == pytest.approx((0 + 1 / 3 + 0) / 3)
    estimate = found.estimate(SCORING)
    assert isinstance(estimate, Estimate)
    assert (estimate.n, estimate.missing) == (3, 1)
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


def test_without_pictures_there_is_no_loss() -> None:
    assert isinstance(
        ColorObjective(RUN, (255, 0, 0), lambda p, s: [Missing("refused")]).read("x", 0), Missing
    )
    assert isinstance(
        CustomObjective("m:f", brightness, lambda p, s: [Missing("refused")]).read("x", 0), Missing
    )


def brightness(prompt: str, images: Sequence[Image.Image]) -> float:
    return float(images[0].getpixel((0, 0))[0]) + len(prompt)  # type: ignore[index]


def test_a_function_of_ones_own(pictures: list[Outcome]) -> None:
    assert custom_function(f"{__name__}:brightness") is brightness
    own = CustomObjective("m:f", brightness, lambda prompt, seed: pictures)
    found = own.read("xy", 0)
    assert not isinstance(found, Missing)
    assert found.loss() == 257.0
    estimate = found.estimate(SCORING)
    assert isinstance(estimate, Estimate)
    assert (estimate.value, estimate.low, estimate.n) == (257.0, None, 3)


def test_a_function_that_fails_is_named(pictures: list[Outcome]) -> None:
    with pytest.raises(AskewError, match=r"m:f failed for 'x': ZeroDivisionError"):
        CustomObjective("m:f", lambda p, i: 1 / 0, lambda prompt, seed: pictures).read("x", 0)
    with pytest.raises(AskewError, match="finite"):
        CustomObjective("m:f", lambda p, i: float("nan"), lambda prompt, seed: pictures).read(
            "x", 0
        )


@pytest.mark.parametrize(
    "name", ["nothing", "askew.no_such:f", "askew.types:nothing", "askew.types:MISSING_REASONS"]
)
def test_names_that_lead_nowhere(name: str) -> None:
    with pytest.raises(UsageError):
        custom_function(name)


def test_no_colour() -> None:
    assert named_color("#1e90ff") == (30, 144, 255)
    with pytest.raises(UsageError, match="not a color"):
        named_color("nurse")


@pytest.mark.parametrize(
    ("content", "said"),
    [("def f(:", "SyntaxError"), ("1 / 0", "ZeroDivisionError"), ("g = 1", "has no attribute 'f'")],
)
def test_a_module_that_cannot_be_imported_is_named(
    content: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"broken_{abs(hash(content))}"
    (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=said):
        custom_function(f"{name}:f")
    with pytest.raises(UsageError, match="cannot be imported"):
        custom_function(".relative:f")


def test_what_looks_at_pictures_and_texts_can_be_sent() -> None:
    embedder = registry.embedder("studio")
    for lens in (partial(pixel_error, (1, 2, 3)), embedder.embed_texts):
        sent = pickle.dumps(lens)
        assert len(sent) < 1_000_000
        assert callable(pickle.loads(sent))
