"""Tests of the axes that a model suggests, which apply only to prompts that they fit."""

from __future__ import annotations

import pytest

from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.propose import survey_plan


@pytest.mark.parametrize(
    ("prompt", "axes"),
    [
        ("a photo of a nurse", ["gender", "age", "ethnicity"]),
        ("a photo of an old man", ["ethnicity"]),
        ("a photo of a firefighter carrying his helmet", ["age", "ethnicity"]),
    ],
)
def test_suggested_axes_that_a_prompt_states_are_left_out(prompt: str, axes: list[str]) -> None:
    plan = survey_plan(AuditPlan, [prompt], model="studio")
    assert [axis.name for axis in plan.prompts[0].axes] == axes


@pytest.mark.parametrize("prompt", ["a photo of a capybara", "a bowl of soup"])
def test_a_prompt_without_people_has_axes_of_its_subject(prompt: str) -> None:
    plan = survey_plan(AuditPlan, [prompt], model="studio")
    names = {axis.name for axis in plan.prompts[0].axes}
    assert len(names) > 3
    assert names.isdisjoint({"gender", "age", "ethnicity"})


def test_named_axes_are_kept_as_they_are() -> None:
    plan = survey_plan(AuditPlan, ["a photo of an old man"], model="studio", axes=["age"])
    assert [axis.name for axis in plan.prompts[0].axes] == ["age"]
