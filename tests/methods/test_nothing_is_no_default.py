"""Zero and empty lists are refused or applied; they never mean the default."""

from __future__ import annotations

from functools import partial

import pytest

from askew.cli import run
from askew.errors import UsageError
from askew.methods.edit.plan import plan_editing
from askew.methods.interact.plan import plan_interactions
from askew.parts.survey.propose import survey_plan
from askew.plan import Plan

NURSE = "a photo of a nurse"
PLANTED = "--model", "studio/planted"
COMMANDS = {
    "audit": ["audit", NURSE, *PLANTED],
    "interact": ["interact", NURSE, *PLANTED],
    "edit": ["edit", "--groups", "caucasian man, caucasian woman"],
    "classify": ["classify", "--groups", "caucasian man"],
    "map": ["map", NURSE, "--concept", "gender", "--against", "nurse"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_zero_images_are_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMANDS[command], "--images", "0", "--dry-run"]) == 2
    assert "images" in capsys.readouterr().err


@pytest.mark.parametrize("plan", [partial(survey_plan, Plan), plan_interactions])
@pytest.mark.parametrize("field", ["bootstrap_samples", "images"])
def test_zero_in_python_is_refused_by_name(plan: type, field: str) -> None:
    with pytest.raises(UsageError, match=f"{field}: Input should be greater"):
        plan([NURSE], axes=["gender"], model="studio/planted", **{field: 0})


def test_an_empty_list_of_instruments_is_refused() -> None:
    with pytest.raises(UsageError, match="vqa"):
        survey_plan(Plan, [NURSE], axes=["gender"], model="studio/planted", vqa=[])
    with pytest.raises(UsageError, match="vqa"):
        plan_editing("caucasian man, caucasian woman", vqa=[])


def test_an_empty_list_of_axes_of_edits_leaves_gender_only() -> None:
    plan = plan_editing("caucasian man, caucasian woman", axes=[], vqa=["clip/some"])
    assert [axis.name for axis in plan.prompts[0].axes] == ["gender"]
