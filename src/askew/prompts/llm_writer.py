"""A language model as writer of prompts, mutations and variations, and of axes and counterfactuals.

As many different texts as wanted, from a language model that gives some, repeats itself, or says other things.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

from askew.errors import UsageError
from askew.prompts import instructions
from askew.prompts.base import PROMPT_WORDS, VARIATION_WORDS, AxisProposal, Words, bare, check_request, has_length
from askew.prompts.llm import (
    ATTEMPTS,
    LLM,
    Completion,
    CompletionCache,
    Message,
    RememberedLLM,
    Unusable,
    Usage,
    attempt_seed,
    gave_nothing,
    parse,
)
from askew.prompts.llm_axes import propose

VERSION = 1
"""To be raised whenever a change of code or instructions changes what is asked or kept."""


class LLMWriter:
    """Asks a language model, checks what comes back, and asks again for what is missing, a bounded number of times.

    `cache` keeps all answers, so that the same request gives the same texts and costs nothing. `axes` is the number of
    axes to ask for. For `budget` and `prices` see `RememberedLLM`.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        cache: CompletionCache | None = None,
        budget: int | None = None,
        prices: tuple[float, float] | None = None,
        axes: int = 6,
    ) -> None:
        if axes < 1:
            raise UsageError(f"{llm.name} was asked for {axes} axes; the number must be at least 1")
        self.name = llm.name
        self.fingerprint = f"{llm.fingerprint} writer-{VERSION}"
        self.concurrency = llm.concurrency
        self._llm = RememberedLLM(llm, cache, budget, prices)
        self._axes = axes

    @property
    def usage(self) -> Usage:
        """What was asked so far."""
        return self._llm.usage

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Axes with counterfactuals; see `askew.prompts.base.Writer`. Raises LanguageModelError."""
        return propose(self._llm, " ".join(prompt.split()), axes, self._axes, seed)

    def random_prompts(
        self, count: int, *, seed: int, target: str | None = None, words: Words = PROMPT_WORDS
    ) -> list[str]:
        """Prompts about things, people and nature; see `askew.prompts.base.PromptWriter`."""
        check_request(count, words)
        write = partial(instructions.random_prompts, words=words, target=target)
        return collect(self._llm, write, count, words, seed)

    def mutations(
        self, prompt: str, count: int, *, seed: int, target: str | None = None, words: Words = PROMPT_WORDS
    ) -> list[str]:
        """Related prompts that give other pictures; see `PromptWriter`."""
        check_request(count, words, prompt)
        write = partial(instructions.mutations, prompt, words=words, target=target)
        return collect(self._llm, write, count, words, seed, prompt)

    def variations(
        self, prompt: str, count: int, *, seed: int, target: str | None = None, words: Words = VARIATION_WORDS
    ) -> list[str]:
        """Readings of the prompt; see `PromptWriter`."""
        check_request(count, words, prompt)
        write = partial(instructions.variations, prompt, words=words, target=target)
        return collect(self._llm, write, count, words, seed, prompt)


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
