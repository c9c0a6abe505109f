"""An audit of a diffusers pipeline from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from askew.cli import run as command

Saved = Callable[[str], Path]
PROMPT = "a photo of a nurse"


def audit(
    capfd: pytest.CaptureFixture[str], model: Path, run: Path, *options: str
) -> tuple[int, str, str]:
    capfd.readouterr()
    code = command(
        [
            "audit",
            PROMPT,
            "--model",
            f"diffusers/{model}",
            "--axes",
            "gender",
            "--images",
            "3",
            "--run",
            str(run),
            "-M",
            "num_inference_steps=2",
            "-M",
            "batch_size=2",
            *options,
        ]
    )
    out, err = capfd.readouterr()
    return code, out, err


def test_images_are_generated_counted_and_reused(
    tiny: Saved, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = tiny("stable-diffusion")
    run = tmp_path / "run"
    code, _, err = audit(capfd, model, run)
    assert code == 0, err
    events = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    done_counts = [
        event["done"]
        for event in events
        if event["stage"] == "pictures" and event["kind"] == "batch"
    ]
    assert done_counts == [2, 4, 6, 8, 9]
    results = json.loads((run / "results.json").read_text())
    assert results["environment"]["device"] in ("cpu", "cuda", "mps")
    assert results["model"]["name"] == f"diffusers/{model}"
    assert results["model"]["settings"] == {"guidance_scale": 7.5, "num_inference_steps": 2}
    assert results["missing_pictures"] == []
    warned = [
        line.removeprefix("warning: ") for line in err.splitlines() if not line.startswith("{")
    ]
    assert warned == results["warnings"]
    assert [("VQA" in text, "embedder" in text, str(model) in text) for text in warned] == [
        (True, False, True),
        (False, True, True),
    ], "the studio's instruments, the default, read drawings alone"
    assert "are meaningless" in (run / "report.html").read_text()
    code, out, _ = audit(capfd, model, run, "--dry-run")
    assert code == 0
    assert "(9 stored, 0 left)" in out


@pytest.mark.slow
def test_hidden_images_are_counted_as_missing(
    tiny: Saved, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, err = audit(capfd, tiny("all hidden"), tmp_path / "run")
    assert code == 1, err
    assert "nothing could be measured" in err
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert [entry["missing"] for entry in results["sets"]] == [{"blank_image": 3}] * 3
    assert "Missing: 9 images" in out


def test_settings_are_explained(
    tiny: Saved, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, err = audit(capfd, tiny("stable-diffusion"), tmp_path / "run", "-M", "steps=3")
    assert code == 2
    assert "unknown setting 'steps'" in err
    assert "num_inference_steps" in err
