"""A language model as writer of prompts, mutations and variations, and of axes and counterfactuals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from askew.errors import UsageError
from askew.prompts import instructions
from askew.prompts.acceptance import prompt_fault, variation_fault
from askew.prompts.answers import Unusable, a_list, a_text, an_object, read_texts
from askew.prompts.base import AxesOn, AxisProposal, Kind, Words, bare, has_length, length_of
from askew.prompts.llm import (
    ATTEMPTS,
    Message,
    RememberedLLM,
    attempt_seed,
    gave_nothing,
)
from askew.prompts.llm_axes import Rejected, propose

VERSION = 2
"""To be raised whenever a change of code or instructions changes what is asked or kept."""

_LISTED = 60
"""Texts that a model is told not to repeat."""


class LLMWriter:
    """Asks a language model, checks what comes back, and asks again for what is missing, a bounded number of times.

    `axes` is the number of axes to ask for, `on` whether they are to be open in a prompt. `rejected` holds, by prompt,
    the axes that could not be used.
    """

    def __init__(self, llm: RememberedLLM, *, axes: int = 8, on: AxesOn = "open") -> None:
        if axes < 1:
            raise UsageError(f"{llm.name} was asked for {axes} axes; the number must be at least 1")
        self.name, self.concurrency, self.usage, self.tally = llm.name, llm.concurrency, llm.usage, llm.tally
        self.fingerprint = f"{llm.fingerprint} writer-{VERSION}"
        self.rejected: dict[str, dict[str, Rejected]] = {}
        self._llm, self._axes, self._on = llm, axes, on

    def propose(self, prompt: str, axes: Sequence[str] | None, seed: int) -> list[AxisProposal]:
        """Axes with counterfactuals; see `askew.prompts.base.Writer`. Raises LanguageModelError."""
        text = " ".join(prompt.split())
        self.rejected[prompt] = {}
        return propose(self._llm, text, axes, self._axes, self._on, seed, self.rejected[prompt])

    def write(
        self, kind: Kind, prompt: str, count: int, *, seed: int, target: str | None = None, words: Words | None = None
    ) -> list[str]:
        """Random prompts, mutations or variations; see `PromptWriter`.

        What is missing is asked for again, with what was wrong, at most `ATTEMPTS` times in all.
        """
        words = length_of(kind, prompt, count, words)
        found: dict[str, str] = {}
        faults: Counter[str] = Counter()
        with self._llm.remembering(goes_on=True) as complete:
            for attempt in range(ATTEMPTS):
                left = count - len(found)
                told = instructions.write(kind, prompt, left, words, target) + _remarks(found.values(), faults)
                messages = [Message("system", instructions.WRITING), Message("user", told)]
                form = an_object(prompts=a_list(a_text(14 * words[1]), left, left))
                answer = complete(messages, form, attempt_seed(seed, attempt))
                faults = Counter()
                try:
                    texts = read_texts(answer)
                except Unusable as error:
                    texts, faults[str(error)] = [], 1
                    self.tally.note(kind, *[str(error)] * left)
                for text in texts:
                    fault = _fault(text, words)
                    fault = fault or (variation_fault(prompt, text) if kind == "variations" else prompt_fault(text))
                    fault = fault or ("a text was a repetition" if bare(text) in {bare(prompt), *found} else None)
                    self.tally.note(kind, fault)
                    if fault:
                        faults[fault] += 1
                    else:
                        found[bare(text)] = text
                if len(found) >= count:
                    break
            if not found:
                raise gave_nothing(self._llm, ", ".join(faults) or "it was empty")
        return list(found.values())[:count]


def _fault(text: str, words: Words) -> str | None:
    """What is wrong with a text by itself, None if nothing."""
    if not bare(text):
        return "a text was empty"
    return None if has_length(text, words) else f"a text had not {words[0]} to {words[1]} words"


def _remarks(found: Iterable[str], faults: Counter[str]) -> str:
    """What an instruction adds when it is given again."""
    listed = "; ".join(list(found)[-_LISTED:])
    wrong = f" Last time something was wrong: {', '.join(faults)}." if faults else ""
    return wrong + (f" These are there already and must not come again: {listed}." if listed else "")
