"""Getting something usable out of a language model: what cannot be used is asked for again, with the reason."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from askew.errors import LanguageModelError
from askew.prompts.llm import Completion, Message, RememberedLLM, Schema

ATTEMPTS = 4
"""How often one thing is asked for before giving up."""

SEEDS = 2**31 - 1
"""Seeds lie in 0 .. SEEDS - 1, which every server takes."""

_SHOWN = 600
"""Characters of an unusable answer that the model is shown again."""

T = TypeVar("T")


class Unusable(Exception):
    """An answer cannot be used; the message says why, in words that the model can act on."""


def ask(llm: RememberedLLM, messages: Sequence[Message], schema: Schema, read: Callable[[Any], T], seed: int) -> T:
    """What `read` makes of the JSON that the model answers.

    An answer that is no JSON, refused, cut off, or that `read` raises Unusable for, is asked for again with the reason
    and another seed. Raises LanguageModelError after `ATTEMPTS` tries.
    """
    turns = list(messages)
    reason = ""
    for attempt in range(ATTEMPTS):
        answer = llm.complete(turns, schema, attempt_seed(seed, attempt))
        try:
            return read(parse(answer))
        except Unusable as error:
            reason = str(error)
        turns = [*messages, *_repair(answer, reason)]
    raise gave_nothing(llm, reason)


def parse(answer: Completion) -> Any:
    """The JSON in an answer, also where words or a code fence stand around it. Raises Unusable."""
    if answer.refused:
        raise Unusable("it was refused")
    start = re.search(r"[\[{]", answer.text)
    try:
        value = json.JSONDecoder().raw_decode(answer.text, start.start() if start else 0)[0]
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:  # an escape such as \ud83d alone
        raise Unusable("it holds half of a character") from error
    except (ValueError, RecursionError) as error:
        why = "it was cut off because it is too long" if answer.truncated else "it is not valid JSON"
        raise Unusable(why) from error
    return value


def attempt_seed(seed: int, attempt: int) -> int:
    """The seed of one try."""
    return int(hashlib.sha256(f"{seed} {attempt}".encode()).hexdigest(), 16) % SEEDS


def gave_nothing(llm: RememberedLLM, reason: str) -> LanguageModelError:
    """The error after the last try."""
    return LanguageModelError(
        f"{llm.name} gave nothing that could be used in {ATTEMPTS} tries: {reason}. Try a larger model, or another seed"
    )


def _repair(answer: Completion, reason: str) -> list[Message]:
    shown = [Message("assistant", answer.text[:_SHOWN])] if answer.text.strip() else []
    return [*shown, Message("user", f"This answer cannot be used: {reason}. Answer again, with JSON only.")]
