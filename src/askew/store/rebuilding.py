"""Rebuilding the index of a store from its journal and the rows of the old index."""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from askew.store.index import INDEX_TABLES, VECTOR_TABLES, Index, KnownRows, salvaged
from askew.store.journal import Journal
from askew.store.rows import IndexRow

INDEX_FILE = "index.sqlite"
VECTORS_FILE = "vectors.sqlite"


def rebuild_index(path: Path, journal: Journal) -> list[str]:
    """Rebuild a store's index files, and return the number of rows per table, such as "12 answers".

    Rows found only in the old index are first added to the journal. Then the new index replaces the
    old index. The store has an index at all times, so an interruption loses nothing. The old files
    are kept in the folder `quarantine`.
    """
    vectors = _rebuilt(path / VECTORS_FILE, VECTOR_TABLES, lambda: known_vectors(path))
    rows = _rebuilt(
        path / INDEX_FILE,
        INDEX_TABLES,
        lambda: known_rows(path / INDEX_FILE, journal),
        journal=journal,
    )
    return [*rows, *vectors]


def _rebuilt(
    file: Path, tables: tuple[str, ...], known: KnownRows, journal: Journal | None = None
) -> list[str]:
    """Replace an index file with a new file that contains the known rows."""
    new_file = file.with_name(f"{file.name}.new")
    for part in file.parent.glob(f"{new_file.name}*"):
        part.unlink()
    new = Index(new_file, 30.0, journal, known=known, tables=tables)
    counts = [f"{new.select(f'SELECT count(*) FROM {table}')[0][0]} {table}" for table in tables]
    new.close()
    if file.exists():
        _keep_aside(file, file.parent / "quarantine" / f"{file.name}-{int(time.time())}")
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    new_file.replace(file)
    return counts


def _keep_aside(file: Path, aside: Path) -> None:
    """Create a hard link to a file. If the file system has no hard links, copy the file."""
    aside.parent.mkdir(exist_ok=True)
    aside.unlink(missing_ok=True)
    try:
        os.link(file, aside)
    except OSError:
        shutil.copyfile(file, aside)


def known_rows(index: Path, journal: Journal) -> Iterator[tuple[str, Sequence[IndexRow]]]:
    """Yield the rows from a journal and from an old or damaged index, oldest first."""
    end, old_rows = salvaged(index, INDEX_TABLES) if index.exists() else (None, iter(()))
    yield from journal.rows(0, end)
    yield from old_rows
    if end is not None:
        yield from journal.rows(end)


def known_vectors(path: Path) -> Iterator[tuple[str, Sequence[IndexRow]]]:
    """Yield the intact vectors in a store. Earlier versions stored them in the index file."""
    for name in (INDEX_FILE, VECTORS_FILE):
        file = path / name
        if file.exists():
            yield from salvaged(file, VECTOR_TABLES)[1]
