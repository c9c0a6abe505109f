"""A finished run that another one is held against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from askew.errors import UsageError
from askew.methods.map.gather import read_baseline
from askew.methods.map.plan import plan_map


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
