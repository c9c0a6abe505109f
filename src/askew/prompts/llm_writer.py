"""A language model as writer of prompts, mutations and variations, and of axes and counterfactuals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from askew.errors import UsageError
from askew.prompts import instructions
from askew.prompts.base import AxisProposal
from askew.prompts.collecting import collect
from askew.prompts.llm import LLM, CompletionCache, RememberedLLM, Usage
from askew.prompts.llm_axes import propose
from askew.prompts.writer import PROMPT_WORDS, VARIATION_WORDS, Words, check_request

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
        """Prompts about things, people and nature; see `askew.prompts.writer.PromptWriter`."""
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
