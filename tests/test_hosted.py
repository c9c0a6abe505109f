"""A server with OpenAI's interface and its failures, tested by real local requests."""

from __future__ import annotations

import gzip
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from askew.errors import ServerError, UsageError
from askew.hosted import (
    KEY_VARIABLE,
    LARGEST,
    OPENAI_KEY_VARIABLE,
    PermanentFailure,
    Server,
    _bounded_content,
    trusted_certificates,
)
from local_llm import fails, says, serving
from local_server import Reply, dripping


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(OPENAI_KEY_VARIABLE, raising=False)


def ask(url: str, **settings: float) -> str | None:
    """Return the server's answer to a conversation."""
    server = Server(url, **settings)  # type: ignore[arg-type]
    return (
        server.chat(model="m", messages=[{"role": "user", "content": "hello?"}])
        .choices[0]
        .message.content
    )


def test_too_many_requests_waits_as_long_as_the_server_asks() -> None:
    with serving(
        lambda number, content: fails(429, Retry_After="0.4") if number < 2 else says("hello")
    ) as server:
        started = time.monotonic()
        assert ask(server.url) == "hello"
        assert len(server.requests) == 3
        assert time.monotonic() - started >= 0.8


def test_a_date_in_the_past_causes_no_wait() -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    with serving(
        lambda number, content: fails(503, Retry_After=past) if number < 1 else says("hello")
    ) as server:
        assert ask(server.url) == "hello"
        assert len(server.requests) == 2


def test_a_wait_of_hours_is_an_error_at_once() -> None:
    with serving(lambda number, content: fails(429, "quota used up", Retry_After="7200")) as server:
        with pytest.raises(ServerError, match="429: quota used up") as caught:
            ask(server.url)
        assert caught.value.status == 429
        assert len(server.requests) == 1


def test_a_server_that_stays_broken_is_an_error_after_some_attempts() -> None:
    with serving(lambda number, content: fails(500, "out of order", Retry_After="0")) as server:
        with pytest.raises(ServerError, match=r"500: out of order.*3 attempts"):
            ask(server.url, attempts=3)
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "hint"), [(401, KEY_VARIABLE), (404, "model's name"), (400, "does not accept")]
)
def test_a_wrong_request_is_not_repeated(status: int, hint: str) -> None:
    with serving(lambda number, content: fails(status, "no such thing")) as server:
        with pytest.raises(ServerError, match=hint):
            ask(server.url)
        assert len(server.requests) == 1


def test_silence_ends_at_the_timeout() -> None:
    never = threading.Event()
    with serving(lambda number, content: Reply(b"{}", wait=never)) as server:
        started = time.monotonic()
        with pytest.raises(ServerError, match=r"within 0.3 s \(2 attempts\)"):
            ask(server.url, timeout=0.3, attempts=2)
        assert time.monotonic() - started < 10
        never.set()


def test_a_server_that_hangs_is_tried_twice_however_many_attempts_there_are() -> None:
    never = threading.Event()
    with serving(lambda number, content: Reply(b"{}", wait=never)) as server:
        with pytest.raises(ServerError, match=r"within 0.2 s \(2 attempts\)"):
            ask(server.url, timeout=0.2)
        assert len(server.requests) == 2
        never.set()


def test_headers_that_arrive_too_slowly_end_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The deadline ends before the timeout, so that a busy machine causes no silence."""
    monkeypatch.setattr("askew.hosted.DEADLINE", 0.05)
    started = time.monotonic()
    with (
        dripping() as url,
        pytest.raises(ServerError, match=r"did not complete its answer within 0.5 s"),
    ):
        ask(f"{url}/v1", timeout=10)
    assert time.monotonic() - started < 20


class CountedBytes(bytes):
    """Bytes that count how many bytes are copied when they are added one by one."""

    copied = 0

    def __radd__(self, other: bytes) -> CountedBytes:
        CountedBytes.copied += len(other) + len(self)
        return CountedBytes(bytes(other) + bytes(self))

    def __add__(self, other: bytes) -> CountedBytes:
        return CountedBytes.__radd__(CountedBytes(other), self)


class Chunks(httpx2.SyncByteStream):
    """The bytes of an answer, each in a chunk."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.reads = 0

    def __iter__(self) -> Iterator[bytes]:
        for byte in self._content:
            self.reads += 1
            yield CountedBytes([byte])


def test_an_answer_in_chunks_of_a_byte_is_copied_once() -> None:
    content = bytes(range(256)) * 8
    chunks = Chunks(content)
    response = httpx2.Response(200, stream=chunks)
    CountedBytes.copied = 0
    assert _bounded_content(response, time.monotonic(), 60) == content
    assert chunks.reads == len(content)
    assert CountedBytes.copied <= len(content)


