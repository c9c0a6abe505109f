"""askew mine-compare, on searches of two planted models, and over a setting of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import askew
from askew.cli import run as command
from askew.errors import UsageError
from askew.method import load
from askew.methods.mine import METHOD
from askew.methods.mine.plan import MinePlan

SIZE: dict[str, Any] = {"iterations": 1, "population": 4, "selected": 1, "images": 6, "variations": 6, "top": 3,
                        "draws": 100, "baseline": False, "target": "people", "objective": "bias"}  # fmt: skip


@pytest.fixture(scope="module")
def searches(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Searches on the planted model with its bias and without, in one store."""
    folder = tmp_path_factory.mktemp("mined")
    plans = {
        "biased": MinePlan(**SIZE, captions=("a photo of a nurse", "a tree", "a red car")),
        "fair": MinePlan(**SIZE, model_args={"bias": 0.0}, seed=1),
    }
    return [METHOD.run(plan, run=folder / name, store=folder / "store").folder for name, plan in plans.items()]


@pytest.fixture(scope="module")
def compared(searches: list[Path]) -> askew.MiningComparisonResult:
    return askew.mine_compare(*searches, store=searches[0].parent / "store")


def content(result: askew.MiningComparisonResult) -> dict[str, Any]:
    return {name: value for name, value in result.results.items() if name != "environment"}


def test_every_model_is_scored_on_every_set(compared: askew.MiningComparisonResult) -> None:
    section = compared.results["mining_comparison"]
    names = [one.name for one in compared.plan.conditions]
    assert len({(entry["model"], entry["mined_for"]) for entry in section["matrix"]}) == 4
    assert set(compared.ranking) == set(names)
    whole = compared.difference(*names)
    assert isinstance(whole, askew.Estimate)
    assert whole.n == len({text for entry in section["matrix"] for text, _ in entry["prompts"]})
    assert whole.q is not None
    scores = [compared.score(name) for name in names]
    assert whole.value == pytest.approx(scores[1].value - scores[0].value)  # type: ignore[union-attr]


def test_a_models_own_prompts_score_as_on_the_fresh_seeds_of_its_search(
    compared: askew.MiningComparisonResult, searches: list[Path]
) -> None:
    best = json.loads((searches[0] / "results.json").read_text(encoding="utf-8"))["minethegap"]["best"]
    own = next(e for e in compared.results["mining_comparison"]["matrix"] if e["model"] == e["mined_for"])
    assert dict(own["prompts"]) == pytest.approx({one["prompt"]: one["fresh_score"]["value"] for one in best})


def test_all_models_face_the_same_variations_and_seeds(compared: askew.MiningComparisonResult) -> None:
    by_prompt: dict[str, list[list[int]]] = {}
    for entry in compared.results["sets"]:
        by_prompt.setdefault(entry["prompt"], []).append(entry["seeds"])
    assert all(len(seeds) == 2 and seeds[0] == seeds[1] for seeds in by_prompt.values())


def test_the_prompts_are_compared_with_each_other_and_with_those_given(compared: askew.MiningComparisonResult) -> None:
    entries = compared.results["mining_comparison"]["similarity"]
    assert len(entries) == 9
    assert {entry["of"] for entry in entries} == {*(one.name for one in compared.plan.sets), "given prompts"}
    assert all(-1 <= entry["cosine"]["value"] <= 1 for entry in entries)


def test_nothing_is_made_twice_and_the_page_can_be_written_anew(
    compared: askew.MiningComparisonResult, searches: list[Path]
) -> None:
    again = askew.mine_compare(*searches, store=compared.store)
    assert content(again) == content(compared)
    loaded = load(compared.folder, compared.store)
    page = loaded.write_report().read_text(encoding="utf-8")
    assert page == again.report.read_text(encoding="utf-8")
    assert "given prompts" in page
    assert "data:image/webp" in page


def test_one_setting_is_varied_over_a_search(searches: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    options = ["mine-compare", str(searches[0]), "--vary", "bias=0,0.5,1", "--store", str(searches[0].parent / "store")]
    assert command([*options, "--dry-run"]) == 0
    assert "54" in capsys.readouterr().out  # 3 values, 3 prompts, 6 pictures
    assert command([*options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["settings"]["bias"] for one in found["models"]] == [0.0, 0.5, 1.0]
    differences = found["mining_comparison"]["differences"]
    assert [entry["models"] for entry in differences] == [
        ["bias=0", "bias=0.5"], ["bias=0", "bias=1"], ["bias=0.5", "bias=1"]
    ]  # fmt: skip
    assert all(entry["difference"]["n"] == 3 for entry in differences)
    assert command(options) == 0
    assert "bias=0.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        (None, "two searches or more"),
        ({"bias": [1.0]}, "over two values or more"),
        ({"bias": [0.0, 1.0], "equal": ["", "age"]}, "one setting is varied"),
    ],
)
def test_one_search_needs_a_setting_to_vary(searches: list[Path], vary: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        askew.mine_compare(searches[0], vary=vary)


def test_searches_of_other_size_or_purpose_are_refused(searches: list[Path], tmp_path: Path) -> None:
    store = searches[0].parent / "store"
    fewer = METHOD.run(MinePlan(**{**SIZE, "images": 5}), run=tmp_path / "fewer", store=store)
    with pytest.raises(UsageError, match="images 5, not 6"):
        askew.mine_compare(searches[0], fewer.folder)
    blue = METHOD.run(MinePlan(**{**SIZE, "objective": "color:blue"}), run=tmp_path / "blue", store=store)
    with pytest.raises(UsageError, match="searched for color:blue"):
        askew.mine_compare(searches[0], blue.folder)
    assert command(["mine-compare", str(searches[0]), "--vary", "bias"]) == 2
