"""Progress is shown if someone can read it, and dropped otherwise."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from askew.run.progress import Terminal, choose, stage


def full() -> TextIO:
    """Return a full disk."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    return open("/dev/full", "w", encoding="utf-8")


def closed() -> TextIO:
    """Return a closed file."""
    stream = io.StringIO()
    stream.close()
    return stream


def unread() -> TextIO:
    """Return a pipe whose reader has closed."""
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


def hung_up() -> TextIO:
    """Return a terminal that was closed."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    stream = os.fdopen(theirs, "w")
    assert stream.isatty()
    os.close(ours)
    return _Terminal(stream)


class _Terminal(io.TextIOWrapper):
    """A closed terminal that still reports that it is a terminal, as it did when the run began."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream.detach())

    def isatty(self) -> bool:
        return True


@pytest.fixture(params=[full, closed, unread, hung_up])
def lost(request: pytest.FixtureRequest) -> Iterator[TextIO]:
    stream: TextIO = request.param()
    yield stream
    try:
        stream.close()
    except OSError:
        stream.close()


def test_a_stage_continues_if_its_progress_cannot_be_written(lost: TextIO) -> None:
    with stage(choose(lost), "pictures", "studio", 0, 2) as current:
        current.advance(1)
        current.advance(1)
    assert current.done == 2


def test_a_search_continues_if_its_progress_cannot_be_written(lost: TextIO) -> None:
    with stage(choose(lost), "prompts", "studio", 0, 2) as current:
        current.note = "best 0.5 a nurse"
        current.advance(1)
        current.advance(1)
    assert current.done == 2


def test_a_terminal_shows_the_best_prompt_without_reading_markup() -> None:
    stream = io.StringIO()
    with stage(Terminal(stream), "prompts", "studio", 0, 2) as current:
        current.note = "mining, iteration 1/1; best 0.5 [red]a nurse[/nothing]"
        current.advance(2)
    shown = stream.getvalue()
    assert "Searching prompts: studio" in shown
    assert "best 0.5 [red]a nurse[/nothing]" in shown


def test_without_standard_error_no_progress_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with stage(choose(), "pictures", "studio", 0, 1) as current:
        current.advance(1)


def test_a_file_gets_a_line_per_event() -> None:
    stream = io.StringIO()
    with stage(choose(stream), "pictures", "studio", 0, 2) as current:
        current.advance(2)
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(event["kind"], event["done"]) for event in events] == [
        ("started", 0),
        ("batch", 2),
        ("finished", 2),
    ]
