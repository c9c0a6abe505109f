"""Copying a store into a folder that may already contain another store."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from askew.errors import UsageError
from askew.store import entries, locks
from askew.store.blobs import is_intact
from askew.store.index import faults
from askew.store.rows import JOURNALED, REMOVED, IndexRow, checksum
from askew.store.store import RETRIED, Store, is_store

FILES_OF_MODELS = ("completions", "iti-gen")
"""Folders that contain files other than images; the index does not list these files."""

KEYS = {
    "pictures": ("key", 1),
    "planned": ("run", 2),
    "answers": ("picture", 3),
    "reports": ("key", 1),
    "vectors": ("picture", 2),
    "files": ("path", 1),
}
"""For each table, the column used to look up rows, and the number of columns in the primary key."""

COLUMN_NUMBERS = {"picture": 1}
"""Positions of lookup columns within their tables; columns that are not listed come first."""

ROWS_AT_ONCE = 1000


@dataclass(slots=True)
class CopyReport:
    """Counts of copied files and rows.

    Attributes
    ----------
    files, existing
        Number of copied files, and number of files that the target already had.
    size
        Total size of the copied files, in bytes.
    rows
        Number of index rows that were copied.
    damaged
        Image files that were not copied because their SHA-256 differs from their name.
    """

    files: int = 0
    existing: int = 0
    size: int = 0
    rows: int = 0
    damaged: list[Path] = field(default_factory=list)


def copy_store(source: Path, target: Path) -> CopyReport:
    """Copy the parts of a store that are missing from the target; keep modification times.

    Images are copied before the index rows that describe them. A partial copy is therefore a valid
    store, and repeating the call completes the copy.

    Parameters
    ----------
    source
        The store to copy. No other process may write to this store during the copy.
    target
        Folder to copy into. Existing content of the folder is not changed.

    Raises
    ------
    UsageError
        If the source is not a store, or is the same folder as the target.
    StoreError
        If the source cannot be read, or the target cannot be written.
    """
    if not is_store(source):
        raise UsageError(f"{source} is not a store")
    if source.resolve() == target.resolve():
        raise UsageError(f"{source} and {target} are the same store. Name another folder")
    report = CopyReport()
    with ExitStack() as stack:
        if os.access(source, os.W_OK):
            with faults(f"the store {source}"):
                stack.enter_context(locks.StoreLock(source, exclusive=True))
        old = stack.enter_context(Store(source, create=False))
        new = stack.enter_context(Store(target))
        with faults(f"the store {target}"):
            _copy_files(source / "pictures", target / "pictures", report, is_intact)
            for name in FILES_OF_MODELS:
                _copy_files(source / name, target / name, report)
        _copy_rows(old, new, report)
    return report


def _copy_files(
    source: Path,
    target: Path,
    report: CopyReport,
    is_valid: Callable[[Path], bool] = lambda path: True,
) -> None:
    """Copy the files in all subfolders.

    A file is skipped if its copy has the same size and modification time.
    """
    for folder in sorted(source.iterdir()) if source.is_dir() else ():
        for file in entries.regular_files(folder):
            copied = target / folder.name / file.name
            if _is_same(file, copied):
                report.existing += 1
            elif is_valid(file):
                _copy_file(file, copied)
                report.files += 1
                report.size += file.stat().st_size
            else:
                report.damaged.append(file)


def _is_same(file: Path, copied: Path) -> bool:
    """Check whether a copy exists and has the original file's size and modification time."""
    try:
        old = file.stat()
        new = os.lstat(copied)
    except OSError:
        return False
    return (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns)


def _copy_file(file: Path, copied: Path) -> None:
    """Copy a file and its access and modification times.

    If copying fails, the incomplete copy is deleted.
    """
    copied.parent.mkdir(parents=True, exist_ok=True)
    part = copied.parent / f".{file.name}.part"
    try:
        shutil.copyfile(file, part, follow_symlinks=False)
        status = file.stat()
        os.utime(part, ns=(status.st_atime_ns, status.st_mtime_ns))
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(part, copied)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _copy_rows(old: Store, new: Store, report: CopyReport) -> None:
    """Copy index rows that are missing from the target, and the journal's metadata for them."""
    damaged = {path.stem for path in report.damaged}
    left = set[int]()
    for table in JOURNALED:
        for row in old.index.intact_rows(table):
            if table != "pictures" or row[1] not in damaged:
                left.add(checksum(table, row))
    for line in old.journal.lines():
        if line.is_intact and line.table != REMOVED:
            rows = [row for row in line.rows if checksum(line.table, row) in left]
            left.difference_update(checksum(line.table, row) for row in rows)
            report.rows += _add_rows(new, line.table, rows, dict(line.about or {}))
    for table in KEYS:
        for rows in _batches(old.index_of(table).intact_rows(table)):
            if table in JOURNALED:
                rows = [row for row in rows if checksum(table, row) in left]
            report.rows += _add_rows(new, table, rows, {})


def _batches(rows: Iterator[IndexRow]) -> Iterator[list[IndexRow]]:
    batch: list[IndexRow] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_AT_ONCE:
            yield batch
            batch = []
    yield batch


def _add_rows(store: Store, table: str, rows: Sequence[IndexRow], about: dict[str, object]) -> int:
    """Add the rows whose primary keys are missing from a store, and return how many were added."""
    if not rows:
        return 0
    column, width = KEYS[table]
    place = COLUMN_NUMBERS.get(column, 0)
    index = store.index_of(table)
    with index.transaction():
        stored = index.rows(table, column, [row[place] for row in rows])
        known = {tuple(row[:width]) for row in stored if not _is_retried(table, row)}
        new = [row for row in rows if tuple(row[:width]) not in known]
        if table in JOURNALED:
            index.record(table, new, about)
        else:
            index.put(table, new)
    return len(new)


def _is_retried(table: str, row: IndexRow) -> bool:
    """Check whether a row records a missing item that the next run will request again."""
    place = {"pictures": 3, "answers": 4}.get(table)
    return place is not None and row[place] == RETRIED
