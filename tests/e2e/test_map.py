"""askew map, from the command line and from Python, on a tiny pipeline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

import askew
from askew.cli import run
from askew.errors import NotEnoughData, UsageError
from askew.method import load
from askew.methods.map.findings import MapResult
from askew.methods.map.overlays import maps_of
from askew.methods.map.plan import profession_prompt
from askew.methods.map.sentences import model_label
from askew.stats.overlap import bilinear, mask
from askew.types import Estimate, Missing
from recorded_runs import in_file
from slow_cases import quick_only

Saved = Callable[[str], Path]
PROMPT = "a photo of a nurse"


def mapped(model: str, folder: Path, *more: str) -> int:
    return run(
        [
            "map",
            PROMPT,
            "--concept",
            "sex",
            "--concept",
            "race",
            "--against",
            "nurse",
            "--model",
            model,
            "--images",
            "4",
            "-M",
            "num_inference_steps=2",
            "--bootstrap-samples",
            "100",
            "--run",
            str(folder),
            *more,
        ]
    )


@pytest.fixture(scope="module")
def finished(tiny: Saved, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "map"
    assert mapped(f"diffusers/{tiny('stable-diffusion')}", folder) == 0
    return folder


def test_a_plan_repeats_the_run(finished: Path, tmp_path: Path) -> None:
    """The report prints this command; the same plan has the same hash."""
    plan = ["--plan", str(finished / "plan.toml")]
    assert run(["map", *plan, "--run", str(tmp_path)]) == 0
    assert (tmp_path / "plan.hash").read_text() == (finished / "plan.hash").read_text()
    assert run(["map", *plan, "--tau", "50"]) == 2


def test_results(finished: Path) -> None:
    results = json.loads((finished / "results.json").read_text())
    biasmap = results["biasmap"]
    assert [(e["a"], e["b"]) for e in biasmap["pairs"]] == [("sex", "nurse"), ("race", "nurse")]
    for entry in biasmap["pairs"]:
        assert list(entry["blocks"]) == ["down-8", "mid", "up-8"]
        assert entry["miou"]["value"] == pytest.approx(np.mean(entry["pictures"]))
        assert entry["chance_area"] == pytest.approx(0.18, abs=0.01)
        assert entry["miou"]["null"] == entry["chance_other_picture"]
        assert entry["miou"]["q"] >= entry["miou"]["p"]
    assert {r["axis"] for r in biasmap["risk_difference"]} == {"gender", "ethnicity"}
    assert biasmap["changes"] == []
    assert all(
        r["estimate"]["q"] >= r["estimate"]["p"]
        for r in biasmap["risk_difference"]
        if "value" in r["estimate"]
    )


def test_report(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    assert page.count(": masks of both words") == 8 + 1
    assert "viridis" not in page
    assert not re.search(r"\bnan\b", page)


def test_the_same_command_makes_nothing_again(
    tiny: Saved, finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from askew.models.diffusers.model import DiffusersModel

    before = (finished / "results.json").read_text()
    assert mapped(f"diffusers/{tiny('stable-diffusion')}", finished, "--dry-run") == 0
    output = capsys.readouterr().out
    assert "4 stored, 0 left" in output
    assert "embeddings  4 (0 left)" in output
    monkeypatch.setattr(DiffusersModel, "generate", None)
    assert mapped(f"diffusers/{tiny('stable-diffusion')}", finished) == 0
    after = (finished / "results.json").read_text()
    assert json.loads(after)["biasmap"] == json.loads(before)["biasmap"]


@pytest.mark.slow
def test_maps_of_pictures_that_are_there_come_from_making_them_again(
    tiny: Saved, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {
        "model": f"diffusers/{tiny('stable-diffusion')}",
        "against": "nurse",
        "images": 4,
        "bootstrap_samples": 100,
        "model_args": {"num_inference_steps": 2},
    }
    again = askew.map(
        PROMPT, concept=["sex", "cat", "dog", "a ship"], run=finished.parent / "again", **settings
    )
    first = json.loads((finished / "results.json").read_text())["biasmap"]["pairs"][0]["pictures"]
    repeated = in_file(again)["biasmap"]["pairs"][0]["pictures"]
    np.testing.assert_allclose(repeated, first, atol=1e-6)
    assert (
        in_file(again)["sets"][0]["pictures"]
        == json.loads((finished / "results.json").read_text())["sets"][0]["pictures"]
    )
    assert isinstance(again.miou("cat"), Estimate)
    gradient = in_file(again)["biasmap"]["gradient"][0]
    assert list(gradient["cosines"]) == ["sex", "cat", "dog", "a ship"]
    assert all(-1 <= cosine <= 1 for cosine in gradient["cosines"].values())
    assert "Similarity of meaning" in again.report.read_text()
    with (
        monkeypatch.context() as patch
    ):  # given again, it loads no network for the nearness of words
        patch.delattr("askew.measure.attention.words.word_vector")
        askew.map(
            PROMPT,
            concept=["sex", "cat", "dog", "a ship"],
            run=finished.parent / "again",
            **settings,
        )
    assert isinstance(load(again.folder), MapResult)
    with pytest.raises(UsageError, match="no maps of 'tree'"):
        again.miou("tree")


def save_masks(first: MapResult, folder: Path) -> None:
    """Save the masks of the first three images as if a person had drawn them."""
    model = first.findings.models[0].name
    for name in first.findings.sets[0].pictures[:3]:  # the fourth image has no mask
        maps = maps_of(first.findings, first, "sex", PROMPT, model, str(name))
        picture = first.picture(str(name))
        assert maps is not None
        assert picture is not None
        for word, of_word in zip(("sex", "nurse"), maps.total()[:2], strict=True):
            (folder / word).mkdir(parents=True, exist_ok=True)
            pixels = mask(bilinear(of_word[0], (picture.height, picture.width)))
            Image.fromarray(pixels).save(folder / word / f"{name}.png")


def test_maps_are_compared_with_given_masks(tiny: Saved, finished: Path, tmp_path: Path) -> None:
    first = load(finished)
    assert isinstance(first, MapResult)
    save_masks(first, tmp_path / "masks")
    masks = [
        "--masks",
        str(tmp_path / "masks"),
        "--taus",
        "10,70,90",
        "--store",
        str(finished.parent / ".askew"),
    ]
    assert mapped(f"diffusers/{tiny('stable-diffusion')}", tmp_path / "run", *masks) == 0
    assert "Accuracy of masks" in (tmp_path / "run" / "report.html").read_text()
    result = load(tmp_path / "run")
    assert isinstance(result, MapResult)
    accuracy = {(entry.word, entry.tau): entry for entry in result.findings.biasmap.accuracy}
    taus = (10.0, 70.0, 90.0)
    assert list(accuracy) == [("nurse", tau) for tau in taus] + [("sex", tau) for tau in taus]
    for word in ("nurse", "sex"):
        for entry in (accuracy[word, tau] for tau in taus):
            for score in (entry.mask_accuracy, entry.complement_accuracy):
                assert isinstance(score, Estimate)
                assert (score.n, score.missing) == (3, 1)
        low, same, high = (accuracy[word, tau] for tau in taus)
        assert (same.mask_accuracy.value, same.complement_accuracy.value) == (1, 1)
        assert (low.mask_accuracy.value, high.complement_accuracy.value) == (1, 1)
        assert low.complement_accuracy.value == pytest.approx(0.1 / 0.7, abs=0.03)
        assert high.mask_accuracy.value == pytest.approx(0.1 / 0.3, abs=0.05)


@pytest.mark.parametrize(
    ("option", "message"),
    [("--masks", "contains no masks"), ("--taus", "give their folder with --masks FOLDER")],
)
def test_masks_that_cannot_be_used(
    option: str,
    message: str,
    tiny: Saved,
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    value = str(finished) if option == "--masks" else "10,70,90"
    model = f"diffusers/{tiny('stable-diffusion')}"
    assert mapped(model, tmp_path / "wrong", option, value) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_two_models_are_compared_by_seed(tiny: Saved, tmp_path: Path) -> None:
    models = [f"diffusers/{tiny(family)}" for family in ("stable-diffusion", "stable-diffusion-xl")]
    result = askew.map(
        model=models,
        concept="sex",
        profession=["nurse", "chef"],
        images=3,
        bootstrap_samples=100,
        run=tmp_path / "run",
        model_args={"num_inference_steps": 2},
    )
    change = in_file(result)["biasmap"]["changes"][0]
    assert change["models"] == models
    assert [p["miou"]["n"] for p in change["prompts"]] == [3, 3]
    assert change["miou"]["n"] == 2
    assert len(in_file(result)["biasmap"]["overall"]) == 2
    corrected = [entry["corrected"] for entry in in_file(result)["biasmap"]["overall"]]
    assert all(e["q"] >= e["p"] for e in corrected)
    page = result.report.read_text()
    assert "Overlap by block" in page


@pytest.mark.slow
def test_a_prompt_without_a_picture_does_not_end_the_run(
    tiny: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from askew.models.diffusers.model import DiffusersModel

    generate_images = DiffusersModel.generate
    blank = {"chef"}

    def generate(self: Any, requests: Any) -> Any:
        """Blank pictures, which no tiny model makes when asked to."""
        if any(word in requests[0].prompt for word in blank):
            return [Missing("blank_image")] * len(requests)
        return generate_images(self, requests)

    monkeypatch.setattr(DiffusersModel, "generate", generate)
    settings: dict[str, Any] = {
        "model": f"diffusers/{tiny('stable-diffusion')}",
        "concept": ["sex", "race"],
        "images": 3,
        "bootstrap_samples": 100,
        "model_args": {"num_inference_steps": 1},
    }
    result = askew.map(profession=["chef", "nurse"], run=tmp_path / "run", **settings)
    chef, nurse = (result.miou("sex", profession_prompt(word)) for word in ("chef", "nurse"))
    assert isinstance(chef, Missing)
    assert chef.reason == "blank_image"
    assert isinstance(nurse, Estimate)
    assert in_file(result)["biasmap"]["overall"][0]["miou"]["missing"] == 1
    assert "generated no usable image of this prompt" in result.report.read_text()
    console = Console(width=80, record=True)
    console.print(result.table())
    assert "generated no usable image" in " ".join(console.export_text().split())
    blank.add("nurse")
    with pytest.raises(NotEnoughData, match="no prompt has comparable attention maps"):
        askew.map(
            profession=["chef", "nurse"], run=tmp_path / "other", store=tmp_path / "new", **settings
        )


@pytest.mark.slow
def test_the_unconditional_branch(tiny: Saved, tmp_path: Path) -> None:
    description = "unconditional branch of classifier-free guidance, which does not use the prompt"
    model = f"diffusers/{tiny('stable-diffusion')}"
    options = [
        "map",
        PROMPT,
        "--concept",
        "photo",
        "--against",
        "nurse",
        "--images",
        "3",
        "--bootstrap-samples",
        "100",
        "--model",
        model,
        "-M",
        "num_inference_steps=1",
    ]
    assert run([*options, "--branch", "uncond", "--run", str(tmp_path / "run")]) == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["plan"]["branch"] == "uncond"
    entry = results["biasmap"]["pairs"][0]
    assert list(entry["blocks"]) == ["down-8", "mid", "up-8"]
    assert description in (tmp_path / "run" / "report.html").read_text()
    assert run([*options, "--run", str(tmp_path / "plain")]) == 0
    plain = json.loads((tmp_path / "plain" / "results.json").read_text())
    assert entry["blocks"] != plain["biasmap"]["pairs"][0]["blocks"]
    assert description not in (tmp_path / "plain" / "report.html").read_text()


@pytest.mark.slow
def test_a_finished_run_is_the_baseline_of_another(
    tiny: Saved, finished: Path, tmp_path: Path
) -> None:
    model, other = (
        f"diffusers/{tiny(family)}" for family in ("stable-diffusion", "stable-diffusion-xl")
    )
    folder = tmp_path / "run"
    assert mapped(other, folder, "--baseline-run", str(finished)) == 0
    results = json.loads((folder / "results.json").read_text())
    assert [m["name"] for m in results["models"]] == [other, model]
    assert {entry["model"] for entry in results["sets"]} == {other, model}
    biasmap = results["biasmap"]
    before = json.loads((finished / "results.json").read_text())["biasmap"]
    (sex, race) = biasmap["changes"]
    assert sex["models"] == [model, other]
    change = sex["prompts"][0]["miou"]
    pair = next(e for e in biasmap["pairs"] if (e["model"], e["a"]) == (other, "sex"))
    assert change["n"] == 4
    assert change["value"] == pytest.approx(
        np.mean(np.subtract(pair["pictures"], before["pairs"][0]["pictures"]))
    )
    family = [entry["prompts"][0]["miou"] for entry in (sex, race)]
    assert all(entry["q"] >= entry["p"] for entry in family)
    page = (folder / "report.html").read_text()
    assert "Comparison of models" in page


@pytest.mark.slow
def test_the_same_model_with_other_settings_has_another_name(
    tiny: Saved, finished: Path, tmp_path: Path
) -> None:
    model = f"diffusers/{tiny('stable-diffusion')}"
    result = askew.map(
        PROMPT,
        model=model,
        concept="race",
        against="nurse",
        images=4,
        bootstrap_samples=100,
        baseline_run=finished,
        run=tmp_path / "run",
        model_args={"num_inference_steps": 1},
    )
    assert [m["name"] for m in in_file(result)["models"]] == [model, f"{model} (map)"]
    assert in_file(result)["biasmap"]["changes"][0]["prompts"][0]["miou"]["n"] == 4


@pytest.mark.slow
def test_a_baseline_has_the_settings_of_its_run_and_all_else_of_this_one(
    tiny: Saved, finished: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = f"diffusers/{tiny('stable-diffusion')}"
    steps = ["-M", "num_inference_steps=1", "--concept", "cat", "--seed", "3"]
    assert mapped(model, tmp_path / "run", "--baseline-run", str(finished), *steps) == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert [m["settings"]["num_inference_steps"] for m in results["models"]] == [1, 2]
    assert [c["a"] for c in results["biasmap"]["changes"]] == ["sex", "race", "cat"]
    assert all(c["prompts"][0]["miou"]["n"] == 4 for c in results["biasmap"]["changes"])
    assert mapped(model, tmp_path / "other", "--baseline-run", str(tmp_path)) == 2
    assert "is not a run folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "family", quick_only([], ["stable-diffusion-3", "flux", "auraflow", "qwen-image"])
)
def test_transformers(family: str, tiny: Saved, tmp_path: Path) -> None:
    more = ["-M", "height=32", "-M", "width=32", "--concept", "cat", "--concept", "dog"]
    assert mapped(f"diffusers/{tiny(family)}", tmp_path / "run", *more) == 0
    biasmap = json.loads((tmp_path / "run" / "results.json").read_text())["biasmap"]
    entry = biasmap["pairs"][0]
    assert list(biasmap["gradient"][0]["cosines"]) == ["sex", "race", "cat", "dog"]
    assert len(entry["blocks"]) == 2
    assert entry["miou"]["n"] == 4
    assert "passive concept words" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("family", quick_only(["pixart"], ["pixart", "sana"]))
def test_transformers_that_attend_to_the_text_alone(
    family: str, tiny: Saved, tmp_path: Path
) -> None:
    more = [
        "-M",
        "height=32",
        "-M",
        "width=32",
        "-M",
        "use_resolution_binning=false",
        "--concept",
        "cat",
        "--concept",
        "dog",
    ]
    assert mapped(f"diffusers/{tiny(family)}", tmp_path / "run", *more) == 0
    biasmap = json.loads((tmp_path / "run" / "results.json").read_text())["biasmap"]
    assert list(biasmap["pairs"][0]["blocks"]) == ["block-1"]
    assert biasmap["pairs"][0]["miou"]["n"] == 4
    assert len(biasmap["gradient"][0]["cosines"]) == 4
    assert "OVAM" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.slow
def test_professions_on_the_studio_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        "map",
        "--profession",
        "nurse,chef",
        "--concept",
        "gender",
        "--concept",
        "race",
        "--images",
        "3",
        "--bootstrap-samples",
        "100",
        "-M",
        "num_inference_steps=2",
        "--run",
        str(tmp_path / "run"),
    ]
    assert run([*options, "--model", "studio", "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert "6" in output
    assert not (tmp_path / "run").exists()
    assert run([*options, "--model", "studio"]) == 0
    output = capsys.readouterr().out
    assert "mean" in output
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert [(e["a"], e["b"]) for e in results["biasmap"]["pairs"]] == [
        ("gender", "nurse"),
        ("race", "nurse"),
        ("gender", "chef"),
        ("race", "chef"),
    ]
    assert [(e["a"], e["prompts"]) for e in results["biasmap"]["overall"]] == [
        ("gender", 2),
        ("race", 2),
    ]
    assert list(results["biasmap"]["overall"][0]["blocks"]) == [
        "down-16",
        "down-8",
        "down-4",
        "mid",
        "up-4",
        "up-8",
        "up-16",
    ]
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("random masks with the same areas") >= 2


def test_the_twenty_professions_of_the_paper_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = [
        "--concept",
        "gender",
        "--concept",
        "race",
        "--images",
        "5",
        "--dry-run",
        "--run",
        str(tmp_path / "run"),
    ]
    assert run(["map", "--professions", "--model", "studio", *options]) == 0
    output = capsys.readouterr().out
    assert "100" in output


def test_a_network_without_cross_attention(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import tiny_pipelines

    pipeline = tiny_pipelines.stable_diffusion()
    plain = {"down_block_types": ("DownBlock2D",) * 2, "up_block_types": ("UpBlock2D",) * 2}
    pipeline.register_modules(unet=tiny_pipelines.unet(mid_block_type="UNetMidBlock2D", **plain))
    pipeline.save_pretrained(tmp_path / "plain")
    assert mapped(f"diffusers/{tmp_path / 'plain'}", tmp_path / "run") == 2
    output = capsys.readouterr().err
    assert "no cross-attention" in output
    assert "use Stable Diffusion" in output
    assert not (tmp_path / "run").exists()


def test_pictures_in_a_folder_have_no_insides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from PIL import Image

    (tmp_path / "nurse").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "nurse" / "1.png")
    options = [
        "a nurse",
        "--concept",
        "gender",
        "--against",
        "nurse",
        "--run",
        str(tmp_path / "run"),
    ]
    assert run(["map", *options, "--model", f"folder/{tmp_path}"]) == 2
    output = capsys.readouterr().err
    assert "black box" in output
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("studio", "studio"),
        ("diffusers/models/original", "…/original"),
        ("diffusers/models/of/mine", "…/of/mine"),
        ("diffusers/a-very-long-name", "…long-name"),
    ],
)
def test_long_names_of_models_keep_what_tells_them_apart(name: str, shown: str) -> None:
    assert model_label(name, 10) == shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["a nurse", "--concept", "gender", "--against", "nurse", "--model", "studio/planted"],
            "black box",
        ),
        (
            ["a nurse", "--concept", "gender", "--against", "nurse", "--model", "openai/dall-e-3"],
            "studio",
        ),
        (["a nurse", "--concept", " ", "--against", "nurse"], "concept is missing or empty"),
        (["a nurse", "--against", "nurse"], "concept is missing or empty"),
        (["a nurse", "--concept", "gender"], "--against nurse"),
        (["--concept", "gender"], "there is no prompt"),
        (
            ["a nurse", "--concept", "gender", "--concept", "Nurse", "--against", "nurse"],
            "use different words for --concept and --against",
        ),
        (
            ["a nurse", "--concept", "gender", "--against", "nurse", "--model", ","],
            "no model is given",
        ),
        (
            [
                "a nurse",
                "--concept",
                "gender",
                "--against",
                "nurse",
                "--model",
                "",
                "--images",
                "2",
            ],
            "no model is given",
        ),
        (["a nurse", "--concept", "gender", "--against", "nurse", "--images", "0"], "images"),
    ],
)
def test_refusals(
    options: list[str], message: str, tiny: Saved, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = (
        options
        if "--model" in options
        else [*options, "--model", f"diffusers/{tiny('stable-diffusion')}"]
    )
    capsys.readouterr()  # the output of saving the pipeline
    assert run(["map", *chosen]) == 2
    output = capsys.readouterr().err
    assert message in output
    assert output.count("\n") == 1


@pytest.mark.parametrize("model", [[], [""], ""])
def test_no_model(model: Any) -> None:
    for images in (None, 2):
        with pytest.raises(UsageError, match="no model is given"):
            askew.map("a nurse", model=model, concept="gender", against="nurse", images=images)


def test_a_concept_that_is_too_long(
    tiny: Saved, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    options = ["a nurse", "--concept", "x" * 80, "--against", "nurse", "--run", str(folder)]
    assert run(["map", *options, "--model", f"diffusers/{tiny('stable-diffusion')}"]) == 2
    assert "shorten the prompt or the concept" in capsys.readouterr().err
    assert not folder.exists()
