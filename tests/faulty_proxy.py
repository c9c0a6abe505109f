"""A proxy before a local server that spoils a share of the requests in one way."""

from __future__ import annotations

import http.client
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = ("500", "503", "reset", "lost", "torn", "short", "corrupt", "hang")
"""Two errors; a connection that is closed, also after the work is done, or in the middle of a request
or of an answer; a flipped bit in an answer; no answer.
"""
ERROR = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Slow down.</Message></Error>"
HOP = {"transfer-encoding", "connection", "keep-alive", "expect"}


@dataclass
class Faults:
    """The fault and its share of all requests; `hits` counts the spoiled requests."""

    kind: str = ""
    share: float = 0.0
    hits: int = 0
    address: str = ""
    rng: random.Random = field(default_factory=lambda: random.Random(0))

    def strikes(self) -> bool:
        """Draw whether a request is spoiled."""
        strikes = self.rng.random() < self.share
        self.hits += strikes
        return strikes


class Proxy(ThreadingHTTPServer):
    """The proxy before the server at a port."""

    daemon_threads = True

    def __init__(self, port: int, seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = port
        self.seconds = seconds
        self.end = threading.Event()
        self.faults = Faults(address=f"http://127.0.0.1:{self.server_address[1]}")


class Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = self.server.faults.kind if self.server.faults.strikes() else ""
        if kind in ("500", "503"):
            return self.answer(int(kind), [("Content-Type", "application/xml")], ERROR)
        if kind == "hang":
            self.server.end.wait(self.server.seconds)
        if kind in ("reset", "hang"):
            return self.cut()
        if kind == "torn":
            self.send_half(body)
            return self.cut()
        status, headers, data = self.forwarded(body)
        if kind == "lost":
            return self.cut()
        if kind == "corrupt" and data:
            data = bytes([*data[:-1], data[-1] ^ 1])
        length = len(data)
        if self.command == "HEAD":
            length = int(dict(headers).get("Content-Length", 0))
        if kind == "short":
            self.answer(status, headers, data[: len(data) // 2], length)
            return self.cut()
        return self.answer(status, headers, data, length)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815

    def forwarded(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        server = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        headers = {name: v for name, v in self.headers.items() if name.lower() not in HOP}
        server.request(self.command, self.path, body or None, headers)
        reply = server.getresponse()
        data = reply.read()
        server.close()
        return reply.status, reply.getheaders(), data

    def send_half(self, body: bytes) -> None:
        server = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP:
                server.putheader(name, value)
        server.endheaders()
        server.send(body[: len(body) // 2])
        server.close()

    def answer(
        self, status: int, headers: list[tuple[str, str]], data: bytes, length: int = -1
    ) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in {*HOP, "content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length < 0 else length))
        self.end_headers()
        self.wfile.write(data)

    def cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(2)

    def handle(self) -> None:
        with suppress(OSError, http.client.HTTPException):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def faulty(port: int, seconds: float) -> Iterator[Faults]:
    """Run a proxy before the server at a port, and yield its faults. A hang lasts `seconds`."""
    server = Proxy(port, seconds)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server.faults
    finally:
        server.end.set()
        server.shutdown()
        server.server_close()
