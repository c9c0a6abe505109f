"""Scores of a finished run, read back as what they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from askew.errors import UsageError
from askew.planning.map import plan_map
from askew.results.file import write_json
from askew.results.map_baseline import read_baseline, restored
from askew.types import Estimate, Missing


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    entry = {
        "miou": Estimate(0.3, 0.2, 0.4, 0.95, "Student's t", 12, p=0.01),
        "blocks": {"mid": Missing("error", "flat"), "up-16": Estimate(0.1, n=1)},
        "pictures": [0.1, 0.5],
        "prompts": [{"prompt": "a nurse", "mbiou": Estimate(0.2)}],
        "nothing": None,
    }
    path = write_json(tmp_path / "one.json", entry)
    assert restored(json.loads(path.read_text())) == entry


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no reading of gender but of ethnicity"),
        ({"vqa_args": {"choice": "constrained"}}, "vqa_args none, not choice=constrained"),
    ],
)
def test_a_run_that_read_something_else_is_no_baseline(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    before = plan_map(["a nurse"], concepts=["race", "skin"], against="nurse")
    (tmp_path / "plan.toml").write_text(before.to_toml())
    plan = plan_map(["a nurse"], concepts=["skin"], against="nurse", baseline=str(tmp_path), **settings)
    with pytest.raises(UsageError, match=message):
        read_baseline(plan, ["studio"])
