"""Remember digests of image files across commands, and opened collections within a command.

Reading 100,000 files takes much longer than querying their size, times and inode numbers. If these
values are unchanged for a file, askew uses the file's remembered digest. askew does not remember
the digest of a file that was modified only seconds before askew read it, because another
modification could leave these values unchanged. Git uses the same rule.
"""

import gc
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

FRESH = 3 * 10**9
"""Time in nanoseconds after a file changes during which askew does not trust the file's times.

The FAT file system records times in steps of 2 s.
"""

MOST_INODE = 2**63 - 1


class FileDigest(NamedTuple):
    """SHA-256 of a file, and the file's size, times and inode number when the file was read.

    Attributes
    ----------
    size
        Number of bytes.
    modified
        Time of the last change to the file's content, in nanoseconds.
    changed
        Time of the last change to the file's content or metadata, in nanoseconds.
    inode
        Inode number of the file.
    digest
        SHA-256 as 64 hexadecimal digits.
    """

    size: int
    modified: int
    changed: int
    inode: int
    digest: str

    def is_of(self, status: os.stat_result) -> bool:
        """Check whether a file's size, times and inode number are unchanged since it was read."""
        return self[:4] == _state(status)


Lookup = Callable[[Sequence[str]], Mapping[str, FileDigest]]
"""Function that takes file paths and returns remembered digests, keyed by path."""


class FileMemory:
    """Digests of the files that a command reads, and collections that the command has opened.

    Parameters
    ----------
    lookup
        Function that looks up digests computed by earlier commands.

    Attributes
    ----------
    new
        Digests computed by this command that are safe to remember, keyed by path.
    collections
        Collections that this command has opened, keyed by the options with which it opened them.
    """

    def __init__(self, lookup: Lookup = lambda paths: {}) -> None:
        self._lookup = lookup
        self.new: dict[str, FileDigest] = {}
        self.collections: dict[object, Any] = {}

    def digests(self, paths: Iterable[Path]) -> dict[Path, str]:
        """Return the SHA-256 of each readable regular file, keyed by path."""
        by_name = {str(path): path for path in paths}
        known = self._lookup(list(by_name))
        digests = {}
        for name, path in by_name.items():
            remembered = known.get(name)
            try:
                status = os.stat(name)
                if remembered is not None and remembered.is_of(status):
                    digests[path] = remembered.digest
                elif stat.S_ISREG(status.st_mode):
                    digests[path] = self._read(path)
            except OSError:
                continue
        return digests

    def _read(self, path: Path) -> str:
        """Return a file's SHA-256, and add it to `new` unless the file has changed recently."""
        start = time.time_ns()
        with path.open("rb") as stream:
            before = os.fstat(stream.fileno())
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            after = os.fstat(stream.fileno())
        latest = max(before.st_mtime_ns, before.st_ctime_ns)
        if _state(before) == _state(after) and start - latest > FRESH:
            size, modified, changed, inode = _state(before)
            self.new[str(path)] = FileDigest(
                size=size, modified=modified, changed=changed, inode=inode, digest=digest
            )
        return digest


def _state(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return the size, times and inode number of a file.

    Inode numbers that are too large for SQLite's integers are truncated to 63 bits.
    """
    inode = status.st_ino & MOST_INODE
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode


@contextmanager
def without_cycle_search() -> Iterator[None]:
    """Pause Python's cyclic garbage collector within this context.

    Creating 100,000 records would trigger the collector repeatedly.

    The records of a folder contain no reference cycles. Without this pause, the collector would
    account for a seventh of the time that opening a folder takes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_MEMORY: ContextVar[FileMemory] = ContextVar("file_memory")


@contextmanager
def remember_files(lookup: Lookup) -> Iterator[FileMemory]:
    """Use remembered digests within this context. A nested context has no effect."""
    if _MEMORY.get(None) is not None:
        yield _MEMORY.get()
        return
    token = _MEMORY.set(FileMemory(lookup))
    try:
        yield _MEMORY.get()
    finally:
        _MEMORY.reset(token)


def file_memory() -> FileMemory:
    """Return the file memory of the current context, or an empty memory outside such a context."""
    return _MEMORY.get(None) or FileMemory()
