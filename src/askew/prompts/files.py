"""Prompts from files, and the clean-up of prompts that people have written for other purposes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from askew.errors import UsageError


def read_text(path: Path, what: str, error: type[UsageError]) -> str:
    """The text of a UTF-8 file. Raises `error`, which says `what` it is and names the line."""
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as fault:
        raise error(f"cannot read the {what} {path}: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        place = f"{what} {path}, line {line}: byte {data[fault.start]:#04x}"
        raise error(f"{place} is not UTF-8; save the file as text in UTF-8") from fault


def read_prompts(path: Path) -> list[str]:
    """The prompts of a UTF-8 text file, one a line; blank lines and lines that begin with # are left out.

    Raises UsageError, with the line, for a file that cannot be read, is not text, holds no prompt or one twice.
    """
    prompts: dict[str, int] = {}
    for number, line in enumerate(read_text(path, "prompts", UsageError).splitlines(), start=1):
        prompt = " ".join(line.split())
        if not prompt or prompt.startswith("#"):
            continue
        if prompt in prompts:
            raise UsageError(
                f"{path}, line {number}: the prompt {prompt!r} stands in line {prompts[prompt]} already; "
                "every prompt may stand there once"
            )
        prompts[prompt] = number
    if not prompts:
        raise UsageError(f"{path} holds no prompt; write one a line, comments after #")
    return list(prompts)


def clean_prompt(text: str) -> str | None:
    """The part of a long prompt that says what is in the picture, or None if there is none of 5 to 9 words.

    TIBET's rule for prompts from DiffusionDB (appendix 11, figure 8): of the parts between punctuation the longest, the
    first of equals; dropped if it has the word "painting" or "by", or if its first letters are "in".
    """
    part = max(re.split(r"[.:()\[\]!,]", text), key=len).strip()
    words = part.split()
    if not 5 <= len(words) <= 9 or "painting" in words or "by" in words or part.startswith("in"):
        return None
    return part


def clean_prompts(texts: Iterable[str]) -> list[str]:
    """The parts that `clean_prompt` keeps, each once, in order."""
    return list(dict.fromkeys(part for part in map(clean_prompt, texts) if part is not None))
