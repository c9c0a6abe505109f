"""Lock of a store: commands that write share it, and housekeeping takes it exclusively."""

import errno
import os
import struct
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
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


def holders(path: Path, *, only_exclusive: bool = True) -> list[int]:
    """Return the numbers of the other processes that lock a file.

    They are read from the list of the system, because opening and closing the file would release
    the locks that SQLite holds on it. The list is empty on systems other than Linux.

    Parameters
    ----------
    path
        The file.
    only_exclusive
        Leave out locks that several processes can share.
    """
    kinds = ("WRITE",) if only_exclusive else ("WRITE", "READ")
    try:
        status = path.stat()
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return []
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    processes = set()
    for line in lines:
        fields = line.split()
        if len(fields) == 8 and fields[3] in kinds and fields[5] == device:
            processes.add(int(fields[4]))
    return sorted(processes - {os.getpid()})


def remedy(process: int, effect: str) -> str:
    """Return what a person can do about a process that blocks others, as the end of a sentence.

    Parameters
    ----------
    process
        Number of the process.
    effect
        Consequence of the remedy.
    """
    if is_stopped(process):
        return (
            f", but is stopped. Continue it with `kill -CONT {process}`, or end it with "
            f"`kill -KILL {process}`, and {effect}"
        )
    return f". If it hangs, end it with `kill {process}`, and {effect}"


def is_stopped(process: int) -> bool:
    """Check whether a process is stopped by a signal, such as that of Ctrl-Z."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[:1] in (["T"], ["t"])


@dataclass(slots=True)
class SharedFile:
    """A file of locks that all users of this process share.

    Attributes
    ----------
    number
        Number of the open file.
    users
        Number of users.
    taken
        Bytes that this process has locked.
    """

    number: int
    users: int = 0
    taken: set[int] = field(default_factory=set)


_SHARED: dict[tuple[int, int] | None, SharedFile] = {}
"""Open files of locks by device and inode."""

_GUARD = threading.Lock()


class PartLocks:
    """Locks of parts of the work on a store: single bytes of one file.

    The system keeps such locks by process: it releases all of them when the process closes any
    descriptor of the file, and gives a process the same lock twice. All users of a process thus
    share one open file and the list of its locks.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    OSError
        If the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._own = set[int]()
        with _GUARD:
            self._file = _SHARED.get(_identity(path)) or _shared(opened(path))
            self._file.users += 1

    def take(self, place: int) -> bool:
        """Lock a byte, and return whether no other user of this or another process has it."""
        with _GUARD:
            if place in self._file.taken:
                return False
            if not _lock(self._file.number, place):
                return False
            self._file.taken.add(place)
            self._own.add(place)
            return True

    def release(self, place: int) -> None:
        """Release a byte that this object has locked."""
        with _GUARD:
            self._release(place)

    def _release(self, place: int) -> None:
        self._own.discard(place)
        self._file.taken.discard(place)
        if fcntl:
            with suppress(OSError):
                fcntl.lockf(self._file.number, fcntl.LOCK_UN, 1, place)

    def holder(self, place: int) -> int | None:
        """Return the number of the process that locks a byte; None if it is unknown."""
        if place in self._file.taken:
            return os.getpid()
        return holder(self._file.number, place)

    def close(self) -> None:
        """Release the locks of this object; the last user of the file closes it."""
        with _GUARD:
            for place in [*self._own]:
                self._release(place)
            self._file.users -= 1
            if not self._file.users:
                os.close(self._file.number)
                for key in [key for key, file in _SHARED.items() if file is self._file]:
                    del _SHARED[key]


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None if it does not exist."""
    try:
        state = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return state.st_dev, state.st_ino


def _shared(number: int) -> SharedFile:
    """Return an open file as the file that all users of this process share."""
    state = os.fstat(number)
    return _SHARED.setdefault((state.st_dev, state.st_ino), SharedFile(number))


def _lock(number: int, place: int) -> bool:
    """Lock one byte of an open file, and return False if another process has it."""
    if not fcntl:
        return True
    try:
        fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)
    return True


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
    processes = holders(folder / FILE, only_exclusive=not exclusive)
    by_process = f" (process {', '.join(map(str, processes))})" if processes else ""
    if exclusive:
        return (
            f"another askew command{by_process} uses the store {folder}. Wait until it ends, or "
            "stop it, then repeat this command"
        )
    return (
        f"askew store gc, runs rm or check --rebuild{by_process} works on the store {folder}. Try "
        "again when it has ended"
    )
