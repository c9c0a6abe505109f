"""A server that speaks OpenAI's interface, and what goes wrong with one; real requests on loopback."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from askew.endpoint import KEY_VARIABLE, OPENAI_KEY_VARIABLE, Endpoint
from askew.errors import ServerError, UsageError
from local_llm import Reply, fails, says, serving


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(OPENAI_KEY_VARIABLE, raising=False)


def test_too_many_requests_waits_as_long_as_the_server_asks() -> None:
    with serving(lambda number, content: fails(429, Retry_After="0.4") if number < 2 else says("hello")) as server:
        started = time.monotonic()
        answer = Endpoint(server.url).post("chat/completions", {"a": 1})
        assert answer["choices"][0]["message"]["content"] == "hello"
        assert len(server.requests) == 3
        assert time.monotonic() - started >= 0.8


def test_a_date_in_the_past_is_no_wait() -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    with serving(lambda number, content: fails(503, Retry_After=past) if number < 1 else says("hello")) as server:
        assert Endpoint(server.url).post("x", {})
        assert len(server.requests) == 2


def test_a_wait_of_hours_is_an_error_at_once() -> None:
    with serving(lambda number, content: fails(429, "quota used up", Retry_After="7200")) as server:
        with pytest.raises(ServerError, match="429: quota used up") as caught:
            Endpoint(server.url).post("x", {})
        assert caught.value.status == 429
        assert len(server.requests) == 1


def test_a_server_that_stays_broken_is_given_up() -> None:
    with serving(lambda number, content: fails(500, "out of order", Retry_After="0")) as server:
        with pytest.raises(ServerError, match=r"500: out of order.*tried 3 times"):
            Endpoint(server.url, attempts=3).post("x", {})
        assert len(server.requests) == 3


@pytest.mark.parametrize(("status", "hint"), [(401, KEY_VARIABLE), (404, "model's name"), (400, "does not take")])
def test_a_wrong_request_is_not_repeated(status: int, hint: str) -> None:
    with serving(lambda number, content: fails(status, "no such thing")) as server:
        with pytest.raises(ServerError, match=hint):
            Endpoint(server.url).post("x", {})
        assert len(server.requests) == 1


def test_silence_ends_at_the_timeout() -> None:
    never = threading.Event()
    with serving(lambda number, content: Reply(b"{}", wait=never)) as server:
        started = time.monotonic()
        with pytest.raises(ServerError, match=r"within 0.3 s \(2 tries\)"):
            Endpoint(server.url, timeout=0.3, attempts=2).post("x", {})
        assert time.monotonic() - started < 10
        never.set()


def test_an_answer_in_drops_ends_at_the_timeout() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not stop.wait(0.05):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        with pytest.raises(ServerError, match=r"did not answer within 0\.5 s"):
            Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", timeout=0.5, attempts=1).post("x", {})
    finally:
        stop.set()
        thread.join(5)
        listener.close()


@pytest.mark.parametrize("body", [b"<html>gateway</html>", b"", b"{", b"\xff\xfe"])
def test_what_is_not_json_is_an_error(body: bytes) -> None:
    with serving(lambda number, content: Reply(body)) as server, pytest.raises(ServerError, match="not JSON"):
        Endpoint(server.url).post("x", {})


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ServerError, match="is the server running"):
        Endpoint(f"http://127.0.0.1:{port}/v1", attempts=2).post("x", {})


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with (
        serving(lambda number, content: Reply(b"", 307, {"Location": "http://127.0.0.1:1/v1"})) as server,
        pytest.raises(ServerError, match="redirects to"),
    ):
        Endpoint(server.url).post("x", {})


def test_the_key_comes_from_the_environment_and_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-secret")
    with serving(lambda number, content: fails(401, "wrong key sk-secret")) as server:
        with pytest.raises(ServerError) as caught:
            Endpoint(server.url).post("x", {})
        assert server.headers[0]["authorization"] == "Bearer sk-secret"
        assert "sk-secret" not in str(caught.value)


def test_the_key_for_openai_goes_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPENAI_KEY_VARIABLE, "sk-openai")
    with serving(lambda number, content: says("hello")) as server:
        Endpoint(server.url).post("x", {})
        assert "authorization" not in server.headers[0]


def test_only_so_many_requests_at_a_time() -> None:
    under_way, most, lock = 0, 0, threading.Lock()

    def answer(number: int, content: object) -> Reply:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.05)
        with lock:
            under_way -= 1
        return says("hello")

    with serving(answer) as server, ThreadPoolExecutor(8) as pool:
        endpoint = Endpoint(server.url, concurrency=2)
        assert len(list(pool.map(lambda k: endpoint.post("x", {"k": k}), range(10)))) == 10
    assert most == 2


@pytest.mark.parametrize("url", ["localhost:11434", "", "ftp://host/v1", "http://", "http://[::1"])
def test_bad_addresses_are_usage_errors(url: str) -> None:
    with pytest.raises(UsageError, match="no address of a server"):
        Endpoint(url)


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"concurrency": 0}, {"attempts": 0}])
def test_impossible_limits_are_usage_errors(settings: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="greater than 0"):
        Endpoint("http://localhost/v1", **settings)
