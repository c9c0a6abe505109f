"""As many different texts as wanted, from a language model that gives some, repeats itself, or says other things."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

from askew.prompts import instructions
from askew.prompts.asking import ATTEMPTS, Unusable, attempt_seed, gave_nothing, parse
from askew.prompts.llm import Completion, Message, RememberedLLM
from askew.prompts.writer import Words, bare, has_length

_LISTED = 60
"""Texts that a model is told not to repeat."""

_CHATTER = re.compile(r"(?:i'?m |i am |i can|i cannot|sorry|as an ai|sure[,! ]|here (?:is|are) )", re.I)
_STRAY = re.compile('[,;"“”„«»()\\[\\]{}<>`*]')
_NUMBER = re.compile(r"^\s*(?:\d+\s*[.):]|[-•])\s*")
_COMPLETE_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s*[,\]])')


def collect(
    llm: RememberedLLM, write: Callable[[int], str], count: int, words: Words, seed: int, prompt: str = ""
) -> list[str]:
    """`count` different texts of `words` words, none of them `prompt`; fewer if the model gives no more.

    `write` is the instruction for a number of texts. What is missing is asked for again, with what was wrong, at most
    `ATTEMPTS` times in all. Raises LanguageModelError if there is no usable text.
    """
    found: dict[str, str] = {}
    faults: Counter[str] = Counter()
    for attempt in range(ATTEMPTS):
        left = count - len(found)
        told = write(left) + _remarks(found.values(), faults)
        messages = [Message("system", instructions.WRITING), Message("user", told)]
        answer = llm.complete(messages, schema(left), attempt_seed(seed, attempt))
        faults = _take(answer, words, bare(prompt), found)
        if len(found) >= count:
            break
    if not found:
        raise gave_nothing(llm, ", ".join(faults) or "it was empty")
    return list(found.values())[:count]


def schema(count: int) -> dict[str, Any]:
    """The JSON schema of `count` texts."""
    texts = {"type": "array", "items": {"type": "string"}, "minItems": count, "maxItems": count}
    return {"type": "object", "properties": {"prompts": texts}, "required": ["prompts"], "additionalProperties": False}


def _take(answer: Completion, words: Words, prompt: str, found: dict[str, str]) -> Counter[str]:
    """Add the usable texts of an answer to `found`; what was wrong with the others."""
    faults: Counter[str] = Counter()
    try:
        texts = [tidy(text) for text in _read(answer)]
    except Unusable as error:
        return Counter([str(error)])
    for text in texts:
        fault = _fault(text, words, {prompt, *found})
        if fault:
            faults[fault] += 1
        else:
            found[bare(text)] = text
    return faults


def _read(answer: Completion) -> list[str]:
    """The texts in an answer: a JSON object with one list, or a list; of one that was cut off, what is complete."""
    try:
        value = parse(answer)
    except Unusable:
        complete = _COMPLETE_STRING.findall(answer.text) if answer.truncated and not answer.refused else []
        if not complete:
            raise
        return complete
    if isinstance(value, dict):
        value = next((part for part in value.values() if isinstance(part, list)), None)
    if not isinstance(value, list):
        raise Unusable("it holds no list of prompts")
    return [text for text in value if isinstance(text, str)]


def tidy(text: str) -> str:
    """A text without numbering, quotation marks, brackets, commas and a full stop at its end."""
    return " ".join(_STRAY.sub(" ", _NUMBER.sub("", text)).split()).rstrip(".!:").strip()


def _fault(text: str, words: Words, taken: Collection[str]) -> str | None:
    """What is wrong with a text, None if nothing."""
    if not bare(text):
        return "a text was empty"
    if _CHATTER.match(text):
        return "a text was no prompt but a remark"
    if bare(text) in taken:
        return "a text was a repetition"
    if not has_length(text, words):
        return f"a text had not {words[0]} to {words[1]} words"
    return None


def _remarks(found: Iterable[str], faults: Counter[str]) -> str:
    """What an instruction adds when it is given again."""
    listed = "; ".join(list(found)[-_LISTED:])
    wrong = f" Last time something was wrong: {', '.join(faults)}." if faults else ""
    return wrong + (f" These are there already and must not come again: {listed}." if listed else "")
