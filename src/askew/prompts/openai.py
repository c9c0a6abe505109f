"""A language model behind any OpenAI-compatible server: vLLM, Ollama, llama.cpp, hosted ones
(--llm-url).
"""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from askew.errors import ServerError, UsageError
from askew.hosted import OPENAI_URL, Server
from askew.prompts.base import AxesOn
from askew.prompts.llm import CachingLLM, Completion, CompletionCache, Message, Schema
from askew.prompts.llm_writer import LLMWriter

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

_NAMED = {
    "response_format": re.compile(r"response_format|json_schema|json_object|schema|grammar", re.I),
    "max_tokens": re.compile(r"max_tokens|max_completion_tokens", re.I),
    "temperature": re.compile(r"temperature", re.I),
    "seed": re.compile(r"\bseed\b", re.I),
}
"""By request field, how servers that do not take it speak of it."""


class OpenAILLM:
    """One model of one server. A field that it does not take, such as `seed` or the schema, is left
    out from then on.

    The server's address is no part of the fingerprint: a name of a model means the same model
    everywhere.
    """

    def __init__(
        self, model: str, server: Server, temperature: float, max_tokens: int, concurrency: int
    ) -> None:
        self.name = f"openai/{model}"
        self.fingerprint = f"openai/{model} temperature={temperature:g} max_tokens={max_tokens}"
        self.concurrency = concurrency
        self._server = server
        self._fields: dict[str, Any] = {
            "model": model,
            "temperature": temperature,
            "max_tokens": max_tokens,
        }
        self._left_out: frozenset[str] = frozenset()

    def complete(self, messages: Sequence[Message], schema: Schema | None, seed: int) -> Completion:
        """The next turn. Raises ServerError."""
        while True:
            left_out = self._left_out
            content = {
                **self._fields,
                "messages": [asdict(message) for message in messages],
                "seed": seed,
            }
            if schema is not None:
                answer = {"name": "answer", "strict": True, "schema": schema}
                strict = {"type": "json_schema", "json_schema": answer}
                content["response_format"] = (
                    {"type": "json_object"} if "json_schema" in left_out else strict
                )
            if "max_tokens" in left_out:
                content["max_completion_tokens"] = content.pop("max_tokens")
            content = {name: value for name, value in content.items() if name not in left_out}
            try:
                return _completion(self._server.chat(**content), self._server.url)
            except ServerError as error:
                told = str(error) if error.status in (400, 422) else ""
                unknown = next(
                    (
                        name
                        for name, words in _NAMED.items()
                        if name in content and words.search(told)
                    ),
                    None,
                )
                if unknown is None:
                    raise
                strict_schema = (
                    unknown == "response_format" and content[unknown]["type"] == "json_schema"
                )
                self._left_out |= {"json_schema" if strict_schema else unknown}


def create(
    name: str = "",
    *,
    url: str = OPENAI_URL,
    cache: CompletionCache | None = None,
    temperature: float = 0.8,
    max_tokens: int = 2048,
    timeout: float = 120.0,
    concurrency: int = 4,
    budget: int | None = None,
    axes: int = 8,
    axes_on: AxesOn = "unstated",
) -> LLMWriter:
    """The writer that `--llm openai/MODEL` names; `budget` is the most tokens to use. Raises
    UsageError.
    """
    if not name:
        raise UsageError(
            "which model? Write it as --llm openai/MODEL, with the name that the server gives it"
        )
    if concurrency < 1:
        raise UsageError("concurrency must be greater than 0")
    llm = OpenAILLM(name, Server(url, timeout=timeout), temperature, max_tokens, concurrency)
    return LLMWriter(CachingLLM(llm, cache, budget), axes=axes, on=axes_on)


def _completion(answer: "ChatCompletion", url: str) -> Completion:
    """The first choice of a server's answer. Raises ServerError for something else."""
    try:
        choice = answer.choices[0]
        text = choice.message.content or ""
        refused = bool(choice.message.refusal) or choice.finish_reason == "content_filter"
    except (AttributeError, IndexError, TypeError) as error:
        raise ServerError(
            f"{url} answered JSON that is no chat completion: {str(answer)[:200]!r}"
        ) from error
    counts = [getattr(answer.usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    return Completion(
        str(text).encode(errors="replace").decode(),  # halves of characters could not be sent back
        refused,
        choice.finish_reason == "length",
        *(count if isinstance(count, int) and count >= 0 else None for count in counts),
    )
