"""Local servers whose replies a test chooses, for models and language models behind servers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Reply:
    """A reply of the server."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: threading.Event | None = None


@contextmanager
def replying(reply_to: Callable[[str, dict[str, str], bytes], Reply]) -> Iterator[str]:
    """Run a server until the context ends, and yield its address.

    `reply_to` returns the reply to the path, headers and body of a request, in a thread per request.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._reply(self.rfile.read(int(self.headers["content-length"])))

        def do_GET(self) -> None:
            self._reply(b"")

        def _reply(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = reply_to(self.path, headers, body)
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
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def dripping() -> Iterator[str]:
    """Run a server that sends its headers byte by byte without an end, and yield its address."""
    ended = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not ended.wait(0.05):
            connection.sendall(b"x")
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=drip, args=(listener,), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        ended.set()
