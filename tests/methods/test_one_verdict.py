"""The same images have the same verdict in all methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import askew

PROMPTS = ["a photo of a nurse", "a photo of a plumber"]
AXES = ["gender", "age"]
Verdicts = dict[tuple[str, str], Any]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {
        "model": "studio/planted",
        "vqa": "studio",
        "axes": AXES,
        "images": 12,
        "seed": 3,
        "store": tmp_path_factory.mktemp("store"),
    }


@pytest.fixture(scope="module")
def audited(options: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("audit") / "run"
    return askew.audit(PROMPTS, **options, embedder="none", run=folder).findings


def verdicts(entries: Any) -> Verdicts:
    return {
        (entry.prompt, entry.axis): entry.verdict
        for entry in entries
        if entry.set == "initial" and entry.verdict
    }


def test_interact_gives_the_verdicts_of_audit(
    options: dict[str, Any], audited: Any, tmp_path: Path
) -> None:
    interactions = askew.interact(PROMPTS, **options, run=tmp_path / "run").findings
    assert len(verdicts(audited.shares)) == 4
    assert verdicts(interactions.shares) == verdicts(audited.shares)
    assert len(audited.shares_over_prompts) == 2
    assert verdicts(interactions.shares_over_prompts) == verdicts(audited.shares_over_prompts)
