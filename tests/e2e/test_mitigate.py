"""askew mitigate, end to end on the planted model: chosen, applied, measured, and reused."""

from __future__ import annotations

import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import askew
from askew.cli import run as command
from askew.errors import UsageError
from askew.methods.mitigate.findings import MitigationResult
from askew.methods.mitigate.gather import _technique
from askew.methods.mitigate.plan import MitigationPlan, plan_mitigation
from askew.methods.mitigate.policy import most_drawn
from askew.options import key_values
from askew.stats.intervals import ends
from askew.types import Estimate

NURSE = "a photo of a nurse"
HALVES = {
    "prompt": NURSE,
    "parts": [
        {"text": f"a photo of a {gender} nurse", "weight": 0.5} for gender in ("male", "female")
    ],
}


@pytest.fixture(scope="module")
def mitigated(tmp_path_factory: pytest.TempPathFactory) -> MitigationResult:
    run = tmp_path_factory.mktemp("mitigate") / "run"
    return askew.mitigate(
        NURSE,
        model="studio/planted",
        axes="gender,clothing",
        monitor=["age"],
        images=16,
        eval_images=24,
        bootstrap_samples=100,
        run=run,
    )


def test_the_mitigation_helps_and_the_page_reports_it(mitigated: MitigationResult) -> None:
    (technique,) = mitigated.findings.techniques
    assert {entry.axis for entry in technique.helped} >= {"gender"}
    assert all(
        entry.is_target == (entry.axis in ("gender", "clothing")) for entry in technique.axes
    )
    assert technique.harmed == []
    assert "closer to the target on perceived gender" in mitigated.page.detail
    gender = next(entry for entry in technique.axes if entry.axis == "gender")
    assert isinstance(gender.followed, Estimate)
    assert gender.followed.value > 0.9


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> MitigationResult:
    return askew.mitigate(
        NURSE,
        model="studio/planted",
        axes="gender,environment",
        choose_axes=1,
        techniques="prompts,intermit",
        monitor=["age"],
        images=12,
        eval_images=12,
        bootstrap_samples=100,
        run=tmp_path_factory.mktemp("choose") / "run",
    )


@pytest.mark.slow
def test_the_axis_is_chosen_that_brings_all_axes_closest(chosen: MitigationResult) -> None:
    choice = chosen.findings.choice
    assert choice is not None
    assert len(choice.axes) == 1
    best, second = choice.best
    assert best.axes == choice.axes
    assert best.deviation <= second.deviation
    assert choice.compared == 2
    assert choice.greedy[1].axes == choice.axes
    before = choice.unmitigated
    assert isinstance(before, Estimate)
    assert isinstance(choice.predicted, Estimate)
    assert choice.predicted.mark < before.mark


@pytest.mark.slow
def test_the_choice_is_measured_in_held_out_images(chosen: MitigationResult) -> None:
    choice = chosen.findings.choice
    assert choice is not None
    by_name = {entry.technique: entry for entry in chosen.findings.techniques}
    overall = by_name["prompts"].overall
    assert overall is not None
    assert overall.mitigated == choice.axes
    assert isinstance(overall.change, Estimate)
    assert overall.change.value == pytest.approx(overall.after - overall.before)
    assert overall.change.value < 0
    intermit = by_name["intermit"].overall
    assert intermit is not None
    assert intermit.mitigated[0] == choice.greedy[1].axes[0]
    assert "Out of 2 axes, mitigating" in chosen.page.detail


def test_more_axes_than_there_are_cannot_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--model", "studio/planted", "--axes", "gender", "--choose-axes", "2"]
    assert command(["mitigate", NURSE, *options]) == 2
    assert "--choose-axes 2 exceeds the number of axes" in capsys.readouterr().err


def test_a_change_is_the_value_after_minus_the_value_before(mitigated: MitigationResult) -> None:
    (technique,) = mitigated.findings.techniques
    for entry in technique.axes:
        assert isinstance(entry.before, Estimate)
        assert isinstance(entry.after, Estimate)
        assert isinstance(entry.change, Estimate)
        assert entry.change.value == pytest.approx(entry.after.mark - entry.before.mark)
        assert entry.change.low is not None
        assert entry.change.high is not None
        assert entry.change.low <= entry.change.value <= entry.change.high


