"""Who reads pictures that are no drawings with the studio's instruments is warned, whatever the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from askew.parts.drawings import beyond_drawings

STUDIO = {"vqa": {"studio": "1"}, "embedder": {"studio": "2"}}
REAL = {"name": "diffusers/sdxl"}


def results(model: dict[str, Any] | None = None, instruments: Any = STUDIO, **more: Any) -> dict[str, Any]:
    return {"model": model or REAL, "instruments": instruments, "plan": {}, **more}


def test_both_instruments_are_named_with_the_pictures_and_the_way_out() -> None:
    vqa, embedder = beyond_drawings(results())
    assert "VQA" in vqa
    assert "(--vqa)" in vqa
    assert "embedder" in embedder
    assert "(--embedder)" in embedder
    assert all("pictures by diffusers/sdxl" in text for text in (vqa, embedder))


@pytest.mark.parametrize("name", ["studio", "studio/balanced", "studio/planted", "studio (run)"])
def test_drawings_need_no_warning(name: str) -> None:
    assert beyond_drawings(results({"name": name})) == []


@pytest.mark.parametrize("name", ["folder/pictures", "diffusers/studio", "studio-xl/large"])
def test_a_name_like_it_is_not_the_studio(name: str) -> None:
    assert len(beyond_drawings(results({"name": name}))) == 2


@pytest.mark.parametrize(
    ("instruments", "count"),
    [
        ({"vqa": {"labels": "1", "studio": "2"}, "embedder": None}, 1),
        ({"vqa": {"clip/studio": "1"}, "embedder": {"studio": "2"}}, 1),
        ({"vqa": {"clip/a": "1"}, "embedder": {"clip/a": "2"}}, 0),
        ({"vqa": None, "embedder": None}, 0),
        ({}, 0),
    ],
)
def test_only_what_was_used_is_warned_about(instruments: dict[str, Any], count: int) -> None:
    assert len(beyond_drawings(results(instruments=instruments))) == count


def test_all_models_of_a_run_are_looked_at(tmp_path: Path) -> None:
    drawn = {"name": "studio"}
    several = results(drawn, models=[drawn, {"name": "mitigated", "model": "diffusers/mitigated"}])
    assert "diffusers/mitigated" in beyond_drawings(several)[0]
    (tmp_path / "results.json").write_text("{}")
    mitigated = {"mitigated": {"gender": "diffusers/fair", "age": str(tmp_path)}}
    assert "pictures by diffusers/fair means" in beyond_drawings(results(drawn, plan=mitigated))[0]
