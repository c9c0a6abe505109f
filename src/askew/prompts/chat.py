"""Conversations with a language model on any OpenAI-compatible server.

Servers accept different request fields. If a server rejects a field, askew replaces or omits the
field in all later requests.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from askew.errors import ServerError
from askew.hosted import Server
from askew.prompts.llm import Completion, Schema

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

Turn = Mapping[str, Any]
"""A message in the server's format, with either a text or a list of texts and images."""

_FIELD_NAMES = {
    "response_format": re.compile(r"response_format|json_schema|json_object|schema|grammar", re.I),
    "max_tokens": re.compile(r"max_tokens|max_completion_tokens", re.I),
    "temperature": re.compile(r"temperature", re.I),
    "seed": re.compile(r"\bseed\b", re.I),
}
"""Patterns that match the error message for a rejected request field, keyed by field."""

_SYSTEM_ROLE = re.compile(r"\bsystem\W+role|\brole\W+system|\broles must alternate", re.I)
_FILTERS = re.compile(r"content_filter|content_policy|moderation|responsibleai", re.I)
"""Error codes that servers return if their content filter refuses a request."""


class ChatClient:
    """A client for conversations with one model on one server. It is thread-safe.

    Parameters
    ----------
    server
        The server.
    fields
        Fields to include in every request, such as `model`, `temperature` and `max_tokens`.
    """

    def __init__(self, server: Server, fields: Mapping[str, Any]) -> None:
        self._server = server
        self._fields = dict(fields)
        self._left_out: frozenset[str] = frozenset()

    def complete(
        self,
        messages: Sequence[Turn],
        schema: Schema | None,
        seed: int,
    ) -> Completion:
        """Return the model's next message in a conversation.

        Parameters
        ----------
        messages
            All messages so far.
        schema
            JSON schema for the answer; None for any answer.
        seed
            Seed for the answer.

        Returns
        -------
        Completion
            The answer. If a filter refused the request, the text is the reason that the server
            gave.

        Raises
        ------
        ServerError
            If the server does not answer.
        """
        while True:
            content = self._content(messages, schema, seed, self._left_out)
            try:
                answer = self._server.chat(is_final=partial(_is_rejection, content), **content)
                return _completion(answer, self._server.url)
            except ServerError as error:
                if _FILTERS.search(error.server_code):
                    return Completion(text=error.words, refused=True)
                rejected = _rejected_field(content, error)
                if rejected is None:
                    raise
                self._left_out |= {rejected}

    def _content(
        self,
        messages: Sequence[Turn],
        schema: Schema | None,
        seed: int,
        left_out: frozenset[str],
    ) -> dict[str, Any]:
        """Return the fields of a request, excluding the fields that the server rejects."""
        if "system role" in left_out:
            messages = _without_system(messages)
        content = {
            **self._fields,
            "messages": list(messages),
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


def _without_system(messages: Sequence[Turn]) -> list[Turn]:
    """Return a conversation with the system message merged into the first user message."""
    system, user, *rest = messages
    instruction = system["content"]
    content = user["content"]
    if isinstance(content, str):
        merged: object = f"{instruction}\n\n{content}"
    else:
        merged = [{"type": "text", "text": instruction}, *content]
    return [{"role": "user", "content": merged}, *rest]


def _is_rejection(content: Mapping[str, Any], error: ServerError) -> bool:
    """Check whether a server rejects a request field that askew can replace or omit."""
    return _rejected_field(content, error) is not None


def _rejected_field(content: Mapping[str, Any], error: ServerError) -> str | None:
    """Return the name of the request field that a server rejects with an error, or None.

    The name is "json_schema" for a `response_format` with a schema, and "system role" for a system
    message.
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


def _completion(answer: "ChatCompletion", url: str) -> Completion:
    """Return the first choice in a server's answer. Raise ServerError if there is no choice."""
    try:
        choice = answer.choices[0]
        text = _text(choice.message.content) or _text(choice.message.refusal)
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
    """Return the text of a message, which may be a list of typed parts."""
    if isinstance(content, str | None):
        return content or ""
    return "".join(part["text"] for part in content if part["type"] == "text")


def _token_count(answer: "ChatCompletion", name: str) -> int | None:
    """Return a token count that the server reports; None if there is no valid count."""
    count = getattr(answer.usage, name, None)
    return count if isinstance(count, int) and count >= 0 else None
