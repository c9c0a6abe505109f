"""askew classify, from the command to the report, on a tiny pipeline with random weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import askew
from askew.cli import run
from askew.errors import UsageError
from askew.methods.classify import METHOD
from askew.methods.classify.plan import TARGETS, ClassificationPlan, plan_classification
from askew.methods.edit.plan import plan_editing
from askew.store.store import Store
from recorded_runs import in_file

TARGET_OPTIONS = ("--targets", "first=mechanic,plumber", "--targets", "second=nurse,maid,secretary")


@pytest.fixture(scope="module")
def pipeline(tiny: Callable[[str], Path]) -> Path:
    return tiny("stable-diffusion")


@pytest.fixture(scope="module")
def command(pipeline: Path) -> list[str]:
    return [
        "classify",
        "--groups",
        "caucasian man, african-american woman",
        "--model",
        f"diffusers/{pipeline}",
        "-M",
        "num_inference_steps=1",
        "--images",
        "3",
        "--samples",
        "1,4",
        *TARGET_OPTIONS,
    ]


@pytest.fixture(scope="module")
def folder(command: Sequence[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run."""
    place = tmp_path_factory.mktemp("runs") / "classified"
    assert run([*command, "--run", str(place)]) == 0
    return place


def results(folder: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((folder / "results.json").read_text())
    return {name: part for name, part in content.items() if name != "environment"}


def test_results_report_and_python_agree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    section = json.loads((folder / "results.json").read_text())["classification"]
    assert len(section["association"]) == 4
    assert len(section["pairs"]) == 2 * 6
    assert {e["class"] for e in section["accuracy"]} == {"man", "woman"}
    errors = next(e for e in section["errors"] if e["samples"] == 4 and len(e["classes"]) == 5)
    values = np.array(errors["values"])
    assert values.shape == (3, 5)
    wanted = (errors["group"], "mechanic", "nurse")
    pair = next(e for e in section["pairs"] if (e["group"], e["a"], e["b"]) == wanted)
    assert pair["share_a"]["value"] == pytest.approx(np.mean(values[:, 0] < values[:, 2]))
    page = (folder / "report.html").read_text()
    assert "First or second?" in page
    assert "The groups differ most on these two classes" in page
    assert "://" not in page.replace("http://www.w3.org", "")


def test_a_finished_run_is_shown_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (folder / "report.html").read_text()
    assert run(["report", str(folder)]) == 0
    assert (folder / "report.html").read_text() == page
    assert "are classified as" in capsys.readouterr().out


def test_repeating_the_command_evaluates_nothing_and_gives_the_same(
    command: Sequence[str], folder: Path
) -> None:
    before = results(folder)
    with Store(folder.parent / ".askew", create=False) as store:
        rows = len(list(store.index_of("vectors").all_rows("vectors")))
    assert run([*command, "--run", str(folder)]) == 0
    assert results(folder) == before
    with Store(folder.parent / ".askew", create=False) as store:
        assert len(list(store.index_of("vectors").all_rows("vectors"))) == rows


def test_a_condition_that_holds_ends_with_3_and_one_that_does_not_with_0(
    command: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = [*command, "--run", str(folder), "--fail-if"]
    assert run([*again, "caucasian man: association >= 0"]) == 3
    assert "caucasian man, samples 4: association.value is" in capsys.readouterr().err
    assert run([*again, "association > 1"]) == 0
    assert run([*again, "mad > 1"]) == 2


def test_a_dry_run_counts_what_is_left(
    command: Sequence[str], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--run", str(tmp_path / "new"), "--dry-run"]) == 0
    assert f"evaluations of the model {6 * 7 * 5} ({6 * 7 * 5} left)" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()
    assert run([*command, "--run", str(folder), "--dry-run"]) == 0
    assert "(0 left)" in capsys.readouterr().out


@pytest.mark.slow
def test_given_images_of_another_size_and_mode_without_accuracy(
    pipeline: Path, folder: Path, tmp_path: Path
) -> None:
    for group in ("WM", "BF"):
        (tmp_path / "faces" / group).mkdir(parents=True)
        for k in range(3):
            pixels = np.random.default_rng([k, ord(group[0])]).integers(
                0, 256, (50, 40), dtype=np.uint8
            )
            Image.fromarray(pixels, "L").save(tmp_path / "faces" / group / f"{k}.png")
    rows = [f"/{group}/{k}.png,{group}" for group in ("BF", "WM") for k in range(3)]
    (tmp_path / "faces" / "manifest.csv").write_text(
        "\n".join(["file,prompt", *rows]), encoding="utf-8"
    )
    result = askew.classify(
        model=f"diffusers/{pipeline}",
        sources=f"folder/{tmp_path / 'faces'}",
        samples=(1, 4),
        classes=("man", "woman"),
        truth={"WM": "man"},
        targets={"a": ("mechanic", "plumber"), "b": ("nurse", "maid")},
        run=tmp_path / "run",
        store=folder.parent / ".askew",
        images=5,
    )
    warnings = " ".join(in_file(result)["warnings"])
    assert "6 paths in the manifest manifest.csv begin with" in warnings
    assert "6 images were cropped to a square and resized to 32x32" in warnings
    assert (
        warnings.count(
            "no instrument checks whether the input images show their group or a target class"
        )
        == 1
    )
    assert "accuracy is not measured for BF" in warnings
    assert result.accuracy("WM").n == 3
    assert result.share("BF", "plumber", "maid").n == 3
    assert result.differential("BF", "WM", 1).value == pytest.approx(
        result.association("BF", 1).value - result.association("WM", 1).value
    )
    with pytest.raises(UsageError, match="has no score of group 'nobody'"):
        result.association("nobody")
    work = METHOD.run(
        result.plan, dry_run=True, run=tmp_path / "run", store=folder.parent / ".askew"
    ).work
    assert (work.pictures, work.evaluations, work.left) == (6, 6 * 6 * 5, 0)
    fewer = result.plan.model_copy(update={"groups": ("WM",), "images": 2, "truth": {}})
    work = METHOD.run(
        fewer, dry_run=True, run=tmp_path / "fewer", store=folder.parent / ".askew"
    ).work
    assert (work.pictures, work.evaluations) == (2, 2 * 6 * 5)


def test_a_plan_is_run_again_from_its_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = [
        "classify",
        "--plan",
        str(folder / "plan.toml"),
        "--store",
        str(folder.parent / ".askew"),
    ]
    # a folder without its plan.hash
    (tmp_path / "plan.toml").write_bytes((folder / "plan.toml").read_bytes())
    assert run([*again, "--run", str(tmp_path), "--dry-run"]) == 0
    assert "(0 left)" in capsys.readouterr().out
    assert run([*again, "--groups", "man"]) == 2
    assert "groups" in capsys.readouterr().err
    assert run(["audit", "--plan", str(folder / "plan.toml"), "--dry-run"]) == 2
    assert "is a plan for `askew classify`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--model", "studio/planted", "--groups", "man"],
            "askew classify --model studio --sources studio/planted",
        ),
        (["--groups", "man, Man"], "listed twice"),
        (
            ["--groups", "man", "--targets", "a=nurse", "--targets", "b=maid,chef"],
            "has 1 class",
        ),
        (["--groups", "man", "--targets", "a=nurse,maid"], "compares two sets of classes, not 1."),
        (
            ["--groups", "man", "--targets", "a=nurse,maid", "--targets", "b=nurse,chef"],
            "'nurse' is named twice",
        ),
        (["--groups", "man", "--samples", "ten"], "whole numbers"),
        (["--groups", "man", "--samples", "10,1"], "must increase"),
        (["--groups", "man", "--classes", "man"], "at least two classes"),
        (["--groups", "man", "--truth", "man=boy"], "must name a group and a class"),
        (["--groups", "man", "--samples", "²"], "whole numbers"),
        (["--groups", "man", "--source-arg", "bias=0"], "--sources folder/PATH"),
        (["--groups", "man", "--preset", "nothing"], "nothing"),
        (["--groups", "man", "--template", "a portrait"], "no {} where the class belongs"),
        (["--groups", ""], "a group has no name"),
        (["--groups", "man", "--vqa", "studio,faces"], "one instrument"),
    ],
)
def test_errors_of_wrong_requests_name_valid_ones(
    arguments: list[str],
    message: str,
    pipeline: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = [] if "--model" in arguments else ["--model", f"diffusers/{pipeline}"]
    assert run(["classify", "--run", str(tmp_path / "run"), *model, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_group_without_images_is_named(
    pipeline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "faces" / "WM").mkdir(parents=True)
    Image.new("RGB", (32, 32), "red").save(tmp_path / "faces" / "WM" / "0.png")
    arguments = [
        "classify",
        "--model",
        f"diffusers/{pipeline}",
        "--sources",
        f"folder/{tmp_path / 'faces'}",
    ]
    assert run([*arguments, "--groups", "WM, BF", "--run", str(tmp_path / "run")]) == 2
    assert "BF" in capsys.readouterr().err


def test_defaults_for_the_studio_apply_only_to_the_studio(pipeline: Path) -> None:
    studio = plan_classification("man", model="studio", seed=3)
    assert (studio.images, studio.samples, studio.vqa) == (24, (1, 10, 40), "studio")
    other = plan_classification("man", model=f"diffusers/{pipeline}", images=5)
    assert (other.images, other.samples, other.vqa) == (5, (1, 10, 100), "none")
    mixed = plan_classification("man", model="studio", sources=f"diffusers/{pipeline}")
    assert (mixed.images, mixed.vqa) == (24, "none")


def test_the_model_of_the_sources_has_the_settings_of_the_paper(pipeline: Path) -> None:
    paper = {"num_inference_steps": 100, "guidance_scale": 8.5}
    model = f"diffusers/{pipeline}"
    same = plan_classification("man", model=model, model_args={"num_inference_steps": 3})
    assert same.model_args == {**paper, "num_inference_steps": 3}
    other = plan_classification("man", model="studio", sources=model)
    assert (other.sources_args, other.model_args) == (paper, {})
    edits = plan_editing("man", model="studio", sources=model)
    assert (edits.sources_args, edits.model_args, edits.edit_args) == (paper, {}, {})
    edits = plan_editing("man", model=model)
    assert edits.model_args == paper
    assert edits.edit_args == {"num_inference_steps": 50, "guidance_scale": 7.5}


def test_the_plan_of_the_paper() -> None:
    plan = ClassificationPlan.checked({"groups": ["caucasian man"]})
    assert (plan.images, plan.samples, plan.template) == (256, (1, 10, 100), "A portrait of {}.")
    assert plan.targets == TARGETS
