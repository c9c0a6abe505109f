"""Prompt files and the clean-up of long prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.errors import UsageError
from askew.prompts.files import clean_prompt, clean_prompts, read_prompts


def test_comments_and_blank_lines_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_bytes(b"\xef\xbb\xbf# occupations\r\na nurse\r\n\r\n  a  chef \r\n")
    assert read_prompts(file) == ["a nurse", "a chef"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a nurse\n\na nurse\n", r"line 3: the prompt 'a nurse' stands in line 1 already"),
        (b"# nothing\n\n", r"holds no prompt"),
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


def test_clean_prompts_keeps_each_once() -> None:
    texts = ["a dragon made of ice, hd", "short", "a dragon made of ice!", "a view of a european street"]
    assert clean_prompts(texts) == ["a dragon made of ice", "a view of a european street"]