def test_an_answer_in_chunks_of_a_byte_ends_at_the_deadline() -> None:
    """Each chunk arrives in time, but the answer as a whole does not."""
    chunks = Chunks(b"x" * 100)
    response = httpx2.Response(200, stream=chunks)
    with pytest.raises(PermanentFailure, match="within 10 s"):
        _bounded_content(response, time.monotonic() - 11, 10)
    assert chunks.reads == 1


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")
def test_a_certificate_that_cannot_be_verified_is_an_error_at_once(tmp_path: Path) -> None:
    options = [
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=127.0.0.1",
        "-keyout",
        "key",
        "-out",
        "cert",
    ]
    subprocess.run(
        ["openssl", "req", "-x509", *options], cwd=tmp_path, check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    connections: list[object] = []

    def refuse(listener: socket.socket) -> None:
        while True:
            try:
                connection, address = listener.accept()
            except OSError:
                return
            connections.append(address)
            try:
                context.wrap_socket(connection, server_side=True)
            except OSError:
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=refuse, args=(listener,), daemon=True).start()
        with pytest.raises(
            ServerError, match=r"certificate that cannot be verified.*SSL_CERT_FILE"
        ):
            ask(f"https://127.0.0.1:{listener.getsockname()[1]}/v1")
    assert len(connections) == 1


def test_servers_share_the_trusted_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[ssl.SSLContext] = []
    read = ssl.SSLContext.load_verify_locations

    def counted(context: ssl.SSLContext, *places: Any, **more: Any) -> None:
        reads.append(context)
        read(context, *places, **more)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", counted)
    for port in (1, 2):
        with pytest.raises(ServerError):
            ask(f"http://127.0.0.1:{port}/v1", attempts=1)
    assert len(reads) <= 1


def test_other_certificates_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    certificates = trusted_certificates()
    assert trusted_certificates() is certificates
    monkeypatch.setenv("SSL_CERT_FILE", "")
    assert trusted_certificates() is not certificates


def test_a_password_in_the_address_is_in_no_error() -> None:
    def answer(number: int, content: object) -> Reply:
        return fails(400, "who are you, canary-word?")

    with serving(answer) as server:
        address = server.url.replace("//", "//canary-name:canary-word@")
        with pytest.raises(ServerError) as caught:
            ask(address)
    assert "//***@127.0.0.1" in str(caught.value)
    with pytest.raises(UsageError) as refused:
        Server("ftp://canary-name:canary-word@host/v1")
    for error in (caught, refused):
        assert "canary" not in str(error.value)


def test_the_query_of_an_address_is_sent_with_each_request() -> None:
    paths: list[bytes] = []

    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        paths.append(connection.recv(65536).split(b" ")[1])
        connection.sendall(b"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n")
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        with pytest.raises(ServerError) as caught:
            ask(f"http://127.0.0.1:{listener.getsockname()[1]}/v1/?api-version=2024-10-21")
    assert paths == [b"/v1/chat/completions?api-version=2024-10-21"]
    assert "api-version" not in str(caught.value)


def test_a_compressed_answer_is_not_decompressed() -> None:
    bomb = gzip.compress(bytes(10**8))
    with serving(
        lambda number, content: Reply(bomb, headers={"Content-Encoding": "gzip"})
    ) as server:
        with pytest.raises(ServerError, match="compressed as gzip"):
            ask(server.url)
        assert len(server.requests) == 1


def test_an_endless_answer_is_stopped() -> None:
    endless = Reply(b" " * (LARGEST + 1))
    with (
        serving(lambda number, content: endless) as server,
        pytest.raises(ServerError, match="more than 32 MB"),
    ):
        ask(server.url)


def test_a_key_that_a_server_repeats_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "canary-key")
    with serving(lambda number, content: Reply(b"who are you, canary-key?")) as server:
        with pytest.raises(ServerError, match="not JSON") as caught:
            ask(server.url)
        assert "canary-key" not in str(caught.value)


@pytest.mark.parametrize("body", [b"<html>gateway</html>", b"", b"{", b"\xff\xfe"])
def test_an_answer_that_is_not_json_is_an_error(body: bytes) -> None:
    with (
        serving(lambda number, content: Reply(body)) as server,
        pytest.raises(ServerError, match="not JSON"),
    ):
        ask(server.url)


def test_a_server_that_is_not_running_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ServerError, match="is the server running"):
        ask(f"http://127.0.0.1:{port}/v1", attempts=2)


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with (
        serving(
            lambda number, content: Reply(b"", 307, {"Location": "http://127.0.0.1:1/v1"})
        ) as server,
        pytest.raises(ServerError, match="redirects to"),
    ):
        ask(server.url)


def test_the_key_comes_from_the_environment_and_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-secret")
    with serving(lambda number, content: fails(401, "wrong key sk-secret")) as server:
        with pytest.raises(ServerError) as caught:
            ask(server.url)
        assert server.headers[0]["authorization"] == "Bearer sk-secret"
        assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-sécret", "sk-se\ncret"])
def test_an_invalid_key_is_refused_without_being_shown(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    with pytest.raises(
        UsageError, match=f"{KEY_VARIABLE} contains characters that are not allowed"
    ) as caught:
        Server("http://localhost/v1")
    assert "cret" not in str(caught.value)


def test_openai_settings_go_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (OPENAI_KEY_VARIABLE, "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(variable, "sk-openai")
    with serving(lambda number, content: says("hello")) as server:
        ask(server.url)
        assert "sk-openai" not in str(server.headers)
        assert "authorization" not in server.headers[0]


@pytest.mark.parametrize("url", ["localhost:11434", "", "ftp://host/v1", "http://", "http://[::1"])
def test_bad_addresses_are_usage_errors(url: str) -> None:
    with pytest.raises(UsageError, match="not a server address"):
        Server(url)


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"attempts": 0}])
def test_impossible_limits_are_usage_errors(settings: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="greater than 0"):
        Server("http://localhost/v1", **settings)
