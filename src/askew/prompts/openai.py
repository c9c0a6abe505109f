"""A language model behind any OpenAI-compatible server (--llm-url).

Such servers are vLLM, Ollama, llama.cpp and hosted services.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from askew.errors import ServerError, UsageError
from askew.hosted import OPENAI_URL, Server
from askew.prompts.base import AxesOn
from askew.prompts.llm import CachingLLM, Completion, CompletionCache, Message, Schema
from askew.prompts.llm_writer import LLMWriter

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

_FIELD_NAMES = {
    "response_format": re.compile(r"response_format|json_schema|json_object|schema|grammar", re.I),
    "max_tokens": re.compile(r"max_tokens|max_completion_tokens", re.I),
    "temperature": re.compile(r"temperature", re.I),
    "seed": re.compile(r"\bseed\b", re.I),
}
"""Names of request fields in the errors of servers that do not accept them, by field."""

_SYSTEM_ROLE = re.compile(r"\bsystem\W+role|\brole\W+system|\broles must alternate", re.I)
_FILTERS = re.compile(r"content_filter|content_policy|responsibleai", re.I)
"""Codes of errors of servers whose filter refuses a prompt."""


class OpenAILLM:
    """One model of one server.

    After a server has rejected a field such as `seed` or the schema, the field is left out.
    The server's address is not part of the fingerprint: a model's name is assumed to mean the same
    model everywhere.

    Parameters
    ----------
    model
        Name of the model on the server.
    server
        The server.
    temperature
        Temperature of sampling.
    max_tokens
        Greatest number of tokens of an answer.
    concurrency
        Number of conversations at once.
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
        """Return the next message of a conversation; see `askew.prompts.llm.LLM`.

        Raises
        ------
        ServerError
            If the server gives no answer.
        """
        while True:
            content = self._content(messages, schema, seed, self._left_out)
            try:
                return _completion(self._server.chat(**content), self._server.url)
            except ServerError as error:
                if _FILTERS.search(error.server_code):
                    return Completion(text="", refused=True)
                rejected = _rejected_field(content, error)
                if rejected is None:
                    raise
                self._left_out |= {rejected}

    def _content(
        self,
        messages: Sequence[Message],
        schema: Schema | None,
        seed: int,
        left_out: frozenset[str],
    ) -> dict[str, Any]:
        """Return the fields of a request, without those that the server does not accept."""
        if "system role" in left_out:
            messages = _without_system(messages)
        content = {
            **self._fields,
            "messages": [asdict(message) for message in messages],
            "seed": seed,
        }
        if schema is not None and "json_schema" in left_out:
            content["response_format"] = {"type": "json_object"}
        elif schema is not None:
            answer = {"name": "answer", "strict": True, "schema": schema}
            content["response_format"] = {"type": "json_schema", "json_schema": answer}
        if "max_tokens" in left_out:
            content["max_completion_tokens"] = content.pop("max_tokens")
        return {name: value for name, value in content.items() if name not in left_out}


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation whose first message by the user includes the system's message."""
    system, user, *rest = messages
    return [Message("user", f"{system.content}\n\n{user.content}"), *rest]


def _rejected_field(content: Mapping[str, Any], error: ServerError) -> str | None:
    """Return the field that an error is about; None for an error about anything else.

    The strict form of `response_format` is the field "json_schema", and a system's message is the
    field "system role".
    """
    has_system = content["messages"][0]["role"] == "system"
    if has_system and _SYSTEM_ROLE.search(str(error)):
        return "system role"
    is_failure = error.status is not None and error.status >= 500
    if error.status not in (400, 422) and not is_failure:
        return None
    for name, pattern in _FIELD_NAMES.items():
        if is_failure and name != "response_format":
            continue  # a failed server may name any field
        if name in content and pattern.search(str(error)):
            is_strict = name == "response_format" and content[name]["type"] == "json_schema"
            return "json_schema" if is_strict else name
    return None


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
    """Return the prompt generator of `--llm openai/MODEL`.

    Parameters
    ----------
    name
        Name of the model on the server.
    url
        Address of the server.
    cache
        Cache of answers; None for no cache.
    temperature, max_tokens, concurrency
        As `OpenAILLM` takes them.
    timeout
        Seconds to wait for the server.
    budget
        Greatest number of tokens to use; None for no limit.
    axes, axes_on
        As `LLMWriter` takes them.

    Returns
    -------
    LLMWriter
        The prompt generator.

    Raises
    ------
    UsageError
        For a missing name, a bad address, and impossible settings.
    """
    if not name:
        raise UsageError(
            "--llm openai does not name a model; write --llm openai/MODEL, with the server's name for the model"
        )
    if concurrency < 1:
        raise UsageError(f"concurrency is {concurrency}; it must be at least 1")
    llm = OpenAILLM(
        model=name,
        server=Server(url, timeout=timeout),
        temperature=temperature,
        max_tokens=max_tokens,
        concurrency=concurrency,
    )
    return LLMWriter(CachingLLM(llm, cache, budget), axes=axes, on=axes_on)


def _completion(answer: "ChatCompletion", url: str) -> Completion:
    """Return the first choice of a server's answer. Raises ServerError for anything else."""
    try:
        choice = answer.choices[0]
        text = _text(choice.message.content)
        refused = bool(choice.message.refusal) or choice.finish_reason == "content_filter"
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ServerError(
            f"{url} sent JSON that is not a chat completion: {str(answer)[:200]!r}"
        ) from error
    return Completion(
        text=text.encode(errors="replace").decode(),  # half characters cannot be sent back
        refused=refused,
        truncated=choice.finish_reason == "length",
        prompt_tokens=_token_count(answer, "prompt_tokens"),
        completion_tokens=_token_count(answer, "completion_tokens"),
    )


def _text(content: Any) -> str:
    """Return the text of a message, which may be a list of typed parts. Raises TypeError."""
    if isinstance(content, str | None):
        return content or ""
    return "".join(part["text"] for part in content if part["type"] == "text")


def _token_count(answer: "ChatCompletion", name: str) -> int | None:
    """Return a number of tokens; None if the server reports no valid number."""
    count = getattr(answer.usage, name, None)
    return count if isinstance(count, int) and count >= 0 else None
