"""Reading folders that may come from another person. askew refuses links and special files.

A link could point to the user's private files, and reading a named pipe could block forever.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from askew.errors import StoreError

FOLDERS = ("pictures", "quarantine", "incoming", "completions", "iti-gen")
"""Names of the folders in a store."""

SORTED = ("pictures", "completions", "iti-gen")
"""Folders whose subfolders are named after the first characters of a hash."""

MOST_BYTES = 2**31
"""Maximum size of a file that askew reads into memory: 2 GB.

A small disk can contain a huge sparse file.
"""

FILES = ("journal.jsonl", "turns.lock", "users.lock")
DATABASES = ("index.sqlite", "vectors.sqlite")
SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")

JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""Bytes that end an SQLite rollback journal if it refers to another file.

SQLite would delete that file.
"""


def is_regular(path: Path) -> bool:
    """Check whether a path is a regular file, not a link or a special file."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def read_bytes(path: Path, follow: bool = True) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path
        The file.
    follow
        Whether to follow links. Use False to refuse links.

    Raises
    ------
    OSError
        If the file cannot be read, is a special file, or is larger than `MOST_BYTES`.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not follow:
        flags |= getattr(os, "O_NOFOLLOW", 0)
        if path.is_symlink():
            raise OSError(errno.ELOOP, "it is a link", str(path))
    file = os.open(path, flags)
    with open(file, "rb") as stream:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if status.st_size > MOST_BYTES:
            size = f"it is larger than {MOST_BYTES // 2**30} GB"
            raise OSError(errno.EFBIG, size, str(path))
        return stream.read(MOST_BYTES + 1)


def regular_files(folder: Path) -> Iterator[Path]:
    """Yield the regular files in a folder, sorted by name. Links and special files are omitted.

    If the folder does not exist or is a link, nothing is yielded.
    """
    if not os.path.islink(folder) and folder.is_dir():
        yield from (file for file in sorted(folder.iterdir()) if is_regular(file))


def check_store(folder: Path) -> None:
    """Check that no folder or file to which askew writes in a store is a link or a special file.

    Raises
    ------
    StoreError
        If a folder or file is a link or a special file, or an SQLite journal refers to another
        file.
    """
    for name in FOLDERS:
        check_folder(folder / name)
        if name in SORTED:
            check_entries(folder / name)
    databases = [f"{name}{suffix}" for name in DATABASES for suffix in SQLITE_SUFFIXES]
    for name in (*FILES, *databases):
        file = folder / name
        if os.path.lexists(file) and not is_regular(file):
            raise StoreError(_refused(file, "a file"))
    for name in DATABASES:
        rollback = folder / f"{name}-journal"
        if is_regular(rollback) and _ends_with_magic(rollback):
            raise StoreError(
                f"{rollback} refers to a file outside the store. askew never writes such a "
                f"journal. Remove it, then repair the store: askew check {folder} --rebuild"
            )


def _ends_with_magic(rollback: Path) -> bool:
    """Check whether a rollback journal refers to another file."""
    size = rollback.stat().st_size
    with rollback.open("rb") as stream:
        stream.seek(max(0, size - len(JOURNAL_MAGIC)))
        return stream.read() == JOURNAL_MAGIC


def check_entries(folder: Path) -> None:
    """Check that a folder contains no links.

    Raises
    ------
    StoreError
        If an entry is a link.
    """
    with suppress(OSError), os.scandir(folder) as folders:
        for entry in folders:
            if entry.is_symlink():
                raise StoreError(_refused(Path(entry.path), "a folder"))


def check_folder(folder: Path) -> None:
    """Check that a folder of a store is not a link.

    Raises
    ------
    StoreError
        If the folder is a link.
    """
    if os.path.islink(folder):
        raise StoreError(_refused(folder, "a folder"))


def _refused(path: Path, kind: str) -> str:
    return (
        f"{path} must be {kind}, not a link or a special file, because askew changes no files "
        "outside a store. Put the content there, or choose another --store"
    )
