"""Digests of image files that a store remembers, and collections that a command has opened.

Reading 100,000 files takes much longer than asking for their state. If size, times and inode of a
file are unchanged, askew uses the remembered digest. askew does not remember the digest of a file
that was changed in the seconds before it was read, because a second change could leave its state
unchanged. Git uses the same rule.
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
"""Nanoseconds after a change during which a file's state is not trusted. FAT counts in 2 s."""

MOST_INODE = 2**63 - 1


class FileDigest(NamedTuple):
    """SHA-256 of a file, and the state of the file in which it was computed.

    Attributes
    ----------
    size
        Number of bytes.
    modified
        Time of the last change of the content, in nanoseconds.
    changed
        Time of the last change of content or metadata, in nanoseconds.
    inode
        Number of the file in its file system.
    digest
        SHA-256 as 64 hexadecimal digits.
    """

    size: int
    modified: int
    changed: int
    inode: int
    digest: str

    def is_of(self, status: os.stat_result) -> bool:
        """Check whether a file is in this state."""
        return self[:4] == _state(status)


Lookup = Callable[[Sequence[str]], Mapping[str, FileDigest]]
"""Function that takes paths of files and returns the remembered digests, by path."""


class FileMemory:
    """Digests of the files that a command reads, and collections that it has opened.

    Parameters
    ----------
    lookup
        Function that returns digests that earlier commands have computed.

    Attributes
    ----------
    new
        Digests that this command has computed and that may be remembered, by path.
    collections
        Collections that this command has opened, by their options.
    """

    def __init__(self, lookup: Lookup = lambda paths: {}) -> None:
        self._lookup = lookup
        self.new: dict[str, FileDigest] = {}
        self.collections: dict[object, Any] = {}

    def digests(self, paths: Iterable[Path]) -> dict[Path, str]:
        """Return the SHA-256 of every regular file that can be read, by path."""
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
        """Return the SHA-256 of a file; add it to `new` unless the file has changed recently."""
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
    """Return size, times and inode of a file.

    On some systems, inode numbers are too large for SQLite.
    """
    inode = status.st_ino & MOST_INODE
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode


@contextmanager
def without_cycle_search() -> Iterator[None]:
    """Pause Python's cyclic garbage collector, which 100,000 new records start again and again.

    The records of a folder contain no cycles. The collector takes a seventh of the time that it
    takes to open a folder.
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
    """Return the memory of the current context; an empty memory outside such a context."""
    return _MEMORY.get(None) or FileMemory()