def test_predicted_deviations_are_shown_with_measured_ones(mitigated: MitigationResult) -> None:
    """The fitted weights reach the target on the fitting images; the interval covers new images."""
    (technique,) = mitigated.findings.techniques
    gender = next(entry for entry in technique.axes if entry.axis == "gender")
    assert isinstance(gender.predicted, Estimate)
    assert gender.predicted.value < 0.02
    assert ends(gender.predicted)[1] > 0.03
    within = sum(entry.as_predicted for entry in technique.axes)
    assert (
        f"{within} of 3 measured deviations lie within their predicted interval"
        in mitigated.report.read_text(encoding="utf-8")
    )


@pytest.mark.slow
def test_a_page_of_several_prompts_shows_each(tmp_path: Path) -> None:
    prompts = [NURSE, "a photo of a firefighter"]
    result = askew.mitigate(
        prompts,
        model="studio/planted",
        axes="gender",
        monitor=[],
        images=6,
        eval_images=8,
        bootstrap_samples=100,
        embedder="none",
        run=tmp_path / "run",
    )
    page = result.report.read_text(encoding="utf-8")
    assert all(
        f"“{prompt}”: images in the same column have the same seed" in page for prompt in prompts
    )
    for technique in result.findings.techniques:
        assert f"% of {technique.axes[0].followed.n}" in page
    bars = page.split("Images with the same seeds")[0]
    assert all(prompt in bars for prompt in prompts)


def test_evaluation_images_are_not_used_for_planning(mitigated: MitigationResult) -> None:
    from askew.store.keys import picture_seed

    planned = {picture_seed(0, NURSE, k) for k in range(24)}
    assert planned.isdisjoint(seed for entry in mitigated.findings.sets for seed in entry.seeds)
    before, after = mitigated.findings.sets
    assert before.seeds == after.seeds


@pytest.mark.slow
def test_every_command_accepts_the_file(mitigated: MitigationResult, tmp_path: Path) -> None:
    file = mitigated.file()
    again = askew.audit(
        NURSE,
        model="studio/planted",
        axes="gender",
        images=48,
        mitigation=file,
        store=mitigated.store,
        run=tmp_path / "audit",
    )
    assert again.findings.model.settings["mitigation"] == mitigated.mitigation.fingerprint
    shares = again.findings.shares[0].shares
    assert isinstance(shares["female"], Estimate)
    assert 0.3 < shares["female"].value < 0.7
    texts = {mitigated.mitigation.draw(NURSE, 0, k) for k in range(24)}
    assert any("male" in text for text in texts)


def test_a_dry_run_and_repeating_the_command(
    mitigated: MitigationResult, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        "mitigate",
        NURSE,
        "--model",
        "studio/planted",
        "--axes",
        "gender,clothing",
        "--monitor",
        "age",
    ]
    options += [
        "--images",
        "16",
        "--eval-images",
        "24",
        "--bootstrap-samples",
        "100",
        "--run",
        str(mitigated.folder),
    ]
    before = mitigated.numbers.read_bytes()
    assert command([*options, "--dry-run"]) == 0
    assert "at most" in capsys.readouterr().out
    assert command(options) == 0
    assert mitigated.numbers.read_bytes() == before


