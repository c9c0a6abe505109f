"""Commands on a hosted model: those that work with images only, and those that refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askew.cli import run
from served_models import served

PROMPT = "a photo of a nurse"
MODEL = "openai/studio/planted"
SMALL = ("--axes", "gender", "--images", "4")

WORKING = {
    "audit": ["audit", PROMPT, *SMALL],
    "rank": ["rank", PROMPT, *SMALL],
    "mine": ["mine", "--topic", "people", "--iterations", "1", "--top", "1", *SMALL],
    "mitigate": ["mitigate", PROMPT, "--technique", "prompts", "--eval-images", "4", *SMALL],
}

REFUSING = {
    "map": (["map", PROMPT, "--concept", "gender", "--against", "nurse"], "attention layers"),
    "classify": (["classify", "--groups", "man, woman"], "not its denoising errors"),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("ASKEW_API_KEY", "ASKEW_MODEL_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("command", WORKING)
def test_a_command_runs_on_a_hosted_model(command: str) -> None:
    with served() as server:
        status = run([*WORKING[command], "--model", MODEL, "--model-url", server.url])
        prompts = [json.loads(body)["prompt"] for body in server.bodies]
    assert status == 0
    assert len(prompts) >= 4
    assert command == "mine" or PROMPT in prompts


@pytest.mark.slow
def test_prompts_of_a_search_are_labeled_by_a_hosted_model(tmp_path: Path) -> None:
    search = ["mine", "--topic", "people", "--axes", "gender", "--images", "4", "--run", "run"]
    size = ["--iterations", "1", "--population", "2", "--selected", "1", "--eval-images", "4"]
    with served() as server:
        labeler = ["--vqa", "openai/m", "--vqa-url", server.url, "--vqa-arg", "revision=1"]
        assert run([*search, *size, "--no-random-search", *labeler]) == 0
        assert any("messages" in json.loads(body) for body in server.bodies if body)
    plan = (tmp_path / "run" / "plan.toml").read_text(encoding="utf-8")
    assert 'revision = "1"' in plan or "revision = 1" in plan


def test_a_setting_without_a_labeler_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mine", "--topic", "people", "--vqa-arg", "revision=1"]) == 2
    assert "Choose a VQA model with --vqa" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_two_months_of_a_hosted_model_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    months = ("2026-10", "2026-11")
    biases = (0.0, 1.0)
    for month, bias in zip(months, biases, strict=True):
        with served("studio/planted", bias=bias) as server:
            options = ["--model", MODEL, "--model-url", server.url, "-M", f"revision={month}"]
            assert (
                run(["audit", PROMPT, *options, *SMALL[:2], "--images", "24", "--run", month]) == 0
            )
            assert len(server.bodies) >= 24
    capsys.readouterr()
    assert run(["compare", *months]) == 0
    report = " ".join(capsys.readouterr().out.split())
    assert "2026-11 differs significantly from 2026-10 on perceived gender" in report


@pytest.mark.parametrize("command", REFUSING)
def test_a_command_that_needs_the_network_refuses_in_one_sentence(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words, reason = REFUSING[command]
    with served() as server:
        assert run([*words, "--model", MODEL, "--model-url", server.url]) == 2
        assert server.bodies == []
    error = " ".join(capsys.readouterr().err.split())
    assert error.startswith(f"askew: {MODEL} is a black box")
    assert reason in error
