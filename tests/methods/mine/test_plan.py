"""Plans of searches: defaults, refused settings, and no code from a plan file."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.errors import UsageError
from askew.methods.mine.gather import sought
from askew.methods.mine.plan import MinePlan, read_mine_plan


def test_the_defaults_of_equation_1_are_the_settings_of_the_paper() -> None:
    plan = MinePlan(objective="eq1")
    assert (plan.population, plan.selected, plan.mutations, plan.images, plan.variations) == (
        15,
        5,
        2,
        15,
        15,
    )
    assert (plan.iterations, plan.words, plan.quantile) == (25, (3, 8), 0.25)


def test_a_search_seeks_skew_of_perceived_gender_of_people_by_default() -> None:
    plan = MinePlan()
    assert (plan.objective, plan.axes, plan.topic) == ("skew", ("gender",), "people")
    assert (plan.images, plan.selection) == (5, "learned")
    assert sought(plan) == "prompts about people with the largest skew of perceived gender"
    assert MinePlan(axes=("lighting",)).topic == ""
    assert MinePlan(objective="eq1").topic == ""
    assert "Eq. 1" in sought(MinePlan(objective="eq1"))


def test_a_plan_survives_a_round_trip_through_its_file(tmp_path: Path) -> None:
    plan = MinePlan(topic="people", model_args={"bias": 0.5})
    (tmp_path / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    assert read_mine_plan(tmp_path / "plan.toml").hash == plan.hash


def test_a_plan_file_that_names_code_is_refused(tmp_path: Path) -> None:
    plan = MinePlan(objective="os:getcwd")
    (tmp_path / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    with pytest.raises(UsageError, match="must not make askew run code"):
        read_mine_plan(tmp_path / "plan.toml")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"selected": 8}, "exceed the population"),
        ({"words": (8, 3)}, "Give the smaller number first"),
        ({"quantile": 2}, "quantile"),
        ({"method": "audit"}, "method"),
        ({"objective": "eq1", "until": "decided"}, "tests the shares of a search by skew"),
        ({"nothing": 1}, "nothing"),
    ],
)
def test_invalid_settings_are_refused_with_the_reason(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        MinePlan.checked(fields)


def test_a_fixed_number_of_held_out_images_does_not_change_the_hash() -> None:
    assert "until" not in MinePlan().deciding()
    stopping = MinePlan(until="decided", eval_images=48)
    assert stopping.hash != MinePlan().hash
    assert (stopping.first_eval_images, MinePlan().first_eval_images) == (8, 48)


def test_similarities_are_rescaled_for_the_studio_only_by_default() -> None:
    assert MinePlan().is_unit
    assert not MinePlan(embedder="clip/some").is_unit
    assert MinePlan(embedder="clip/some", similarity="unit").is_unit


def test_the_address_of_a_language_model_does_not_change_the_hash_of_a_plan() -> None:
    first, second = (
        MinePlan(llm="openai/m", llm_args={"url": url, "budget": b, "temperature": 0.5})
        for url, b in (("http://a/v1", 10), ("http://b/v1", 20))
    )
    assert first.hash == second.hash
    assert first.hash != MinePlan(llm="openai/m", llm_args={"temperature": 0.6}).hash
    assert "http://a/v1" in first.to_toml()


def test_the_address_of_a_labeler_does_not_decide_the_results() -> None:
    def plan_hash(**settings: str) -> str:
        return MinePlan.checked({"vqa": "openai/m", "vqa_args": settings}).hash

    near = plan_hash(url="http://a/v1", detail="low")
    assert near == plan_hash(url="http://b/v1", detail="low")
    assert near != plan_hash(detail="high")
    assert "vqa_args" not in MinePlan.checked({}).deciding()
