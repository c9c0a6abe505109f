"""Files that are either whole on disk or not there at all."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

WRITERS = 8
"""Files flushed at once: a file system then shares the cost, two to four times less than one after another."""


def sha256(data: bytes) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def shown(path: Path) -> str:
    """A path as text that can be printed and stored, also where its name is not valid UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def write_whole(files: Mapping[Path, bytes], incoming: Path | None = None) -> None:
    """Write files so that each name holds its whole content or what was there before, also after a power cut.

    All are written under temporary names (in `incoming`, or beside the first), flushed to disk, then renamed.
    Raises OSError; no temporary file is left behind then.
    """
    if not files:
        return
    folder = incoming or next(iter(files)).parent
    parts = [folder / f".{secrets.token_hex(8)}.part" for _ in files]
    given_up = Event()  # an interrupt while the pool starts a thread leaves one that the pool does not wait for

    def write(part: Path, data: bytes) -> None:
        _write(part, data)
        if given_up.is_set():
            part.unlink(missing_ok=True)

    try:
        with ThreadPoolExecutor(min(WRITERS, len(files))) as pool:
            list(pool.map(write, parts, files.values()))
        for path, part in zip(files, parts, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(part, path)
    except BaseException:
        given_up.set()
        for part in parts:
            part.unlink(missing_ok=True)
        raise


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
