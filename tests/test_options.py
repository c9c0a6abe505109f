"""Options: how they are read from text and become fields of a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

import askew
from askew.errors import UnknownName, UsageError
from askew.options import (
    ProposalContext,
    key_values,
    named_lists,
    names,
    only_plan,
    pairs,
    plan_fields,
    prompts_of,
    run_options,
)


def test_numbers_and_yes_or_no_are_recognized() -> None:
    options = ["steps=12", "bias=0.5", "offload=true", "scheduler=DDIM", "url=a=b"]
    expected = {"steps": 12, "bias": 0.5, "offload": True, "scheduler": "DDIM", "url": "a=b"}
    assert key_values(options, "-M") == expected


def test_a_setting_may_be_empty_and_a_label_may_not() -> None:
    assert key_values(["negative_prompt="], "-M") == {"negative_prompt": ""}
    with pytest.raises(UsageError, match="--alias 'both=' is not of the form NAME=VALUE"):
        pairs(["both="], "--alias")


@pytest.mark.parametrize("text", ["bias", "=1", " =1", ""])
def test_a_setting_without_a_name_or_a_sign_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not of the form NAME=VALUE"):
        key_values([text], "-M")


@pytest.mark.parametrize("given", ["a, b", ["a", "b"], ["a,b"], ("a", " b ", "")])
def test_lists_come_with_commas_or_as_lists(given: str | list[str]) -> None:
    assert names(given) == ["a", "b"]


def test_options_that_are_not_given_are_left_to_the_plan() -> None:
    assert plan_fields({}) == {}
    assert plan_fields({"model": None, "seed": 3, "run": "x"}) == {"seed": 3}


def test_a_manifest_becomes_settings_of_its_folder() -> None:
    fields = plan_fields(
        {"manifest": Path("a.csv"), "label": ["gender=g", "age=a"], "model_args": {"limit": 3}}
    )
    assert fields == {"model_args": {"manifest": "a.csv", "label": "gender=g,age=a", "limit": 3}}


def test_prompts_come_singly_in_lists_and_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("a chef\na pilot\n", encoding="utf-8")
    options = {"prompt_file": tmp_path / "prompts.txt"}
    assert prompts_of(("a nurse", ["a ceo"]), options) == ["a nurse", "a ceo", "a chef", "a pilot"]
    with pytest.raises(UsageError, match="Name the file with --prompts FILE"):
        prompts_of((), {"clean": True})


def test_options_that_repeat_a_plan_are_refused() -> None:
    only_plan({"run": "x", "dry_run": True}, prompts=(), plan="plan.toml")
    with pytest.raises(UsageError, match="Edit the plan file instead of setting images, seed"):
        only_plan({"seed": 1, "run": "x"}, images=3)


@pytest.mark.parametrize(
    "name", ["audit", "interact", "mine", "map", "edit", "classify", "mitigate", "rank"]
)
def test_a_misspelled_option_is_reported_first(name: str) -> None:
    with pytest.raises(UnknownName, match=r"'seeed'.*seed"):
        getattr(askew, name)(seeed=3)


def test_options_of_a_run_are_separated_from_fields_of_a_plan() -> None:
    assert run_options({"seed": 1, "run": "x", "progress": True}) == {"run": "x", "progress": True}


def test_completions_are_kept_in_the_store(tmp_path: Path) -> None:
    desk = ProposalContext.of(
        {"store": tmp_path, "llm_url": "http://localhost:1", "llm_args": {"budget": 9}}
    )
    assert desk.settings == {"budget": 9, "url": "http://localhost:1"}
    desk.cache.put_completion("ab", {"text": "a"})
    assert list(tmp_path.rglob("*.json"))


def test_named_lists_are_read_from_texts_and_mappings() -> None:
    wanted = {"high": ["doctor", "CEO"], "low": ["cleaner", "maid"]}
    assert named_lists(["high=doctor,CEO", "low=cleaner, maid"], "--targets") == wanted
    assert named_lists({"high": ("doctor", "CEO"), "low": "cleaner,maid"}, "--targets") == wanted
    with pytest.raises(UsageError, match="--targets 'high' is not of the form"):
        named_lists(["high"], "--targets")
