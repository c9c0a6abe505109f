"""Files are complete or absent, even if writing is interrupted."""

from __future__ import annotations

import os
import resource
import signal
import threading
from pathlib import Path

import pytest

from askew.store import files
from askew.store.files import FLUSHERS, MOST_OPEN, write_whole


def test_files_are_written_completely_and_replaced(tmp_path: Path) -> None:
    (tmp_path / "incoming").mkdir()
    contents = {tmp_path / "folder" / f"{i}": bytes([i]) * 1000 for i in range(20)}
    for data in (contents, dict.fromkeys(contents, b"new")):
        write_whole(data, tmp_path / "incoming")
        assert {path: path.read_bytes() for path in contents} == data
    assert not list((tmp_path / "incoming").iterdir())


def test_an_interrupt_while_threads_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[threading.Thread] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            started.append(self)
            raise KeyboardInterrupt

    files._flushers.cache_clear()  # threads of earlier calls would flush the files
    with monkeypatch.context() as patch:
        patch.setattr(threading, "Thread", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_whole({tmp_path / "a": b"a", tmp_path / "b": b"b"})
    for thread in started:
        thread.join(10)
        assert not thread.is_alive()
    assert started
    assert not list(tmp_path.iterdir())
    write_whole({tmp_path / "a": b"a", tmp_path / "b": b"b"})
    assert len(list(tmp_path.iterdir())) == 2


def test_more_files_than_may_be_open_are_written(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    contents = {tmp_path / f"{number}": b"x" for number in range(3 * MOST_OPEN)}
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 70, limits[1]))
    try:
        write_whole(contents)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(list(tmp_path.iterdir())) == len(contents)


def test_calls_share_the_threads_that_flush_files(tmp_path: Path) -> None:
    seen = set[threading.Thread]()
    for call in range(3):
        write_whole({tmp_path / f"{call}-{k}": b"x" for k in range(FLUSHERS)})
        seen |= {t for t in threading.enumerate() if t.name.startswith("askew-files")}
    assert 0 < len(seen) <= FLUSHERS
    assert len(list(tmp_path.iterdir())) == 3 * FLUSHERS


def test_a_forked_process_can_write_files(tmp_path: Path) -> None:
    write_whole({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a process that waits for threads of its parent would never end
        write_whole({tmp_path / "c": b"3", tmp_path / "d": b"4"})
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c", "d"]


def test_a_file_that_cannot_be_written_leaves_no_other(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_whole({tmp_path / "sub" / "a": b"1", tmp_path / "b": b"2"}, tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []
