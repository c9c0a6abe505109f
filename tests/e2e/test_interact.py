"""askew interact as a user types it, on images of the studio world."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import askew
from askew.cli import run
from askew.method import load

ASKED = [
    "a photo of a nurse",
    "--model",
    "studio/planted",
    "--images",
    "8",
    "--axes",
    "gender,age",
    "--bootstrap-samples",
    "100",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small finished run, after an audit of the same prompt and store."""
    place = tmp_path_factory.mktemp("interact")
    assert run(["audit", *ASKED, "--embedder", "none", "--run", str(place / "audit")]) == 0
    more = ["--mitigated", "studio/planted", "--mitigated-arg", "equal={axis}"]
    command = ["interact", *ASKED, *more, "--run", str(place / "run")]
    assert run(command) == 0
    return place / "run"


def results(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return content


def test_a_run_has_a_graph_and_a_report(folder: Path) -> None:
    (entry,) = results(folder)["biasconnect"]
    assert {(e["source"], e["target"]) for e in entry["edges"]} == {
        (x, y) for x in ("gender", "age") for y in ("gender", "age")
    }
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_images_of_an_audit_are_reused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["interact", *ASKED, "--run", str(folder.parent / "other"), "--dry-run"]
    assert run(command) == 0
    out = capsys.readouterr().out
    assert "images      48 (48 stored, 0 left)" in out
    assert not (folder.parent / "other").exists()


def test_estimates_are_compared_with_the_mitigation(folder: Path) -> None:
    content = results(folder)
    assert content["plan"]["mitigated"] == {"gender": "studio/planted", "age": "studio/planted"}
    assert content["plan"]["mitigated_args"] == {"equal": "{axis}"}


def test_known_errors_are_corrected_without_no_error_correction(folder: Path) -> None:
    (entry,) = results(folder)["biasconnect"]
    assert all(axis["known_errors"] for axis in entry["axes"])
    assert all(isinstance(e["as_read"], float) for e in entry["edges"])
    assert "Correction for labeling errors" in (folder / "report.html").read_text(encoding="utf-8")
    assert (
        run(["interact", *ASKED, "--no-error-correction", "--run", str(folder.parent / "as_read")])
        == 0
    )
    (plain,) = results(folder.parent / "as_read")["biasconnect"]
    assert all(e["as_read"] is None for e in plain["edges"])


def test_a_dry_run_counts_images_of_mitigated_models_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ["--run", str(folder.parent / "dry"), "--dry-run"]
    more = ["--mitigated", "studio/planted", "--mitigated-arg", "equal={axis}"]
    assert run(["interact", *ASKED, *more, *other]) == 0
    out = capsys.readouterr().out
    # 48, twice 8 of mitigated models, and 8 baseline images again
    assert "images      72 (72 stored, 0 left)" in out


def test_estimates_are_compared_with_another_run(folder: Path) -> None:
    command = ["interact", *ASKED, "--mitigated", f"gender={folder}"]
    assert run([*command, "--run", str(folder.parent / "against")]) == 0
    content = results(folder.parent / "against")
    assert content["plan"]["mitigated"] == {"gender": str(folder)}
    assert {e["source"] for e in content["validation"]["prompts"][0]["edges"]} <= {"gender"}


def test_a_condition_that_holds_fails_the_command(folder: Path) -> None:
    command = ["interact", *ASKED, "--run", str(folder.parent / "checked")]
    assert run([*command, "--fail-if", "distance.n > 1"]) == 3
    assert run([*command, "--fail-if", "amplification > 99"]) == 0
    assert run([*command, "--fail-if", "mad > 0.1"]) == 2


def test_report_and_check_accept_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(folder)]) == 0
    assert "pairs of axes" in capsys.readouterr().out
    assert run(["check", str(folder)]) == 0


def test_python_gives_the_same_run(folder: Path) -> None:
    result = askew.interact(
        "a photo of a nurse",
        model="studio/planted",
        images=8,
        axes=["gender", "age"],
        bootstrap_samples=100,
        run=folder.parent / "python",
        store=folder.parent / ".askew",
    )
    assert result.sensitivity("gender", "gender") == load(folder).sensitivity("gender", "gender")
    with pytest.raises(askew.AskewError, match="no pair of the axes"):
        result.sensitivity("gender", "height")


