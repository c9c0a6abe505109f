"""A local server with OpenAI's interface whose answers and faults a test chooses."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from local_server import Reply, replying

Answer = Callable[[int, dict[str, Any]], Reply]
"""A function from the number of a request and its JSON to a reply."""


@dataclass
class LocalLLM:
    """A running server with its address and the requests and headers it received."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


def says(
    text: str,
    *,
    reason: str = "stop",
    refusal: str | None = None,
    tokens: tuple[int, int] | None = (10, 5),
) -> Reply:
    """Return a complete chat completion."""
    message = {"role": "assistant", "content": None if refusal else text, "refusal": refusal}
    content: dict[str, Any] = {"choices": [{"message": message, "finish_reason": reason}]}
    if tokens is not None:
        content["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return Reply(json.dumps(content).encode())


def prompts(*texts: str) -> Reply:
    """Return a chat completion with a list of prompts."""
    return says(json.dumps({"prompts": texts}))


def reads_back(content: dict[str, Any]) -> Reply | None:
    """Return the answer to a question which values some prompts state; None for other requests.

    Each value is the complete prompt.
    """
    schema = content.get("response_format", {}).get("json_schema", {}).get("schema", {})
    if "values" not in schema.get("properties", {}):
        return None
    lines = [line.partition(". ") for line in content["messages"][-1]["content"].splitlines()]
    return says(json.dumps({"values": [text for number, _, text in lines if number.isdigit()]}))


def fails(status: int, message: str = "no", **headers: str) -> Reply:
    """Return an error as OpenAI's server words it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps({"error": {"message": message}}).encode(), status, named)


@contextmanager
def serving(answer: Answer) -> Iterator[LocalLLM]:
    """Run a server until the context ends."""
    lock = threading.Lock()

    def reply_to(path: str, headers: dict[str, str], body: bytes) -> Reply:
        if not body:
            return Reply(b"", 501)
        content = json.loads(body)
        with lock:
            number = len(local.requests)
            local.requests.append(content)
            local.headers.append(headers)
        return answer(number, content)

    with replying(reply_to) as address:
        local = LocalLLM(f"{address}/v1")
        yield local
