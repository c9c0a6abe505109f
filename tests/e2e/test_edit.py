"""askew edit, as a user types it, on drawings that a tiny pipeline edits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import askew
from askew.cli import run
from askew.methods.edit import METHOD
from askew.methods.edit.plan import EditPlan
from askew.parts.sources.group_check import EXTRA_FACTOR
from askew.prompts.given import PAPER_GROUPS
from askew.studio.drawing import draw
from askew.studio.scene import Scene

GROUPS = "caucasian man, african-american woman"
SMALL = [
    "--sources",
    "studio/planted",
    "--images",
    "2",
    "--strengths",
    "0.5,1",
    "--edit-arg",
    "num_inference_steps=2",
    "--resize",
    "32",
    "--axes",
    "gender,age",
    "--bootstrap-samples",
    "100",
    "--landmarks",
    "studio",
]

Saved = Callable[[str], Path]


@pytest.fixture(scope="module")
def pipeline(tiny: Saved) -> str:
    return f"diffusers/{tiny('stable-diffusion')}"


@pytest.fixture(scope="module")
def folder(pipeline: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run."""
    place = tmp_path_factory.mktemp("edits") / "run"
    assert run(["edit", "--groups", GROUPS, "--model", pipeline, *SMALL, "--run", str(place)]) == 0
    return place


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return content


def test_every_group_target_and_strength_is_scored(results: dict[str, Any]) -> None:
    cells = [(e["group"], e["targets"], e["strength"]) for e in results["editing"]]
    assert len(cells) == len(set(cells)) == 2 * 2 * 2
    for entry in results["editing"]:
        assert entry["n"] == 4
        for score in (
            "gender_change",
            "floor",
            "ita_before",
            "ita_after",
            "ita_change",
            "lightness_change",
            "identity",
        ):
            assert "value" in entry[score] or "reason" in entry[score]
        assert set(entry["other_axes"]) == {"age"}
        assert entry["coverage"]["mask"] == "geometry"
    assert {e["contrast"] for e in results["editing_contrasts"]} == {"group", "targets", "strength"}
    assert [entry["group"] for entry in results["neutrality"]] == GROUPS.split(", ")


def test_groups_are_edited_from_the_same_noise(results: dict[str, Any]) -> None:
    seeds = {(s["prompt"], s["value"]): s["seeds"] for s in results["sets"] if s["axis"] == "edit"}
    first, second = GROUPS.split(", ")
    assert seeds[first, "doctor 0.5"] == seeds[second, "doctor 0.5"] == seeds[first, "doctor 1"]
    assert seeds[first, "doctor 0.5"] != seeds[first, "CEO 0.5"]
    pictures = [
        picture for s in results["sets"] if s["axis"] == "edit" for picture in s["pictures"]
    ]
    assert len(set(pictures)) == len(pictures) == 2 * 4 * 2 * 2


