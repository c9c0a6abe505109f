"""The command `power`: its tables, its designs, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askew.cli import run
from askew.parts.survey.verdicts import family_size, survey_shares
from askew.plan import Plan, read_plan
from askew.stats.power import exchange_power, fit_power, images_needed
from askew.studies.power.designs import design_of_plan
from planted_sets import planted_sets


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["power", *arguments]) == 0, capsys.readouterr().err
    return " ".join(capsys.readouterr().out.split())


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    return list(json.loads(printed(capsys, *arguments, "--json")))


def test_images_for_deviations_and_powers(capsys: pytest.CaptureFixture[str]) -> None:
    planned = rows(capsys, "--values", "2", "--effect", "0.2,0.4", "--power", "0.8,0.9")
    assert [(row["effect"], row["power"]) for row in planned] == [
        (0.2, 0.8),
        (0.2, 0.9),
        (0.4, 0.8),
        (0.4, 0.9),
    ]
    for row in planned:
        assert row["images"] == images_needed(
            fit_power, (0.5, 0.5), float(str(row["effect"])), power=float(str(row["power"]))
        )


def test_power_and_deviation_of_given_images(capsys: pytest.CaptureFixture[str]) -> None:
    of_effect = rows(capsys, "--images", "48", "--effect", "0.2", "--axes", "8", "--compare")
    assert of_effect[0]["power"] == exchange_power(48, (0.5, 0.5), 0.2, 0.05 / 8)
    of_power = rows(capsys, "--images", "48", "--power", "0.9", "--reference", "0.9,0.1")
    deviation = float(str(of_power[0]["effect"]))
    assert fit_power(48, (0.9, 0.1), deviation + 1e-3, 0.05) >= 0.9


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "plan.toml"
    prompts = ["a photo of a nurse", "a photo of a chef"]
    assert run(["plan", *prompts, "--axes", "gender,age", "--output", str(path)]) == 0
    return path


def test_a_plan_gives_axes_prompts_tests_and_cost(
    plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, str(plan), "--effect", "0.3", "--power", "0.9", "--price", "0.04")
    images = max(
        images_needed(fit_power, (1 / values,) * values, 0.3, level=0.05 / 6) or 0
        for values in (2, 3)
    )
    assert "corrected for 6 tests" in text
    assert f"{images} images per prompt, {2 * images} images for 2 prompts" in text
    assert f"(${2 * images * 0.04:,.2f})" in text
    assert "for counterfactual prompts" in text


def test_the_planned_family_is_the_largest_of_the_verdicts(plan: Path) -> None:
    planned = read_plan(plan)
    assert isinstance(planned, Plan)
    planned = planned.model_copy(update={"vqa": ("truth",), "bootstrap_samples": 100})
    sizes = []
    for seed in range(4):
        observed = {}
        for prompt in planned.prompts:
            initial, _, _ = planted_sets(prompt.text, ["gender", "age"], 16, bias=0.0, seed=seed)
            observed[prompt.text] = [initial]
        sizes.append(family_size(survey_shares(planned, observed, {}).of_sets))
    assert max(sizes) == design_of_plan(planned, "reference").tests


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--effect", "1.2"], "--effect 1.2 is out of range. Give numbers between 0 and 1"),
        (["--power", "0"], "--power 0 is out of range"),
        (["--images", "0"], "--images 0 is out of range"),
        (["--values", "1"], "--values 1 is too small. Give at least 2"),
        (["--reference", "0.5,0.6"], "--reference 0.5,0.6 is invalid"),
        (["--price", "-1"], "--price -1 is out of range"),
        (["nowhere.toml"], "nowhere.toml"),
        (["{plan}", "--axes", "3"], "--axes cannot be used with a plan"),
    ],
)
def test_errors(
    arguments: list[str], message: str, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["power", *[text.format(plan=plan) for text in arguments]]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_an_impossible_deviation_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    impossible = printed(capsys, "--effect", "0.6", "--power", "0.9")
    assert "0.60 –" in impossible
    assert "no shares can deviate this much" in impossible
    assert "–:" not in printed(capsys, "--effect", "0.2", "--power", "0.9")
