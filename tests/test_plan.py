"""Plans are validated, hashed, written and read without loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import UsageError
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.propose import survey_plan
from askew.plan import read_plan

GENDER = {
    "name": "gender",
    "values": ["male", "female"],
    "questions": [{"text": "Which gender?", "options": ["male", "female"]}],
    "counterfactuals": {"male": "a male nurse", "female": "a female nurse"},
}


def with_axis(*changes: dict[str, Any]) -> dict[str, Any]:
    return {"prompts": [{"text": "a nurse", "axes": [GENDER | change for change in changes]}]}


def minimal(**changes: Any) -> dict[str, Any]:
    return {"prompts": [{"text": "a nurse", "axes": [GENDER]}]} | changes


def test_a_plan_is_read_back_from_toml(tmp_path: Path) -> None:
    plan = survey_plan(
        AuditPlan,
        ["a photo of a nurse", "an empty room"],
        model="studio/planted",
        embedder="none",
        model_args={"bias": 0.5},
    )
    (tmp_path / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    assert read_plan(tmp_path / "plan.toml") == plan
    assert read_plan(tmp_path / "plan.toml").hash == plan.hash


def test_every_change_changes_the_hash() -> None:
    plans = [
        AuditPlan.checked(minimal(**changes))
        for changes in ({}, {"images": 47}, {"seed": 1}, {"model_args": {"bias": 1.0}})
    ]
    assert len({plan.hash for plan in plans}) == len(plans)


@given(
    st.dictionaries(
        st.text(min_size=1),
        st.integers() | st.booleans() | st.text() | st.floats(allow_nan=False),
        max_size=3,
    )
)
def test_model_settings_are_read_back_from_toml(settings: dict[str, Any]) -> None:
    import tomllib

    plan = AuditPlan.checked(minimal(model_args=settings))
    assert AuditPlan.model_validate(tomllib.loads(plan.to_toml())).model_args == plan.model_args


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": 0}, "images: .*greater than or equal to 1"),
        ({"confidence": 2}, "confidence"),
        ({"pictures": 5}, "pictures: Extra inputs"),
        ({"prompts": []}, "prompts"),
        (with_axis({}, {}), "an axis is named twice"),
        (with_axis({"counterfactuals": {"male": "x"}}), "needs none or at least two"),
        (with_axis({"reference": {"male": 1.0}}), "a share for each of: male, female"),
        (with_axis({"reference": {"male": 0.9, "female": 0.9}}), "sum to 1"),
        ({"prompts": [{"text": "a nurse", "axes": [GENDER]}] * 2}, "contains a prompt twice"),
    ],
)
def test_errors_name_the_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        AuditPlan.checked(minimal(**changes))


def test_a_file_that_is_not_a_plan_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("prompts = [")
    with pytest.raises(UsageError, match=r"broken\.toml cannot be read as TOML"):
        read_plan(tmp_path / "broken.toml")
