"""Ports that cannot be used are errors of one sentence, for every command that serves."""

from __future__ import annotations

import socket

import pytest

from askew.cli import run
from askew.errors import UsageError
from askew.listening import HOST, listen


@pytest.mark.parametrize("port", [70_000, -1])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(UsageError, match=f"the port {port} of 127.0.0.1 cannot be used.*--port 0"):
        listen(HOST, port)


def test_a_port_that_is_taken_is_refused() -> None:
    with listen(HOST, 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(UsageError, match=f"the port {port} of 127.0.0.1 cannot be used"):
            listen(HOST, port)


def test_serve_model_refuses_a_number_that_is_no_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve-model", "studio/planted", "--port", "70000"]) == 2
    assert "the port 70000 of 127.0.0.1 cannot be used" in capsys.readouterr().err


def test_a_free_port_listens() -> None:
    with listen(HOST, 0) as listening, socket.create_connection(listening.getsockname()[:2]):
        pass


@pytest.mark.parametrize("command", [["serve"], ["study", "serve", "study"]])
def test_a_missing_extra_is_a_sentence_with_the_command_to_install(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("askew.errors.find_spec", lambda name: None)
    assert run(command) == 2
    error = capsys.readouterr().err
    assert f"`askew {' '.join(command[:2])}` needs the package" in error
    assert "[web]'" in error.rpartition("pip install")[2]
    assert "Traceback" not in error