def test_the_report_shows_faces_and_every_section(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    for part in (
        "Average faces",
        "Perceived gender",
        "Skin tone",
        "Other axes",
        "Similarity between input image and edit",
        "tables 1 to 3",
    ):
        assert part in page
    assert page.count("<img") > 2 * 5


def test_repeating_the_command_does_nothing(folder: Path, results: dict[str, Any]) -> None:
    work = METHOD.run(
        EditPlan.read(folder / "plan.toml"),
        dry_run=True,
        run=folder,
        store=folder.parent / ".askew",
    ).work
    assert work.left == 0
    before = (folder / "results.json").read_text(encoding="utf-8")
    assert run(["edit", "--plan", str(folder / "plan.toml"), "--run", str(folder)]) == 0
    after = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert after["editing"] == json.loads(before)["editing"]


def test_a_condition_that_holds_ends_with_3(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = ["edit", "--plan", str(folder / "plan.toml"), "--run", str(folder), "--fail-if"]
    assert run([*again, "high-paid: gender_change >= 0"]) == 3
    assert "caucasian man, high-paid, strength 1: gender_change.value is" in capsys.readouterr().err
    assert run([*again, "low-paid: gender_change > 1"]) == 0
    assert run([*again, "age: axis_change >= 0"]) == 3
    assert "strength 0.5, age: axis_change.value is" in capsys.readouterr().err
    assert run([*again, "mad > 0.3"]) == 2
    assert "gender_change, ita_change" in capsys.readouterr().err


def test_a_dry_run_counts_exactly_what_would_be_generated(
    folder: Path,
    results: dict[str, Any],
    pipeline: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [
        "edit",
        "--groups",
        GROUPS,
        "--model",
        pipeline,
        *SMALL,
        "--run",
        str(tmp_path / "run"),
        "--dry-run",
    ]
    assert run(command) == 0
    sources = 2 * 2
    edits = 2 * 2 * 4 * 2
    most = (3 + EXTRA_FACTOR) * sources + edits
    output = capsys.readouterr().out
    assert f"images      at most {most} (0 stored, {most} left)" in output
    assert f"further sources up to {EXTRA_FACTOR * sources} of these images" in output
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["edit", "classify"])
def test_the_default_groups_are_those_of_the_paper(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = [
        "--sources",
        "studio/planted",
        "--images",
        "2",
        "--run",
        str(tmp_path / "run"),
        "--dry-run",
    ]
    outputs = []
    for groups in ([], ["--groups", ", ".join(PAPER_GROUPS)]):
        assert run([command, *groups, *sources]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert len(PAPER_GROUPS) == 4


def test_a_finished_run_is_complete_and_shown_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(folder)]) == 0
    assert run(["report", str(folder)]) == 0
    assert "african-american woman" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_images_of_a_folder_are_groups_by_their_columns(pipeline: str, tmp_path: Path) -> None:
    rows = ["file,race,gender,job"]
    for k in range(4):
        race, gender, job = (("white", "female", "doctor"), ("black", "male", "none"))[k % 2]
        draw(Scene(gender=gender, ethnicity=race), k).save(tmp_path / f"{k}.png")
        rows.append(f"{k}.png,{race},{gender},{job}")
    rows.append("gone.png,black,male,none")
    (tmp_path / "labels.csv").write_text("\n".join(rows), encoding="utf-8")
    command = [
        "edit",
        "--model",
        pipeline,
        "--sources",
        f"folder/{tmp_path}",
        "--group-column",
        "race,gender",
        "--label",
        "occupation=job",
        "--resize",
        "16",
        "--strengths",
        "1",
        "--edit-arg",
        "num_inference_steps=1",
        "--embedder",
        "none",
        "--axes",
        "gender",
        "--skin",
        "geometry",
        "--landmarks",
        "studio",
        "--bootstrap-samples",
        "100",
    ]
    assert run([*command, "--run", str(tmp_path / "run")]) == 0
    content = json.loads((tmp_path / "run" / "results.json").read_text(encoding="utf-8"))
    assert {e["group"] for e in content["editing"]} == {"white: female", "black: male"}
    assert "1 of 5 files listed in the manifest labels.csv do not exist" in " ".join(
        content["warnings"]
    )
    sources = {e["prompt"]: (e["n"], e["missing"]) for e in content["sets"] if e["axis"] is None}
    assert sources == {"white: female": (2, {}), "black: male": (3, {"absent_file": 1})}
    assert all(
        e["ita_before"]["n"] and e["coverage"]["mask"] == "geometry" for e in content["editing"]
    )
    assert {(e["axis"], e["value"]) for e in content["editing_pooled"]} == {
        ("gender", "female"),
        ("gender", "male"),
        ("ethnicity", "white"),
        ("ethnicity", "black"),
    }


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model", "studio/planted", "--groups", GROUPS], "askew edit --model studio"),
        (["--groups", "", "--sources", "studio/planted"], "a group has no name"),
        (
            ["--groups", GROUPS, "--sources", "studio/planted", "--edit-prompts", "rich=doctor"],
            "has 1 edit prompt",
        ),
        (
            ["--groups", GROUPS, "--sources", "studio/planted", "--edit-prompts", "rich=CEO,ceo"],
            "the edit prompt 'CEO' is named twice",
        ),
        (
            [
                "--groups",
                GROUPS,
                "--sources",
                "studio/planted",
                "--edit-prompts",
                "a=CEO,nurse",
                "--edit-prompts",
                "b=maid,Nurse",
            ],
            "the edit prompt 'nurse' is named twice",
        ),
        (["--groups", GROUPS, "--group-column", "race"], "--sources folder/PATH"),
        (
            ["--groups", GROUPS, "--sources", "studio/planted", "--strengths", "much"],
            "numbers from 0 to 1",
        ),
        (["--groups", "nobody", "--sources", "folder/{faces}"], "it has no images"),
        (["--sources", "folder/{faces}", "--images", "4"], "--resize 512"),
    ],
)
def test_requests_that_cannot_be_met_are_errors(
    more: list[str], message: str, pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, side in (("white man", 32), ("black woman", 48)):
        (tmp_path / name).mkdir()
        Image.effect_noise((side, side), 50).convert("RGB").save(tmp_path / name / "1.png")
    words = [word.format(faces=tmp_path) for word in more]
    model = [] if "--model" in words else ["--model", pipeline]
    assert run(["edit", *words, *model, "--run", str(tmp_path / "run")]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_python_takes_what_the_command_line_takes(folder: Path, pipeline: str) -> None:
    result = askew.edit(
        GROUPS,
        pipeline,
        sources="studio/planted",
        images=2,
        strengths=(0.5, 1.0),
        edit_args={"num_inference_steps": 2},
        resize=32,
        axes=["gender", "age"],
        bootstrap_samples=100,
        landmarks="studio",
        run=folder,
    )
    change = result.cell("caucasian man", "high-paid", 1.0).gender_change
    assert isinstance(change, askew.Estimate)
    assert change.n == 4
    with pytest.raises(askew.AskewError, match="african-american woman"):
        result.cell("asian man", "high-paid", 1.0)
