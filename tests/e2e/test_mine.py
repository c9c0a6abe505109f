"""askew mine, on the planted model and with its real writer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import askew
from askew.api.mine import run_mine_plan
from askew.cli.base import run as command
from askew.errors import RunError, UsageError
from askew.jobs.mine import prompt_writer
from askew.models.planted import PlantedModel
from askew.plans.mining import MinePlan
from askew.storage.store import Store

BLUE = MinePlan(objective="color:lightskyblue", iterations=4, population=4, selected=1, mutations=2, images=2, top=2,
                draws=100)  # fmt: skip


def content(folder: Path) -> dict[str, Any]:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return {name: value for name, value in results.items() if name != "environment"}


@pytest.fixture(scope="module")
def blue(tmp_path_factory: pytest.TempPathFactory) -> askew.MiningResult:
    folder = tmp_path_factory.mktemp("mine")
    return run_mine_plan(BLUE, folder / "run", folder / "store")


def test_a_colour_is_found_within_a_few_iterations(blue: askew.MiningResult) -> None:
    history = blue.results["minethegap"]["history"]
    records = [entry["best_so_far"] for entry in history]
    assert records == sorted(records, reverse=True)
    assert records[-1] == min(p["score"] for entry in history for p in entry["prompts"])
    assert records[-1] < 0.9 * records[0]
    found = blue.score()
    assert isinstance(found, askew.Estimate)
    assert found.value < history[0]["median"]


def test_a_stopped_search_ends_as_if_it_had_not_been_stopped(blue: askew.MiningResult, tmp_path: Path) -> None:
    for budget in (10, 14, 18):
        with pytest.raises(RunError, match="the same command continues"):
            run_mine_plan(BLUE, tmp_path / "run", tmp_path / "store", budget=budget)
    again = run_mine_plan(BLUE, tmp_path / "run", tmp_path / "store")
    assert content(again.folder) == content(blue.folder)
    with Store(tmp_path / "store") as one, Store(blue.store) as other:
        stored = [len(store.planned(BLUE.hash)) for store in (one, other)]
    assert stored[0] == stored[1]


def test_nothing_is_made_twice(blue: askew.MiningResult) -> None:
    before = content(blue.folder)
    again = run_mine_plan(BLUE, blue.folder, blue.store, budget=0)
    assert content(again.folder) == before


def test_the_report_holds_the_prompts_and_their_pictures(blue: askew.MiningResult) -> None:
    page = blue.write_report().read_text(encoding="utf-8")
    assert all(prompt in page for prompt in blue.prompts)
    assert page.count("data:image/webp") >= 2 * BLUE.images
    assert "Against random search" in page


def test_the_command_prints_a_table_and_refuses_nonsense(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--objective", "color:black", "--iterations", "2", "--population", "3", "--selected", "1",
               "--images", "2", "--top", "1", "--no-baseline", "--run", str(tmp_path / "run")]  # fmt: skip
    assert command(["mine", *options]) == 0
    assert "come nearest to color:black" in " ".join(capsys.readouterr().out.split())
    assert command(["mine", "--words", "eight"]) == 2
    assert command(["mine", "--model", f"folder/{tmp_path}"]) in (1, 2)
    assert command(["mine", "--dry-run", "--iterations", "10"]) == 0
    assert "at most 240" in capsys.readouterr().out


def test_an_unknown_objective_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="known: bias"):
        askew.mine(objective="beauty", iterations=1, run=tmp_path / "run")


@pytest.mark.slow
def test_bias_is_mined_and_explained(tmp_path: Path) -> None:
    found = askew.mine(iterations=2, population=5, images=6, baseline=True, run=tmp_path / "run", selected=2,
                       variations=8, top=2, draws=200, vqa="studio")  # fmt: skip
    section = found.results["minethegap"]
    first = section["best"][0]
    assert set(first["missed_visual_concepts"]) <= set(first["variations"])
    assert first["fresh_score"]["null"] is not None
    assert first["fresh_score"]["q"] is not None
    assert section["missed"]["prompts"] >= 1
    assert {entry["prompt"] for entry in section["openbias"]} == {entry["prompt"] for entry in section["best"]}
    assert isinstance(found.difference(), askew.Estimate)


@pytest.mark.parametrize(
    ("name", "writer"), [("studio/planted", "lexicon/studio"), ("elsewhere/planted", "lexicon/elsewhere")]
)
def test_the_lexicon_keeps_to_the_words_of_the_model(name: str, writer: str) -> None:
    model = PlantedModel()
    model.name = name
    found = prompt_writer(MinePlan(), model)
    assert found.fingerprint.startswith(writer)
    assert not any(model.unknown_words(prompt) for prompt in found.random_prompts(5, seed=0))
