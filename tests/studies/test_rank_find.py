"""`askew rank --find`: rounds of successive halving, held-out images, resumption and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import askew
from askew.cli import run as command
from askew.errors import RunError, UsageError
from askew.methods.mine.skew import SkewReading
from askew.parts.survey.observed import ObservedSet
from askew.prompts.axes import find_axis
from askew.stats.looks import looks
from askew.studies.rank.finding import decided_prompts
from askew.studies.rank.page import answer
from askew.studies.rank.plan import RankPlan
from askew.types import Estimate, Missing, Picture, Prompt
from recorded_runs import in_file

PROMPTS = tuple(
    f"a photo of a {name}" for name in ("nurse", "journalist", "plumber", "musician", "male pilot")
)
SIZE: dict[str, Any] = {
    "find": 2,
    "images": 8,
    "eval_images": 6,
    "vqa": "studio",
    "bootstrap_samples": 100,
}


@pytest.fixture(scope="module")
def finding(tmp_path_factory: pytest.TempPathFactory) -> askew.RankResult:
    folder = tmp_path_factory.mktemp("find")
    return askew.rank(*PROMPTS, **SIZE, run=folder / "run", store=folder / "store")


def test_each_round_halves_the_prompts_and_doubles_the_images(finding: askew.RankResult) -> None:
    first, second = finding.findings.rounds
    assert [entry.images for entry in (first, second)] == [4, 8]
    assert {entry.prompt for entry in first.prompts} == set(PROMPTS)
    assert {entry.prompt for entry in second.prompts} == set(first.survivors)
    assert (len(first.survivors), len(second.survivors)) == (3, 2)
    skews = [entry.skew for entry in second.prompts]
    assert skews == sorted(skews, reverse=True)  # type: ignore[type-var]
    stated = next(entry for entry in first.prompts if "male pilot" in entry.prompt)
    assert stated.skew == 0


def test_the_prompts_that_are_found_are_ranked_by_held_out_images(
    finding: askew.RankResult,
) -> None:
    findings = finding.findings
    assert {prompt.prompt for prompt in findings.ranked} == set(findings.rounds[-1].survivors)
    for prompt in findings.ranked:
        assert isinstance(prompt.score, Estimate)
        assert prompt.score.n == 6
    text = " ".join(answer(findings))
    assert "Successive halving found these 2 prompts among 5" in text
    assert "may be just as biased" in text


def reading_of(gender: Sequence[str]) -> SkewReading:
    """Return a measurement of 8 images whose shares on a second axis are equal."""
    axes = (find_axis("gender"), find_axis("skin_tone"))
    values = [axes[1].values[number % len(axes[1].values)] for number in range(8)]
    pictures = tuple(Picture(f"{gender} {k}", "", "a nurse", k) for k in range(8))
    seen = ObservedSet(
        prompt=Prompt("a nurse"),
        pictures=pictures,
        values={"studio": {"gender": tuple(gender), "skin_tone": tuple(values)}},
        captions=tuple(Missing("not_asked") for _ in pictures),
    )
    return SkewReading(seen=seen, instrument="studio", axes=axes, stated=False)


def test_a_stopped_search_ends_as_if_it_had_not_been_stopped(
    finding: askew.RankResult, tmp_path: Path
) -> None:
    where: dict[str, Any] = {"run": tmp_path / "run", "store": tmp_path / "store"}
    with pytest.raises(RunError, match="Repeat the command to continue"):
        askew.rank(*PROMPTS, **SIZE, **where, budget=20)
    again = askew.rank(*PROMPTS, **SIZE, **where)
    for part in ("ranked", "rounds", "sets"):
        assert in_file(again)[part] == in_file(finding)[part]
    repeated = askew.rank(*PROMPTS, **SIZE, run=finding.folder, store=finding.store, budget=0)
    assert repeated.findings.ranked == finding.findings.ranked


def test_the_dry_run_states_the_images_of_all_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--find", "2", "--images", "8", "--eval-images", "6", "--dry-run"]
    assert command(["rank", *PROMPTS, *sizes]) == 0
    assert "at most 48 " in capsys.readouterr().out  # 5 x 4 + 3 x 4, 2 x 6, and 2 x 2 variations


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"find": 5}, "needs more than 5 prompts"),
        ({"images": 7}, "needs --images 8 or more"),
        ({"objective": "eq1"}, "needs the objective skew"),
        ({"model": "studio/planted,studio"}, "needs a single model"),
    ],
)
def test_other_uses_are_refused(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        askew.rank(*PROMPTS, **{**SIZE, **fields}, run=tmp_path / "run")


def test_a_plan_without_find_keeps_its_hash() -> None:
    data: dict[str, Any] = {"models": [{"name": "m", "model": "m"}], "prompts": ["a", "b"]}
    plan = RankPlan.checked(data)
    assert not {"find", "eval_images"} & plan.deciding().keys()
    assert RankPlan.checked({**data, "find": 1}).images == 128
    many = [f"a photo of {number}" for number in range(400)]
    assert RankPlan.checked({**data, "prompts": many, "find": 5}).images == 4 * 2**6


@pytest.fixture(scope="module")
def until_decided(finding: askew.RankResult) -> askew.RankResult:
    sizes = {**SIZE, "eval_images": None, "max_images": 12}
    folder = finding.folder.parent / "until"
    return askew.rank(*PROMPTS, **sizes, until="decided", run=folder, store=finding.store)


def test_each_found_prompt_stops_at_a_look(until_decided: askew.RankResult) -> None:
    findings = until_decided.findings
    images = {image_set.prompt: image_set.n for image_set in findings.sets}
    assert {prompt.prompt for prompt in findings.ranked} == set(findings.rounds[-1].survivors)
    for prompt in findings.ranked:
        assert prompt.shares is not None
        verdict = prompt.shares.verdict
        assert verdict is not None
        assert images[prompt.prompt] == looks(12)[len(verdict.looks) - 1]
        assert verdict.q < 0.05 or images[prompt.prompt] == 12
        assert isinstance(prompt.score, Estimate)
        assert prompt.score.q == verdict.q
    assert min(images.values()) == 8  # the bias of the first prompt is large
    assert findings.shares_over_prompts == ()
    text = until_decided.markdown()
    assert "up to 12 held-out images of each prompt that was found" in text
    assert "Verdicts were reached with 8" in text
    assert "| images |" in text


def test_a_prompt_is_decided_by_any_axis_after_correction_for_all() -> None:
    biased = reading_of(gender=["male"] * 8)
    assert decided_prompts({"biased": biased}, 48) == {"biased"}
    even = reading_of(gender=["male", "female"] * 4)
    many = {f"even {number}": even for number in range(5)}
    assert decided_prompts({"biased": biased, **many}, 48) == set()


def test_until_needs_find_and_a_maximum_needs_until(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="Add --find 5, or leave out --until"):
        askew.rank(*PROMPTS, until="decided", run=tmp_path / "run")
    with pytest.raises(UsageError, match="Use --max-images instead of --eval-images"):
        askew.rank(*PROMPTS, **SIZE, until="decided", run=tmp_path / "run")
    sizes = ["--find", "2", "--until", "decided", "--dry-run"]
    assert command(["rank", *PROMPTS, *sizes]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "8 to 400 images for each prompt that is found, until its bias" in text
