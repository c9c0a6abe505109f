"""Prompts about social groups."""

from __future__ import annotations

import pytest

from askew.errors import UsageError
from askew.prompts.groups import PORTRAIT, group_names, prompt_of, stated_value


def test_the_template_takes_the_article_that_fits() -> None:
    assert prompt_of("caucasian man") == "A color photograph of a caucasian man, headshot, high-quality."
    assert prompt_of("african-american woman").startswith("A color photograph of an african-american woman,")
    assert prompt_of("CEO", PORTRAIT) == "A portrait of a CEO."
    assert prompt_of("CEO", "{} in {style}, {0}") == "a CEO in {style}, {0}"


def test_groups_are_read_with_commas() -> None:
    assert group_names(" caucasian  man, african-american woman") == ("caucasian man", "african-american woman")
    assert group_names(["White: Female"]) == ("White: Female",)


@pytest.mark.parametrize("text", ["", "a man,,a woman", "man, Man"])
def test_groups_that_are_none_or_twice_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="group"):
        group_names(text)


@pytest.mark.parametrize(
    ("words", "axis", "value"),
    [
        ("caucasian man", "gender", "male"),
        ("caucasian man", "ethnicity", "white"),
        ("african-american woman", "gender", "female"),
        ("african-american woman", "ethnicity", "black"),
        ("Black: Female", "gender", "female"),
        ("Black: Female", "ethnicity", "black"),
        ("nurse", "gender", None),
    ],
)
def test_a_group_s_name_says_what_it_is(words: str, axis: str, value: str | None) -> None:
    assert stated_value(words, axis) == value
