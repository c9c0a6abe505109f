"""Tests of searches that add held-out images to the best prompts until verdicts are reached."""

from __future__ import annotations

from typing import Any

import pytest

import askew
from askew.cli import run as command
from askew.errors import UsageError
from askew.methods.mine import METHOD
from askew.methods.mine.gather import sought, stopping_rule
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.size import search_work
from askew.methods.mine.skew import SkewReading
from askew.methods.mine.stopping import sequential_shares, undecided_prompts
from askew.models.planted import PlantedModel
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.prompts.axes import find_axis
from askew.stats.looks import looks, sequential_p
from askew.types import Missing, Picture, Prompt

GENDER = find_axis("gender")
PLAN = MinePlan(
    until="decided",
    eval_images=24,
    iterations=1,
    population=3,
    selected=1,
    mutations=2,
    images=3,
    top=2,
    bootstrap_samples=100,
)


def reading(labels: str, prompt: str = "a photo of a nurse") -> SkewReading:
    """Return a reading of images with the labels m, f, or - for a missing label."""
    known = {"m": "male", "f": "female", "-": Missing("refused")}
    answers = tuple(known[label] for label in labels)
    pictures = tuple(Picture(f"{prompt} {k}", "", prompt, k) for k in range(len(labels)))
    seen = ObservedSet(
        prompt=Prompt(prompt),
        pictures=pictures,
        values={"studio": {"gender": answers}},
        captions=tuple(Missing("not_asked") for _ in pictures),
    )
    return SkewReading(seen=seen, instrument="studio", axes=(GENDER,), stated=False)


def test_only_prompts_without_a_significant_verdict_get_further_images() -> None:
    readings = {"biased": reading("m" * 12), "even": reading("mf" * 6)}
    assert undecided_prompts(readings, 96) == ["even"]


def test_the_correction_is_over_all_best_prompts() -> None:
    biased = reading("m" * 8)
    assert undecided_prompts({"biased": biased}, 48) == []
    others = {f"even {k}": reading("mf" * 4) for k in range(9)}
    assert "biased" in undecided_prompts({"biased": biased, **others}, 48)


def test_too_few_labels_reach_no_verdict() -> None:
    readings = {"unlabeled": reading("m" * 12 + "-" * 12)}
    assert undecided_prompts(readings, 48) == ["unlabeled"]
    assert sequential_shares(reading("-" * 8), Scoring("none"), 48) is None


def test_a_verdict_stays_after_further_images() -> None:
    shares = sequential_shares(reading("m" * 12 + "f" * 12), Scoring("none", draws=100), 48)
    assert shares is not None
    assert shares.verdict is not None
    p_values = shares.verdict.looks
    assert p_values.index(min(p_values)) == 1
    assert shares.verdict.p == sequential_p(p_values[:2], looks(48), (0.5, 0.5)) < 0.05


def test_the_preview_names_the_rule_and_bounds_the_images() -> None:
    fixed = PLAN.model_copy(update={"until": None})
    assert stopping_rule(PLAN).startswith("8 to 24 images for each best prompt, until its bias")
    assert sought(PLAN) == sought(fixed)
    work = search_work(PLAN, PlantedModel())
    # the best prompts of random search are not tested: they get the images of the first look only
    assert search_work(fixed, PlantedModel()).pictures - work.pictures == 2 * (24 - 8)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a search whose best prompts get 8 to 24 held-out images."""
    folder = tmp_path_factory.mktemp("stopping")
    return METHOD.run(PLAN, run=folder / "run", store=folder / "store")


@pytest.mark.slow
def test_each_best_prompt_stops_at_a_look(run: askew.MiningResult) -> None:
    section = run.findings.minethegap
    images = {
        image_set.prompt: image_set.n for image_set in run.findings.sets if not image_set.axis
    }
    assert section.shares_over_prompts == ()
    for prompt in section.best:
        assert prompt.shares is not None
        verdict = prompt.shares.verdict
        assert verdict is not None
        assert images[prompt.prompt] == looks(24)[len(verdict.looks) - 1]
        assert verdict.q < 0.05 or images[prompt.prompt] == 24
    random = section.random
    assert random is not None
    of_random = [prompt.held_out_score for prompt in random.best]
    assert {score.n for score in of_random if isinstance(score, askew.Estimate)} == {8}


@pytest.mark.slow
def test_the_page_lists_the_images_of_each_best_prompt(run: askew.MiningResult) -> None:
    text = run.markdown()
    assert "| images |" in text
    assert "up to 24 held-out images for each best prompt" in text
    biased = [best for best in run.findings.minethegap.best if best.shares.verdict.q < 0.05]  # type: ignore[union-attr]
    assert ("Verdicts were reached with" in text) == bool(biased)
    assert ("undecided with 24 held-out images" in text) == (len(biased) < 2)


def test_options_that_exclude_each_other_are_named() -> None:
    with pytest.raises(UsageError, match="Use --max-images instead of --eval-images"):
        askew.mine(until="decided", eval_images=24)
    with pytest.raises(UsageError, match="Add --until decided, or use --eval-images"):
        askew.mine(max_images=24)


def test_the_default_maximum_is_that_of_an_audit(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["mine", "--until", "decided", "--dry-run"]) == 0
    assert "8 to 400 images for each best prompt" in " ".join(capsys.readouterr().out.split())
