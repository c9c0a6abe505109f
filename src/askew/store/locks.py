"""Lock of a store: commands that write share it, and housekeeping takes it exclusively."""

import errno
import os
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from askew.errors import StoreError

try:
    import fcntl
except ModuleNotFoundError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

FILE = "users.lock"
FLOCK = "hhqqi4x"
"""Fields of a lock in Linux: kind, origin, first byte, number of bytes, process."""

PAUSE = 0.05
"""Seconds between two attempts."""


def opened(path: Path) -> int:
    """Open or create a file of locks, and return its number. A link is not followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags, 0o666)


def holder(file: int, place: int) -> int | None:
    """Return the number of the process that locks one byte of a file; None if it is unknown.

    Parameters
    ----------
    file
        Number of the open file.
    place
        The byte.
    """
    if not fcntl or sys.platform != "linux":  # other systems order these fields differently
        return None
    wanted = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    try:
        answer = fcntl.fcntl(file, fcntl.F_GETLK, wanted)
    except OSError:
        return None
    kind, _, _, _, process = struct.unpack(FLOCK, answer)
    return process if kind != fcntl.F_UNLCK and process > 0 else None


def is_stopped(process: int) -> bool:
    """Check whether a process is stopped by a signal, such as that of Ctrl-Z."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[:1] in (["T"], ["t"])


class StoreLock:
    """A lock of a store, which the system releases when the process ends.

    On a system without locks, processes do not coordinate.

    Parameters
    ----------
    folder
        The store, which must exist.
    exclusive
        Exclude all processes that write.
    timeout
        Seconds to wait for an exclusive lock to end.

    Raises
    ------
    StoreError
        If another process uses the store.
    OSError
        If the file cannot be written.
    """

    def __init__(self, folder: Path, exclusive: bool = False, timeout: float = 0.0) -> None:
        self._file = opened(folder / FILE)
        deadline = time.monotonic() + timeout
        try:
            while not self._try(exclusive):
                if time.monotonic() > deadline:
                    raise StoreError(_in_use(folder, exclusive))
                time.sleep(PAUSE)
        except BaseException:
            os.close(self._file)
            raise

    def close(self) -> None:
        """Release the lock."""
        with suppress(OSError):
            os.close(self._file)
        self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _try(self, exclusive: bool) -> bool:
        """Take the lock, and return False if another process has it."""
        if not fcntl:
            return True
        kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        try:
            fcntl.flock(self._file, kind | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)
        return True


def _in_use(folder: Path, exclusive: bool) -> str:
    if exclusive:
        return (
            f"another askew command uses the store {folder}. Wait until it ends, or stop it, then "
            "repeat this command"
        )
    return (
        f"askew store gc, runs rm or check --rebuild works on the store {folder}. Try again when it "
        "has ended"
    )