@pytest.mark.slow
def test_graphs_of_runs_are_shown_side_by_side(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = folder.parent / "fair"
    assert run(["interact", *ASKED, "-M", "bias=0", "--run", str(other)]) == 0
    assert run(["graphs", str(folder), str(other), "--names", "stereotyped,fair"]) == 0
    page = Path(capsys.readouterr().out.strip().splitlines()[-1].removeprefix("report: "))
    assert page == folder.parent / "graphs.html"
    assert "stereotyped" in page.read_text(encoding="utf-8")
    differences = json.loads((folder.parent / "graphs.json").read_text(encoding="utf-8"))
    assert list(differences["runs"]) == ["stereotyped", "fair"]
    assert [(change["run"], change["prompt"]) for change in differences["changes"]] == [
        ("fair", ASKED[0])
    ] * 2
    assert {(change["source"], change["target"]) for change in differences["changes"]} == {
        ("gender", "age"),
        ("age", "gender"),
    }
    assert run(["graphs", str(folder), str(other), "--names", "stereotyped,fair", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == differences


def test_robustness_reports_both_kinds_of_change(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["robustness", str(folder), "--repeats", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["kind"] for row in rows} == {"errors"}  # eight images leave no smaller set to try
    assert run(["robustness", str(folder.parent / "audit")]) == 2


def test_robustness_does_not_need_the_mitigated_run(folder: Path) -> None:
    gone = shutil.copytree(folder, folder.parent / "gone")
    held = folder.parent / "of_gone"
    assert run(["interact", *ASKED, "--mitigated", f"gender={gone}", "--run", str(held)]) == 0
    shutil.rmtree(gone)
    assert run(["robustness", str(held), "--repeats", "1", "--json"]) == 0


@pytest.mark.parametrize(("command", "of"), [("sensitivity", "audit"), ("robustness", "run")])
def test_the_effect_of_errors_is_simulated_without_new_images(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, of: str
) -> None:
    audited = str(folder.parent / of)
    assert run([command, audited, "--repeats", "1"]) == 0
    capsys.readouterr()
    assert run([command, audited, "--store", str(tmp_path / "empty")]) == 2
    assert f"images or answers of the run {audited} are missing" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not (tmp_path / "empty").exists()


def test_thresholds_of_edges_are_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"--open-threshold": "0.1", "--global-threshold": "0.01", "--least-sensitivity": "0.2"}
    options = [part for option in asked.items() for part in option]
    assert run(["interact", *ASKED, *options, "--run", str(folder.parent / "edges"), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert [plan[name.removeprefix("--").replace("-", "_")] for name in asked] == [0.1, 0.01, 0.2]


def test_a_reference_from_a_run_and_occupations_are_planned(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "interact",
        "--occupations",
        "--model",
        "studio/planted",
        "--axes",
        "gender",
        "--reference",
        str(folder),
    ]
    assert run([*command, "--run", str(folder.parent / "many"), "--dry-run"]) == 0
    assert "prompts     78" in capsys.readouterr().out


def test_labeled_images_have_a_graph_and_can_be_the_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two counterfactual sets of existing images, labeled by a person without any network."""
    rows = ["file,prompt,axis,value,gender,clothing"]
    for k in range(36):
        Image.effect_noise((32, 32), 30 + k).save(tmp_path / f"{k}.png")
        value = ("", "male", "female")[k % 3]
        gender = value or ("male" if k < 9 else "female")
        clothing = "formal" if gender == "male" else "informal"
        rows.append(f"{k}.png,nurse,{'gender' if value else ''},{value},{gender},{clothing}")
    (tmp_path / "pictures.csv").write_text("\n".join(rows), encoding="utf-8")
    folder = [
        "--model",
        f"folder/{tmp_path}",
        "--manifest",
        str(tmp_path / "pictures.csv"),
        "--bootstrap-samples",
        "100",
    ]
    assert run(["interact", *folder, "--alpha", "0.01", "--run", str(tmp_path / "real")]) == 0
    (entry,) = results(tmp_path / "real")["biasconnect"]
    edges = {(e["source"], e["target"]): e for e in entry["edges"]}
    assert set(edges) == {("gender", "gender"), ("gender", "clothing")}
    assert edges["gender", "clothing"]["significant"]
    capsys.readouterr()
    command = [
        "interact",
        ASKED[0],
        "--model",
        "studio/planted",
        "--axes",
        "gender",
        "--reference",
        str(tmp_path / "real"),
    ]
    assert run([*command, "--run", str(tmp_path / "model"), "--dry-run"]) == 0
