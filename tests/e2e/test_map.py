"""askew map, from the command line and from Python, on a tiny pipeline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askew
from askew.api.runs import load
from askew.cli.base import run
from askew.errors import UsageError
from askew.results.map import MapResult
from askew.types import Estimate

Saved = Callable[[str], Path]
PROMPT = "a photo of a nurse"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    import tiny_pipelines

    root = tmp_path_factory.mktemp("pipelines")
    return lambda family: tiny_pipelines.save(family, root / family)


def mapped(model: str, folder: Path, *more: str) -> int:
    return run([
        "map", PROMPT, "--concept", "sex", "--concept", "race", "--against", "nurse", "--model", model, "--images", "4",
        "-M", "num_inference_steps=2", "--draws", "100", "--run", str(folder), *more,
    ])  # fmt: skip


@pytest.fixture(scope="module")
def finished(tiny: Saved, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "map"
    assert mapped(f"diffusers/{tiny('stable-diffusion')}", folder) == 0
    return folder


def test_results(finished: Path) -> None:
    results = json.loads((finished / "results.json").read_text())
    biasmap = results["biasmap"]
    assert [(e["a"], e["b"]) for e in biasmap["pairs"]] == [("sex", "nurse"), ("race", "nurse")]
    for entry in biasmap["pairs"]:
        assert list(entry["blocks"]) == ["down-8", "mid", "up-8"]
        assert len(entry["layers"]) == 4
        assert entry["miou"]["value"] == pytest.approx(np.mean(entry["pictures"]))
        assert entry["chance_area"] == pytest.approx(0.18, abs=0.01)
        assert entry["miou"]["null"] == entry["chance_other_picture"]
        assert entry["miou"]["q"] >= entry["miou"]["p"]
    assert {r["axis"] for r in biasmap["risk_difference"]} == {"gender", "ethnicity"}
    assert biasmap["intersections"][0]["concepts"] == ["sex", "race", "nurse"]
    assert biasmap["changes"] == []


def test_report(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    assert page.count('<figure class="overlay">') == 8
    assert "viridis" not in page
    assert "nan" not in page


def test_the_same_command_makes_nothing_again(
    tiny: Saved, finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from askew.models.diffusers.model import DiffusersModel

    before = (finished / "results.json").read_text()
    assert mapped(f"diffusers/{tiny('stable-diffusion')}", finished, "--dry-run") == 0
    said = capsys.readouterr().out
    assert "4 stored, 0 left" in said
    assert "embeddings  4 (0 left)" in said
    monkeypatch.setattr(DiffusersModel, "generate", None)
    assert mapped(f"diffusers/{tiny('stable-diffusion')}", finished) == 0
    after = (finished / "results.json").read_text()
    assert json.loads(after)["biasmap"] == json.loads(before)["biasmap"]


def test_maps_of_pictures_that_are_there_come_from_making_them_again(tiny: Saved, finished: Path) -> None:
    settings: dict[str, Any] = {
        "model": f"diffusers/{tiny('stable-diffusion')}", "against": "nurse", "images": 4, "draws": 100,
        "model_args": {"num_inference_steps": 2},
    }  # fmt: skip
    again = askew.map(PROMPT, concept=["sex", "cat", "dog", "a ship"], run=finished.parent / "again", **settings)
    first = json.loads((finished / "results.json").read_text())["biasmap"]["pairs"][0]["pictures"]
    found = again.results["biasmap"]["pairs"][0]["pictures"]
    np.testing.assert_allclose(found, first, atol=1e-6)
    assert (
        again.results["sets"][0]["pictures"]
        == json.loads((finished / "results.json").read_text())["sets"][0]["pictures"]
    )
    assert isinstance(again.miou("cat"), Estimate)
    gradient = again.results["biasmap"]["gradient"][0]
    assert list(gradient["cosines"]) == ["sex", "cat", "dog", "a ship"]
    assert all(-1 <= cosine <= 1 for cosine in gradient["cosines"].values())
    assert "Nearness in meaning" in again.report.read_text()
    assert isinstance(load(again.folder), MapResult)
    with pytest.raises(UsageError, match="no maps of 'tree'"):
        again.miou("tree")


def test_two_models_are_compared_by_seed(tiny: Saved, tmp_path: Path) -> None:
    models = [f"diffusers/{tiny(family)}" for family in ("stable-diffusion", "stable-diffusion-xl")]
    result = askew.map(
        model=models, concept="sex", professions=["nurse", "chef"], images=3, draws=100, run=tmp_path / "run",
        model_args={"num_inference_steps": 2},
    )  # fmt: skip
    change = result.results["biasmap"]["changes"][0]
    assert change["models"] == models
    assert [p["miou"]["n"] for p in change["prompts"]] == [3, 3]
    assert change["miou"]["n"] == 2
    assert len(result.results["biasmap"]["overall"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["a nurse", "--concept", "gender", "--against", "nurse", "--model", "studio/planted"], "black box"),
        (["a nurse", "--concept", " ", "--against", "nurse"], "concept is empty"),
        (["a nurse", "--against", "nurse"], "concept is empty"),
        (["a nurse", "--concept", "gender"], "--against nurse"),
        (["--concept", "gender"], "there is no prompt"),
    ],
)
def test_refusals(options: list[str], message: str, tiny: Saved, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = options if "--model" in options else [*options, "--model", f"diffusers/{tiny('stable-diffusion')}"]
    assert run(["map", *chosen]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_concept_that_is_too_long(tiny: Saved, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    options = ["a nurse", "--concept", "x" * 80, "--against", "nurse", "--run", str(folder)]
    assert run(["map", *options, "--model", f"diffusers/{tiny('stable-diffusion')}"]) == 2
    assert "shorten the prompt or the concept" in capsys.readouterr().err
    assert not folder.exists()
