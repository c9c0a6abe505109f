"""Files are complete or absent, even if writing is interrupted."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from askew.store import files
from askew.store.files import write_whole


def test_files_are_written_completely_and_replaced(tmp_path: Path) -> None:
    (tmp_path / "incoming").mkdir()
    contents = {tmp_path / "folder" / f"{i}": bytes([i]) * 1000 for i in range(20)}
    for data in (contents, dict.fromkeys(contents, b"new")):
        write_whole(data, tmp_path / "incoming")
        assert {path: path.read_bytes() for path in contents} == data
    assert not list((tmp_path / "incoming").iterdir())


def test_an_interrupt_while_writers_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[threading.Thread] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            started.append(self)
            raise KeyboardInterrupt

    def slowly(path: Path, data: bytes) -> None:
        time.sleep(0.2)
        path.write_bytes(data)

    monkeypatch.setattr(files, "_write", slowly)
    monkeypatch.setattr(threading, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole({tmp_path / "a": b"a", tmp_path / "b": b"b"})
    for thread in started:
        thread.join(10)
    assert started
    assert not list(tmp_path.iterdir())
