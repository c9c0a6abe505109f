"""The command line as a user types it, on images of the studio world."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from askew.cli import run

SMALL = [
    "--model",
    "studio/planted",
    "--images",
    "6",
    "--axes",
    "gender,age",
    "--bootstrap-samples",
    "100",
]

TINY = ["--model", "studio/planted", "--images", "2", "--axes", "gender"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small finished run."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    assert run(["audit", "a photo of a nurse", *SMALL, "--run", str(folder)]) == 0
    return folder


def results(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return content


def without_environment(folder: Path) -> str:
    return json.dumps({**results(folder), "environment": None})


def test_an_audit_ends_with_the_path_of_a_report(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "a photo of a nurse", *SMALL, "--embedder", "none"]) == 0
    out = capsys.readouterr().out
    last = out.strip().splitlines()[-1]
    assert last.startswith("report: ")
    assert (
        Path(last.removeprefix("report: "))
        .read_text(encoding="utf-8")
        .lower()
        .startswith("<!doctype html>")
    )
    assert all(len(line) <= 80 for line in out.splitlines()[:-1])


def test_repeating_the_command_generates_nothing(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = without_environment(finished)
    assert run(["audit", "a photo of a nurse", *SMALL, "--run", str(finished)]) == 0
    events = [
        json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")
    ]
    assert not [event for event in events if event["kind"] == "batch"]
    assert without_environment(finished) == before


@pytest.mark.slow
def test_two_stores_give_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    assert run(["audit", "a photo of a nurse", *SMALL, "--run", str(tmp_path / "other")]) == 0
    assert without_environment(tmp_path / "other") == without_environment(finished)


@pytest.mark.slow
def test_scores_do_not_depend_on_the_hash_seed(finished: Path, tmp_path: Path) -> None:
    """`test_recorded.py` checks images and answers, as each of its runs has another hash seed."""
    command = [
        "audit",
        "a photo of a nurse",
        *SMALL,
        "--embedder",
        "none",
        "--store",
        str(finished.parent / ".askew"),
    ]
    assert run([*command, "--run", str(tmp_path / "own")]) == 0
    other = [sys.executable, "-m", "askew", *command, "--run", str(tmp_path / "other")]
    subprocess.run(
        other, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "77"}
    )
    assert without_environment(tmp_path / "own") == without_environment(tmp_path / "other")


def test_scores_do_not_depend_on_the_order_of_the_axes(finished: Path, tmp_path: Path) -> None:
    swapped = ["age,gender" if word == "gender,age" else word for word in SMALL]
    store = str(finished.parent / ".askew")
    command = ["audit", "a photo of a nurse", *swapped, "--store", store]
    assert run([*command, "--run", str(tmp_path / "run")]) == 0
    first, swapped_first = (
        results(folder)["tibet"][0]["axes"] for folder in (finished, tmp_path / "run")
    )
    assert {name: axis["cas"] for name, axis in first.items()} == {
        name: axis["cas"] for name, axis in swapped_first.items()
    }
    assert {name: axis["mad"] for name, axis in first.items()} == {
        name: axis["mad"] for name, axis in swapped_first.items()
    }


def test_a_dry_run_counts_and_writes_nothing(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "a photo of a nurse", *SMALL, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "36" in out  # six sets of six images
    assert "108" in out  # two axes and a caption each
    assert list(place.iterdir()) == []


def test_results_are_strict_json_on_request(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(finished), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == results(finished)


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("mad.value >= 0", 3),
        ("gender: mad.n > 1000", 0),
        ("mad.x > 1", 2),
        ("gendr: mad.n > 1000", 2),
    ],
)
def test_fail_if_sets_the_exit_code(finished: Path, condition: str, code: int) -> None:
    command = [
        "audit",
        "a photo of a nurse",
        *SMALL,
        "--run",
        str(finished),
        "--fail-if",
        condition,
    ]
    assert run(command) == code


def test_a_result_that_fails_a_condition_is_shown_nevertheless(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "audit",
        "a photo of a nurse",
        *SMALL,
        "--run",
        str(finished),
        "--fail-if",
        "mad >= 0",
    ]
    assert run(command) == run([*command, "--json"]) == 3
    table, written = capsys.readouterr().out.split("report.html\n")
    assert "Share of the" in table
    assert json.loads(written) == results(finished)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit"], "no prompt is given"),
        (["audit", "  "], "empty"),
        (["audit", "a nurse", "--axes", "gendr"], "Did you mean 'gender'"),
        (["audit", "a nurse", "--axes", ""], "axes: 1 or more must be given"),
        (["audit", "a nurse", "--axes", "gender,gender"], "an axis is named twice: gender, gender"),
        (["audit", "a nurse", "--values", "gender=male,female"], "--vqa labels"),
        (["edit", "--axes", "gender,gender"], "an axis is named twice"),
        (["edit", "--strengths", "0"], "strengths.0: Input should be greater than 0\n"),
        (["rank"], "prompts: 1 or more must be given"),
        (["rank", "--table", "nowhere.csv"], "cannot read the table nowhere.csv: No such file"),
        (
            ["mitigate", "a nurse", "--axes", "gender", "--technique-arg", "rul=1", "--dry-run"],
            "Did you mean 'rule'",
        ),
        (["audit", "a nurse", "--model", "studio/plantd"], "Did you mean 'studio/planted'"),
        (["audit", "a nurse", "--model", "sdxl"], "--model diffusers/ID"),
        (["audit", "a nurse", "--model", "sdxl"], "--preset sdxl-clip"),
        (["audit", "a nurse", "--vqa", "blip"], "--vqa transformers/ID"),
        (["audit", "a nurse", "-M", "bias"], "NAME=VALUE"),
        (
            ["audit", "a nurse", "--model", "studio/planted", "-M", "bias=3"],
            "from 0 (uniform) to 1",
        ),
        (["audit", "a nurse", "-M", "tint=3"], "tint"),
        (["audit", "a nurse", "--images", "0"], "images"),
        (["audit", "a nurse", "--vqa", "labels"], "with --model folder/PATH"),
        (["audit", "a nurse", "a nurse"], "twice"),
        (["audit", "--prompts", "nowhere.txt"], "nowhere.txt"),
        (["audit", "--plan", "nowhere.toml"], "nowhere.toml"),
        (["audit", "--model", "folder/nowhere"], "nowhere"),
        (["audit", "a nurse", "--clean"], "--prompts FILE"),
        (["report", "nowhere"], "nowhere"),
        (["studio", "path", "nothing"], "embedder"),
        (["studio", "truth", "an empty room"], "does not ask the studio for a person"),
    ],
)
def test_wrong_usage_is_an_error_of_one_sentence(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_an_unwritable_run_folder_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "file").write_text("not a folder")
    assert run(["audit", "a photo of a nurse", *SMALL, "--run", "file/run"]) == 1
    assert f"but {place / 'file'} is a file" in capsys.readouterr().err


def test_an_image_in_the_place_of_a_folder_is_named(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "one.png").write_bytes(b"\x89PNG")
    assert run(["audit", "--model", "folder/one.png"]) == 2
    assert "one.png is an image; give the folder that contains it" in capsys.readouterr().err


def test_another_plan_in_the_same_folder_is_refused(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "a photo of a chef", *SMALL, "--run", str(finished)]) == 2
    assert "another" in capsys.readouterr().err


def test_words_that_the_studio_does_not_know_are_named(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "a photo of a nurse juggling", *TINY]) == 0
    assert "'juggling'" in capsys.readouterr().err


def test_axes_are_previewed_edited_and_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "a photo of a nurse"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "a photo of a male nurse" in shown
    planted = ["--axes", "gender", "--model", "studio/planted", "--output", "plan.toml"]
    assert run(["plan", "a photo of a nurse", *planted]) == 0
    text = (place / "plan.toml").read_text(encoding="utf-8")
    (place / "plan.toml").write_text(text.replace("images = 48", "images = 5"), encoding="utf-8")
    assert run(["audit", "--plan", "plan.toml", "--run", "edited"]) == 0
    assert {entry["n"] for entry in results(place / "edited")["sets"]} == {5}


def test_a_finished_run_is_checked(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(finished)]) == 0
    assert "36" in capsys.readouterr().out


@pytest.mark.slow
def test_a_damaged_image_is_found_and_generated_again(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished, tmp_path / "run")
    shutil.copytree(finished.parent / ".askew", tmp_path / ".askew")
    command = ["audit", "a photo of a nurse", *SMALL, "--run", str(tmp_path / "run")]
    before = without_environment(tmp_path / "run")
    victim = next((tmp_path / ".askew" / "pictures").rglob("*.png"))
    victim.write_bytes(b"damaged")
    assert run(["check", str(tmp_path / "run")]) == 1
    assert run(command) == 0
    assert run(["check", str(tmp_path / "run")]) == 0
    assert without_environment(tmp_path / "run") == before


def test_sensitivity_grows_with_the_error_rate(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sensitivity", str(finished), "--json", "--repeats", "5"]) == 0
    rows = json.loads(capsys.readouterr().out)
    if rows[0]["axes"]:
        assert abs(rows[0]["mad"]["value"]) < abs(rows[-1]["mad"]["value"])
    else:  # all within chance: the effect of errors on such scores is noise
        assert all(
            row["mad"]
            == {"reason": "not_asked", "detail": "the MAD of every axis is within chance"}
            for row in rows
        )


def test_providers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"studio/planted", "folder", "labels", "faces", "lexicon"} <= {
        row["name"] for row in rows
    }
    assert all(row["summary"] for row in rows)


def test_the_truth_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["studio", "truth", "a photo of a mechanic"]) == 0
    assert "0.050" in capsys.readouterr().out


def test_versions_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert run(["audit", "--help"]) == 0
    assert "askew audit" in capsys.readouterr().out
