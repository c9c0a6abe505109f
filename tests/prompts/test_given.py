"""Prompts from files, cleaned prompts, BiasConnect's prompts and questions, and social groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.errors import UsageError
from askew.prompts.axes import AXES, BIASCONNECT
from askew.prompts.counterfactuals import counterfactuals
from askew.prompts.given import (
    OCCUPATIONS,
    PORTRAIT,
    asked_as_in_biasconnect,
    clean_prompt,
    clean_prompts,
    group_names,
    occupation_prompts,
    prompt_of,
    read_prompts,
    stated_value,
)
from askew.studio.caption import parse


def test_comments_and_blank_lines_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_bytes(b"\xef\xbb\xbf# occupations\r\na nurse\r\n\r\n  a  chef \r\n")
    assert read_prompts(file) == ["a nurse", "a chef"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a nurse\n\na nurse\n", r"line 3: the prompt 'a nurse' repeats line 1"),
        (b"# nothing\n\n", r"contains no prompt"),
        (b"a nurse\na \xff chef\n", r"line 2: byte 0xff is not UTF-8"),
    ],
)
def test_a_bad_file_is_a_usage_error(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "prompts.txt"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        read_prompts(file)


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the prompts .*none\.txt"):
        read_prompts(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a cat sitting on a red chair, 4k, artstation", "a cat sitting on a red chair"),
        ("4k. (a dragon made out of ice) [detailed]: hd!", "a dragon made out of ice"),
        ("four words are few", None),
        ("one two three four five six seven eight nine ten", None),
        ("a painting of a cat on grass", None),
        ("a paintings fan with cats on grass", "a paintings fan with cats on grass"),
        ("portrait of a cat by a master", None),
        ("indian woman standing near a tree", None),
        ("", None),
    ],
)
def test_clean_prompt(text: str, part: str | None) -> None:
    assert clean_prompt(text) == part


def test_clean_prompts_removes_duplicates() -> None:
    texts = [
        "a dragon made of ice, hd",
        "short",
        "a dragon made of ice!",
        "a view of a european street",
    ]
    assert clean_prompts(texts) == ["a dragon made of ice", "a view of a european street"]


def test_there_is_a_prompt_for_each_of_the_26_occupations() -> None:
    prompts = occupation_prompts()
    assert len(prompts) == len(set(prompts)) == 26
    assert "a photo of an accountant" in prompts
    assert "a photo of a nurse" in prompts


@pytest.mark.parametrize("prompt", occupation_prompts())
def test_the_studio_knows_every_occupation(prompt: str) -> None:
    assert parse(prompt).occupation
    assert parse(prompt).unknown == ()


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("gender", ["a photo of a male nurse", "a photo of a female nurse"]),
        (
            "age",
            [
                "a photo of a young nurse",
                "a photo of a middle-aged nurse",
                "a photo of an old nurse",
            ],
        ),
        (
            "environment",
            ["a photo of a nurse working indoors", "a photo of a nurse working outdoors"],
        ),
        (
            "clothing",
            ["a photo of a nurse in formal attire", "a photo of a nurse in informal attire"],
        ),
        (
            "disability",
            [
                "a photo of a nurse who is fit",
                "a photo of a blind nurse",
                "a photo of a nurse with a hearing aid",
                "a photo of a nurse on a wheelchair",
            ],
        ),
    ],
)
def test_counterfactuals_follow_the_templates_of_table_2(axis: str, expected: list[str]) -> None:
    assert list(counterfactuals("a photo of a nurse", axis).values()) == expected


def test_questions_are_multiple_choice_and_disability_has_three_parts() -> None:
    for name in BIASCONNECT:
        asked = asked_as_in_biasconnect(AXES[name])
        if name == "disability":
            assert [q.options for q in asked.questions] == [("yes", "no")] * 3
            assert asked.read(["no", "no", "no"]) == "fit"
        else:
            (question,) = asked.questions
            assert question.options == asked.values
            assert all(value in question.text for value in asked.values)


def test_other_axes_keep_their_questions() -> None:
    assert asked_as_in_biasconnect(AXES["glasses"]) is AXES["glasses"]


@pytest.mark.parametrize("names", [["nurse", "nurse"], ["nurse", " "]])
def test_occupations_must_be_different_words(names: list[str]) -> None:
    with pytest.raises(UsageError, match="must not be blank or repeated"):
        occupation_prompts(names)


def test_occupations_of_the_user_get_their_article() -> None:
    assert occupation_prompts(["umpire", "judge"]) == ["a photo of an umpire", "a photo of a judge"]
    assert set(OCCUPATIONS) >= {"police", "sales person"}


def test_the_template_takes_the_article_that_fits() -> None:
    assert (
        prompt_of("caucasian man")
        == "A color photograph of a caucasian man, headshot, high-quality."
    )
    assert prompt_of("african-american woman").startswith(
        "A color photograph of an african-american woman,"
    )
    assert prompt_of("CEO", PORTRAIT) == "A portrait of a CEO."
    assert prompt_of("CEO", "{} in {style}, {0}") == "a CEO in {style}, {0}"


def test_groups_are_read_with_commas() -> None:
    assert group_names(" caucasian  man, african-american woman") == (
        "caucasian man",
        "african-american woman",
    )
    assert group_names(["White: Female"]) == ("White: Female",)


@pytest.mark.parametrize("text", ["", "a man,,a woman", "man, Man"])
def test_empty_and_repeated_groups_are_refused(text: str) -> None:
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
def test_values_of_a_group_are_read_from_its_name(words: str, axis: str, value: str | None) -> None:
    assert stated_value(words, axis) == value
