"""Presets name models that exist, and options take precedence over a preset."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import askew
from askew import registry
from askew.cli import run
from askew.errors import UsageError
from askew.methods.audit.plan import AuditPlan
from askew.methods.interact.plan import plan_interactions
from askew.models.diffusers.recommended import RECOMMENDED
from askew.options import plan_fields
from askew.parts.survey.propose import survey_plan
from askew.presets import Preset, presets, with_preset

PLAN = {"model": "studio/planted", "vqa": None, "embedder": "studio", "model_args": {}}


@pytest.mark.parametrize("preset", presets().values(), ids=presets())
def test_a_preset_names_models_that_exist(preset: Preset) -> None:
    _, model = registry.find("model", preset.model)
    assert model in RECOMMENDED
    for string in preset.vqa:
        assert registry.find("vqa", string)
    assert registry.find("embedder", preset.embedder)
    assert preset.summary
    assert not preset.summary.endswith(".")
    assert 1 < preset.memory_gb < 200
    assert 1 < preset.download_gb < 200


def test_sizes_count_each_network_once() -> None:
    clip = presets()["sd15-clip"]
    blip = presets()["sd15-blip"]
    model = RECOMMENDED["stable-diffusion-v1-5/stable-diffusion-v1-5"]
    assert clip.vqa == (clip.embedder,)
    assert clip.download_gb == pytest.approx(model.download_gb + 1.7)
    assert blip.download_gb == pytest.approx(model.download_gb + 1.7 + 1.5)


def test_a_preset_fills_in_options_that_are_not_given() -> None:
    fields = with_preset("biasconnect-flux", {})
    preset = presets()["biasconnect-flux"]
    assert (fields["model"], fields["vqa"], fields["embedder"]) == (
        preset.model,
        preset.vqa,
        preset.embedder,
    )
    assert fields["model_args"] == {"num_inference_steps": 30, "guidance_scale": 3.5}


def test_options_take_precedence_over_a_preset() -> None:
    settings = {"model_args": {"guidance_scale": 7.0}}
    fields = with_preset("biasconnect-flux", {**settings, "vqa": ("studio",)})
    assert fields["vqa"] == ("studio",)
    assert fields["model_args"] == {"num_inference_steps": 30, "guidance_scale": 7.0}
    other = with_preset("biasconnect-flux", {**settings, "model": "studio/planted"})
    assert other["model"] == "studio/planted"
    assert other["model_args"] == {"guidance_scale": 7.0}, "settings of another model stay with it"


def test_without_a_preset_nothing_changes() -> None:
    assert with_preset(None, PLAN) == PLAN


def test_an_unknown_preset_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        UsageError,
        match=r"unknown preset 'sdxl-clap'. Did you mean 'sdxl-clip'\? Known:.*sd15-clip",
    ):
        askew.audit("a nurse", preset="sdxl-clap")
    assert run(["audit", "a nurse", "--preset", "nothing"]) == 2
    assert "sdxl-qwen-vl" in capsys.readouterr().err


def test_a_preset_with_options_on_the_command_line_and_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = ("--model", "studio/planted", "--vqa", "studio", "--embedder", "none")
    assert run(["audit", "a photo of a nurse", "--preset", "sdxl-clip", *chosen, "--dry-run"]) == 0
    assert "images" in capsys.readouterr().out
    result = askew.audit(
        "a photo of a nurse",
        preset="biasconnect-flux",
        model="studio/planted",
        vqa="studio",
        embedder="none",
        axes=["gender"],
        images=2,
    )
    expected = survey_plan(
        AuditPlan,
        ["a photo of a nurse"],
        axes=["gender"],
        model="studio/planted",
        vqa=["studio"],
        embedder="none",
        images=2,
    )
    assert result.plan == expected


def test_interactions_use_a_preset_except_its_embedder() -> None:
    fields = plan_fields({"preset": "sd15-clip", "model": "studio/planted"})
    plan = plan_interactions(["a photo of a nurse"], axes=["gender"], **fields)
    assert (plan.vqa, plan.embedder) == (presets()["sd15-clip"].vqa, "none")


def test_maps_use_the_model_and_the_vqa_of_a_preset() -> None:
    preset = presets()["sd15-clip"]
    fields = plan_fields({"preset": "sd15-clip", "offload": True, "embedder": "none"})
    assert fields == {
        "model": preset.model,
        "vqa": preset.vqa,
        "model_args": {"offload": True},
        "embedder": "none",
    }
    chosen = {"model": "studio", "vqa": ("studio",), "model_args": {"offload": True}}
    assert plan_fields({**chosen, "preset": "sd15-clip", "embedder": "none"}) == {
        **chosen,
        "embedder": "none",
    }
    assert plan_fields({"preset": None, "offload": False}) == {}


@pytest.mark.slow
def test_a_preset_on_the_command_line_of_searches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    size = [
        "--iterations",
        "1",
        "--population",
        "2",
        "--selected",
        "1",
        "--mutations",
        "1",
        "--images",
        "2",
    ]
    chosen = [
        "--model",
        "studio/planted",
        "--embedder",
        "studio",
        "--no-random-search",
        "--run",
        "run",
    ]
    assert run(["mine", "--preset", "sd15-clip", "-M", "bias=0.5", *chosen, *size]) == 0
    plan = tomllib.loads(Path("run/plan.toml").read_text())
    assert (plan["model"], plan["model_args"], plan["embedder"]) == (
        "studio/planted",
        {"bias": 0.5},
        "studio",
    )
    assert run(["mine", "--preset", "nothing"]) == 2
    assert "unknown preset 'nothing'" in capsys.readouterr().err


def test_a_preset_and_offload_on_the_command_line_of_maps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [
        "map",
        "a photo of a nurse",
        "--against",
        "nurse",
        "--concept",
        "gender",
        "--images",
        "2",
        "--dry-run",
    ]
    chosen = ["--model", "studio", "--vqa", "studio"]
    assert run([*arguments, *chosen, "--preset", "sd15-clip", "--offload"]) == 0
    assert "images      2" in capsys.readouterr().out
    assert run([*arguments, "--preset", "nothing"]) == 2
    assert "unknown preset 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["audit", "interact", "edit", "classify", "map", "mine"])
def test_every_command_that_generates_images_takes_both_options(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run([command, "--help"]) == 0
    output = capsys.readouterr().out
    assert "--preset" in output
    assert "--offload" in output


def test_presets_are_listed_with_their_sizes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["models"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "sd15-clip" in line]
    assert len(lines) == 1
    assert lines[0].count(" GB") == 2
