"""The store's SQLite file: opening it, its tables, transactions, and queries over many keys."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askew.errors import StoreError
from askew.store.files import FULL, explain_os_error

SCHEMA = 1
CHUNK = 500

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE provenance (id INTEGER PRIMARY KEY, json TEXT NOT NULL UNIQUE);
CREATE TABLE files (id TEXT PRIMARY KEY, suffix TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pictures (
    key TEXT PRIMARY KEY, id TEXT REFERENCES files, reason TEXT, detail TEXT NOT NULL DEFAULT '',
    prompt TEXT NOT NULL, seed INTEGER, model TEXT NOT NULL, provenance INTEGER NOT NULL REFERENCES provenance,
    CHECK ((id IS NULL) <> (reason IS NULL))
) WITHOUT ROWID;
CREATE TABLE planned (run TEXT NOT NULL, slot TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (run, slot)) WITHOUT ROWID;
CREATE TABLE questions (hash TEXT PRIMARY KEY, text TEXT NOT NULL, options TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (
    instrument TEXT NOT NULL, picture TEXT NOT NULL, question TEXT NOT NULL REFERENCES questions,
    answer TEXT, reason TEXT, detail TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (instrument, picture, question), CHECK ((answer IS NULL) <> (reason IS NULL))
) WITHOUT ROWID;
CREATE TABLE vectors (
    embedder TEXT NOT NULL, picture TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (embedder, picture)
);
"""


class Index:
    """A connection to the index at `path`; None keeps an empty one in memory.

    `timeout` is how many seconds to wait for another process that is writing. Raises StoreError.
    """

    def __init__(self, path: Path | None, timeout: float) -> None:
        self.where = "the store" if path is None else f"the store {path.parent}"
        self.timeout = timeout
        with faults(self.where, self.timeout):
            self._connection = sqlite3.connect(path or ":memory:", timeout=timeout, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: done as a whole, or not at all when anything is raised."""
        with faults(self.where, self.timeout):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def rows(self, query: str, keys: Iterable[str], *before: str) -> Iterator[tuple[Any, ...]]:
        """Rows of `query`, whose `{keys}` stands for a list of any length; `before` fills the marks ahead of it."""
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), CHUNK):
            part = wanted[start : start + CHUNK]
            yield from self.select(query.format(keys=marks(part)), (*before, *part))

    def select(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with faults(self.where, self.timeout):
            return self._connection.execute(query, values).fetchall()

    def _prepare(self) -> None:
        tables = "SELECT count(*) FROM sqlite_master WHERE name = 'meta'"
        if self.select(tables) == [(0,)]:
            self._use_wal()
            with self.transaction() as connection:
                if self.select(tables) == [(0,)]:  # no other process was faster
                    for statement in TABLES.split(";\n"):
                        connection.execute(statement)
                    connection.execute("INSERT INTO meta VALUES ('schema', ?)", (SCHEMA,))
        self._connection.execute("PRAGMA synchronous = NORMAL")
        found = self.select("SELECT value FROM meta WHERE name = 'schema'")[0][0]
        if found > SCHEMA:
            raise StoreError(
                f"{self.where} was written by a newer askew (schema {found}, this one reads {SCHEMA}): "
                "update askew, or choose another --store"
            )

    def _use_wal(self) -> None:
        """Switch to write-ahead logging. SQLite does not wait for others here by itself."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


@contextmanager
def faults(where: str, timeout: float = 0.0) -> Iterator[None]:
    """Turns what SQLite and the file system raise into a StoreError about `where`."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{where} {_explain(error, timeout)}") from error
    except OSError as error:
        raise StoreError(f"{where} {explain_os_error(error)}") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{where} takes only valid Unicode, not {error.object!a}") from error


def marks(values: Sequence[object]) -> str:
    """As many question marks as there are values, for an SQL list."""
    return ", ".join("?" * len(values))


def _explain(error: sqlite3.Error, timeout: float) -> str:
    text = str(error)
    if "locked" in text:
        return f"is being written by another process, still after {timeout:g} s; try again when it is done"
    if "full" in text:
        return FULL
    if "readonly" in text or "unable to open" in text:
        return f"cannot be written: {text}. Give yourself the right to write there, or choose another --store"
    if "not a database" in text or "malformed" in text:
        return f"has a damaged index ({text}). Move the folder away, or choose another --store"
    return f"failed: {text}"
