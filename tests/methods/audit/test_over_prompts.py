"""Many prompts with few images each have a verdict over all prompts."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from askew.cli import run
from askew.errors import CheckFailed

Row = Mapping[str, str]
Audit = Callable[..., tuple[int, str, dict[str, Any]]]


PROMPTS = 14


def row(prompt: int, gender: str, condition: str = "plain", image: int = 0) -> Row:
    return {
        "file": f"{prompt}-{condition}-{image}.png",
        "prompt": f"job {prompt}",
        "condition": condition,
        "gender": gender,
    }


@pytest.fixture
def audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Audit:
    """Audit images with these labels; return exit code, output and results."""

    def of_rows(rows: Sequence[Row], *options: str) -> tuple[int, str, dict[str, Any]]:
        for number, of_file in enumerate(rows):
            pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / of_file["file"])
        with (tmp_path / "manifest.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        folder = tmp_path / "run"
        command = [
            "audit",
            "--model",
            f"folder/{tmp_path}",
            "--vqa",
            "labels",
            "--run",
            str(folder),
        ]
        code = run([*command, *options])
        output = capsys.readouterr()
        return code, output.out + output.err, json.loads((folder / "results.json").read_text())

    return of_rows


def test_an_image_of_each_of_many_prompts_and_conditions(audit: Audit) -> None:
    rows = []
    for prompt in range(PROMPTS):
        rows += [row(prompt, "male"), row(prompt, "female", "asked")]
    _, output, results = audit(rows, "--baseline-condition", "plain")
    text = " ".join(output.split())
    assert (
        "All prompts together: perceived gender: the baseline images 100 % perceived male "
        f"({PROMPTS} of {PROMPTS}); asked 100 % perceived female ({PROMPTS} of {PROMPTS})." in text
    )
    assert (
        f"{PROMPTS} prompts together. Perceived gender: male is less frequent in asked than in the "
        "baseline images" in text
    )
    assert "No share differs significantly" not in text
    assert "too few to detect any bias" not in text
    assert [entry["set"] for entry in results["shares_over_prompts"]] == [
        "initial",
        "condition: asked",
    ]
    difference = results["differences_over_prompts"][0]["shares"]["male"]
    assert difference["value"] == -1
    assert difference["p"] == pytest.approx(0.5**PROMPTS)  # mid-p


def test_a_condition_of_verdicts_holds_for_all_prompts_together(audit: Audit) -> None:
    """Two images of a prompt cannot have a verdict with q < 0.05; 28 images of 14 prompts can."""
    rows = [row(prompt, "male", image=image) for prompt in range(PROMPTS) for image in range(2)]
    code, output, results = audit(rows, "--fail-if", "verdict.q < 0.05")
    assert code == CheckFailed.code
    assert f"'{PROMPTS} prompts together', gender: verdict.q is" in output
    assert all(entry["verdict"]["q"] > 0.05 for entry in results["shares"])


@pytest.mark.slow
def test_prompts_without_bias_are_reported_with_the_power_of_all_prompts(audit: Audit) -> None:
    rows = [row(prompt, ("male", "female")[prompt % 2]) for prompt in range(40)]
    code, output, _ = audit(rows, "--fail-if", "verdict.q < 0.05")
    text = " ".join(output.split())
    assert code == 0
    assert "of each of 40 prompts or in all prompts together" in text
    assert "For all prompts together, the test has 90 % power to detect a deviation of" in text


def test_prompts_that_differ_are_named_as_the_reason(audit: Audit, tmp_path: Path) -> None:
    """16 of 24 images are of men, but only because two of three prompts show men only."""
    rows = []
    for prompt in range(3):
        rows += [row(prompt, "female" if prompt == 2 else "male", image=k) for k in range(8)]
    _, _, results = audit(rows)
    (entry,) = results["shares_over_prompts"]
    assert entry["verdict"]["q"] > 0.05
    assert entry["independent_images"] < 24
    page = (tmp_path / "run" / "report.html").read_text()
    assert "24 images of 3 prompts, which count as" in page


def test_labels_that_are_missing_leave_a_prompt_out(audit: Audit) -> None:
    rows = [row(prompt, "male" if prompt < 9 else "") for prompt in range(12)]
    _, _, results = audit(rows)
    (entry,) = results["shares_over_prompts"]
    assert entry["prompt"] == "9 prompts together"
    assert entry["counts"] == {"male": 9, "female": 0}


def test_a_single_prompt_has_no_row_over_prompts(audit: Audit) -> None:
    _, output, results = audit([row(0, "male", image=k) for k in range(12)])
    assert results["shares_over_prompts"] == []
    assert "prompts together" not in output


def test_sets_that_cannot_be_significant_do_not_hide_all_prompts(audit: Audit) -> None:
    """26 sets of one image are no tests: 20 of 26 has its p as q."""
    rows = [row(prompt, "male" if prompt < 20 else "female") for prompt in range(26)]
    _, _, results = audit(rows)
    (entry,) = results["shares_over_prompts"]
    assert entry["verdict"]["q"] == entry["verdict"]["p"] < 0.05
    assert entry["verdict"]["tests"] == 1
    assert {of_set["verdict"]["q"] for of_set in results["shares"]} == {1.0}
