"""Models that give the same image for several seeds: identical images are one observation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import askew
from askew.models.base import Request
from askew.models.planted import PlantedModel
from askew.stats.significance import SIGNIFICANCE_LEVEL
from recorded_runs import in_file

NURSE = "a photo of a nurse"
OPTIONS: dict[str, Any] = {
    "model": "studio/planted",
    "axes": ["gender", "age"],
    "images": 6,
    "bootstrap_samples": 100,
}
SAME_IMAGE = "the pipeline generates the same image for every seed: 1 distinct of 6 images of"


@pytest.fixture
def few_seeds(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that makes the planted model draw only that many images of a prompt."""
    draw = PlantedModel._draw

    def limit(seeds: int) -> None:
        def draw_few(model: PlantedModel, request: Request) -> Image.Image:
            return draw(model, replace(request, seed=request.number % seeds))

        monkeypatch.setattr(PlantedModel, "_draw", draw_few)

    return limit


def interact(run: Path) -> Any:
    return askew.interact(NURSE, run=run, **OPTIONS)


def audit(run: Path) -> Any:
    return askew.audit(NURSE, embedder="none", run=run, **OPTIONS)


def rank(run: Path) -> Any:
    prompts = [NURSE, "a photo of a chef"]
    return askew.rank(*prompts, model=OPTIONS["model"], images=6, run=run)


@pytest.mark.parametrize("method", [audit, interact, rank])
def test_a_model_that_ignores_its_seed_gives_one_image(
    tmp_path: Path, few_seeds: Callable[[int], None], method: Callable[[Path], Any]
) -> None:
    few_seeds(1)
    result = method(tmp_path / "run")
    assert any(warning.startswith(SAME_IMAGE) for warning in result.warnings)
    results = in_file(result)
    baseline = [entry for entry in results["sets"] if entry["axis"] is None]
    assert {(entry["n"], entry["copies"]) for entry in baseline} == {(1, 5)}
    for entry in results.get("shares", []):
        assert sum(entry["counts"].values()) <= 1
        assert entry["verdict"] is None or entry["verdict"]["q"] > SIGNIFICANCE_LEVEL


def test_distinct_images_of_a_model_count_once(
    tmp_path: Path, few_seeds: Callable[[int], None]
) -> None:
    few_seeds(4)
    result = audit(tmp_path / "run")
    assert any("4 distinct of 6 images" in warning for warning in result.warnings)
    assert not any(SAME_IMAGE in warning for warning in result.warnings)
    genders = [entry for entry in in_file(result)["shares"] if entry["axis"] == "gender"]
    assert {sum(entry["counts"].values()) for entry in genders} == {4}


@pytest.mark.slow
def test_pairs_of_a_comparison_leave_out_copies(
    tmp_path: Path, few_seeds: Callable[[int], None]
) -> None:
    first = audit(tmp_path / "first")
    few_seeds(1)
    options = {**OPTIONS, "model": "studio/planted", "model_args": {"bias": 0.5}}
    second = askew.audit(NURSE, embedder="none", run=tmp_path / "second", **options)
    comparison = askew.compare(first.folder, second.folder, output=tmp_path / "comparison")
    shares = [entry for entry in comparison.entries if entry.score == "share"]
    assert shares
    assert all(entry.difference.q > SIGNIFICANCE_LEVEL for entry in shares if not entry.set)