@pytest.mark.slow
def test_a_run_killed_before_its_evaluation_continues(
    mitigated: MitigationResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {
        "model": "studio/planted",
        "axes": "gender,clothing",
        "monitor": ["age"],
        "images": 16,
        "eval_images": 24,
    }

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sys.modules["askew.methods.mitigate.gather"], "_evaluation_sets", killed)
        with pytest.raises(KeyboardInterrupt):
            askew.mitigate(NURSE, bootstrap_samples=100, run=tmp_path / "run", **how)
    again = askew.mitigate(NURSE, bootstrap_samples=100, run=tmp_path / "run", **how)
    assert again.findings.techniques == mitigated.findings.techniques
    assert again.findings.mitigations == mitigated.findings.mitigations


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "Give the axes to mitigate"),
        (
            ["--axes", "gender", "--target-shares", "gender=male:.5,female:.6"],
            "sum to 1.1. They must sum to 1",
        ),
        (
            ["--axes", "gender", "--target-shares", "gender=male:.1,femal:.9"],
            "the target shares of gender cannot be used: the reference",
        ),
        (
            ["--axes", "gender", "--target-shares", "age=young:1"],
            "--target-shares contains age, but the target axes are: gender",
        ),
        (
            ["--axes", "gender", "--target-shares", "gender=male"],
            "does not have the form AXIS=VALUE:SHARE",
        ),
        (
            ["--axes", "gender", "--priority", "gender=high"],
            "weights must be numbers, as in gender=2,age=1",
        ),
        (["--axes", "gender", "--technique", "fair"], "fair"),
        (
            ["--axes", "gender", "--technique", "cads"],
            "studio/planted does not provide access to a network; use --technique prompts",
        ),
    ],
)
def test_a_wrong_request_is_an_error_of_one_sentence(
    options: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        command(
            [
                "mitigate",
                NURSE,
                "--model",
                "studio/planted",
                "--run",
                str(tmp_path / "run"),
                *options,
            ]
        )
        == 2
    )
    assert why in capsys.readouterr().err


def test_a_prompt_that_states_the_axis_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        command(["mitigate", "a photo of a male nurse", "--axes", "gender", "--run", str(tmp_path)])
        == 2
    )
    assert "states its gender." in capsys.readouterr().err


def test_a_plan_also_gives_the_files(mitigated: MitigationResult, tmp_path: Path) -> None:
    again = askew.mitigate(
        plan=mitigated.folder / "plan.toml", run=tmp_path / "run", store=mitigated.store
    )
    assert again.file().read_text(encoding="utf-8") == mitigated.file().read_text(encoding="utf-8")


def test_a_setting_of_another_technique_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = [
        "mitigate",
        NURSE,
        "--model",
        "studio/planted",
        "--axes",
        "gender",
        "--technique-arg",
        "fair-difusion:scale=9",
    ]
    assert command(asked) == 2
    assert (
        "--technique-arg contains a setting of fair-difusion, but the techniques are: prompts"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "technique_args",
    [["prompts:rule=independent"], MappingProxyType({"prompts:rule": "independent"})],
)
def test_settings_of_techniques_are_accepted_in_every_form(
    mitigated: MitigationResult, tmp_path: Path, technique_args: Any
) -> None:
    plan = planned(technique_args=key_values(technique_args, "technique_args"))
    assert plan.settings_of("prompts") == {"rule": "independent"}
    with pytest.raises(UsageError, match="but the techniques are"):
        askew.mitigate(
            NURSE,
            model="studio/planted",
            axes="gender",
            technique_args=["cads:noise=1"],
            run=tmp_path,
        )


def planned(**settings: Any) -> MitigationPlan:
    given = {
        "model": "studio/planted",
        "axes": ["gender", "age"],
        "monitor": [],
        "images": 4,
        "eval_images": 4,
    }
    return plan_mitigation([NURSE, "a photo of a chef"], **(given | settings))


def test_targets_differ_between_prompts_or_are_refused() -> None:
    data = planned().model_dump()
    data["prompts"][1]["axes"][0]["reference"] = {"male": 0.2, "female": 0.8}
    plan = MitigationPlan.checked(data, "the plan")
    assert [plan.targets(prompt)["gender"]["male"] for prompt in plan.prompts] == [0.5, 0.2]
    assert {*_technique(plan, "prompts", {"policies": [HALVES]}).targets} == {"age"}
    with pytest.raises(UsageError, match="the prompts have different target shares"):
        MitigationPlan.checked({**data, "techniques": ("prompts", "cads")}, "the plan")


def test_the_largest_number_of_planning_images_is_counted() -> None:
    plans = (planned(max_prompts=0), planned(max_prompts=2), planned(max_stated=1))
    assert [most_drawn(plan, plan.prompts[0]) for plan in plans] == [24 * 6, 24 * 4, 0]
