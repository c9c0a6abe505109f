"""Locks of a store.

All commands that write to the store share a lock, but cleanup commands need an exclusive lock.
"""

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
"""Fields of a lock record on Linux (kind, origin, first byte, number of bytes, process id)."""

PAUSE = 0.05
"""Seconds between two attempts."""


def opened(path: Path) -> int:
    """Open or create a lock file, and return its descriptor. A link is not followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags, 0o666)


def holder(file: int, place: int) -> int | None:
    """Return the id of the process that has locked a byte of a file; None if unknown.

    Parameters
    ----------
    file
        File descriptor of the open file.
    place
        Position of the byte.
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
    """Return the ids of all other processes that have locked a file.

    The ids come from the system's list of locks. Opening and closing the file instead would release
    SQLite's locks on the file. On systems other than Linux, the result is empty.

    Parameters
    ----------
    path
        The file.
    only_exclusive
        If True, ignore locks that several processes can share.
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
    """Return the end of a sentence that states what to do about a process that blocks this command.

    Parameters
    ----------
    process
        Id of the process.
    effect
        End of the sentence, such as "repeat this command".
    """
    if is_stopped(process):
        return (
            f", but is stopped. Continue it with `kill -CONT {process}`, or end it with "
            f"`kill -KILL {process}`, and {effect}"
        )
    return f". If it hangs, end it with `kill {process}`, and {effect}"


def is_stopped(process: int) -> bool:
    """Check whether a process has been stopped by a signal, for example by Ctrl-Z."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[:1] in (["T"], ["t"])


@dataclass(slots=True)
class SharedFile:
    """An open lock file, shared by all `PartLocks` objects in this process that use the file.

    Attributes
    ----------
    number
        File descriptor of the open file.
    users
        Number of `PartLocks` objects that use the file.
    taken
        Positions of the bytes on which this process holds locks.
    """

    number: int
    users: int = 0
    taken: set[int] = field(default_factory=set)

    def holder(self, place: int) -> int | None:
        """Return the id of the process that has locked a byte; None if unknown."""
        return os.getpid() if place in self.taken else holder(self.number, place)


_SHARED: dict[tuple[int, int] | None, SharedFile] = {}
"""Lock files that are open in this process, keyed by device number and inode number."""

_GUARD = threading.Lock()


class PartLocks:
    """Locks for pieces of work on a store.

    To claim a piece of work, a process locks a byte of the lock file. These locks belong to the
    process. The operating system releases all of a process's locks on a file when the process
    closes any descriptor of the file. The operating system also grants a process the same lock
    twice. All `PartLocks` objects in a process therefore share one open file and one list of locked
    bytes.

    Parameters
    ----------
    path
        The lock file.

    Raises
    ------
    OSError
        If the lock file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._own = set[int]()
        with _GUARD:
            self._file = _SHARED.get(_identity(path)) or _shared(opened(path))
            self._file.users += 1

    def take(self, place: int) -> bool:
        """Try to lock a byte. Return False if another object or process has locked the byte."""
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
        """Return the id of the process that has locked a byte; None if unknown."""
        return self._file.holder(place)

    def close(self) -> None:
        """Release the locks that this object holds.

        The last object that uses the lock file closes the file.
        """
        with _GUARD:
            for place in [*self._own]:
                self._release(place)
            self._file.users -= 1
            if not self._file.users:
                os.close(self._file.number)
                for key in [key for key, file in _SHARED.items() if file is self._file]:
                    del _SHARED[key]


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device number and inode number of a file; None if the file does not exist."""
    try:
        state = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return state.st_dev, state.st_ino


def _shared(number: int) -> SharedFile:
    """Register an open lock file so that all `PartLocks` objects for the same file share it."""
    state = os.fstat(number)
    return _SHARED.setdefault((state.st_dev, state.st_ino), SharedFile(number))


def _lock(number: int, place: int) -> bool:
    """Try to lock a byte of an open file. Return False if another process has locked the byte."""
    if not fcntl:
        return True
    try:
        fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)
    return True


def holder_in(path: Path, place: int) -> int | None:
    """Return the id of the process that has locked a byte of a lock file; None if unknown.

    The file need not exist and is not changed. If this process already has the file open, its own
    locks stay in place.

    Parameters
    ----------
    path
        The lock file.
    place
        Position of the byte.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with _GUARD:
        shared = _SHARED.get(_identity(path))
        if shared is not None:
            return shared.holder(place)
        try:
            number = os.open(path, flags)
        except OSError:
            return None
        try:
            return holder(number, place)
        finally:
            os.close(number)


class StoreLock:
    """Lock on a store. The operating system releases the lock when the process ends.

    On a system without file locks, askew does not coordinate processes.

    Parameters
    ----------
    folder
        The store, which must exist.
    exclusive
        If True, keep all other processes from writing to the store.
    timeout
        Maximum time in seconds to wait for another process to release its lock.

    Raises
    ------
    StoreError
        If another process is using the store.
    OSError
        If the lock file cannot be written.
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
        """Try to take the lock. Return False if another process holds an incompatible lock."""
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
            f"another askew command{by_process} is using the store {folder}. Wait until it ends, "
            "or stop it, then repeat this command"
        )
    return (
        f"askew store gc, runs rm or check --rebuild{by_process} is using the store {folder}. "
        "Wait until that command ends, then repeat this command"
    )
