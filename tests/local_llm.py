"""A local server with OpenAI's interface whose answers and faults a test chooses."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """A reply of the server."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: threading.Event | None = None


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


def fails(status: int, message: str = "no", **headers: str) -> Reply:
    """Return an error as OpenAI's server words it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps({"error": {"message": message}}).encode(), status, named)


@contextmanager
def serving(answer: Answer) -> Iterator[LocalLLM]:
    """Run a server until the context ends."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                number = len(local.requests)
                local.requests.append(content)
                local.headers.append({name.lower(): value for name, value in self.headers.items()})
            reply = answer(number, content)
            if reply.wait is not None:
                reply.wait.wait(20)
            self.send_response(reply.status)
            for name, value in {"content-length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # some tests make the client give up
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    local = LocalLLM(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield local
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
