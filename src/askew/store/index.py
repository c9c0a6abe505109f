"""The index of a store, which consists of SQLite files. Each row has a checksum.

The index also records how much of the journal it includes. Each change is written to the journal
first, and to the index later. After a power failure, the next command that opens the store adds the
rest of the journal to the index.
"""

import errno
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from askew.errors import StoreError
from askew.store.cells import NAMES, Cells
from askew.store.entries import DATABASES
from askew.store.files import FULL, explain_os_error, write_fault
from askew.store.journal import Journal
from askew.store.locks import holders, remedy
from askew.store.rows import (
    COLUMNS,
    JOURNALED,
    REMOVED,
    TABLES,
    IndexRow,
    checksum,
    is_image_id,
    is_intact,
)
from askew.types import slices

SCHEMA = 3
OLDER_SCHEMA = 2
"""Older schema that askew reads and converts.

An index with this schema stores everything as text, and also contains the vectors.
"""

INDEX_TABLES = ("pictures", "planned", "answers", "reports", "files")
VECTOR_TABLES = ("vectors",)
"""Tables in the second file of an index. The first file contains `INDEX_TABLES`."""

PAGE_SIZES = {INDEX_TABLES: 4096, VECTOR_TABLES: 16384}
"""SQLite page sizes in bytes.

Five vectors of 768 numbers fit into a page of 16,384 bytes, but only one fits into a page of 4,096
bytes.
"""

CHUNK = 500
"""Maximum number of row keys in an SQL query."""

LISTED_ROWS = 20
"""Maximum number of damaged rows that askew lists per table."""

DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""Exceptions that can occur when an index is damaged.

sqlite3 raises UnicodeDecodeError if its error message quotes damaged text.
"""

UNWRITTEN = ("readonly", "unable to open", "disk I/O")
"""Fragments of SQLite messages that may indicate a full disk."""

JOURNAL_END = "journal"
"""Name of the entry in `meta` that stores how many bytes of the journal the index includes."""

TABLE_DEFINITIONS = {
    table: f"CREATE TABLE {table} ({columns}){'' if table == 'vectors' else ' WITHOUT ROWID'}"
    for table, columns in TABLES.items()
}
PICTURES_BY_ID = "CREATE INDEX pictures_by_id ON pictures (id)"
META = "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)"
DEFINITIONS = {
    **{definition: table for table, definition in TABLE_DEFINITIONS.items()},
    PICTURES_BY_ID: "pictures_by_id",
    NAMES: "names",
    META: "meta",
}
"""Names of the tables, keyed by the SQL statements that create them.

An index with any other table, view or trigger counts as damaged, since an attacker could use it to
run SQL statements.
"""

OLDER_DEFINITIONS = {
    definition: name for definition, name in DEFINITIONS.items() if definition != NAMES
}
"""Names of the tables in an older index, keyed by the SQL statements that create them."""

KnownRows = Callable[[], Iterable[tuple[str, Sequence[IndexRow]]]]
"""Function that returns the initial rows of a new index, as pairs of table name and rows."""

IsUsable = Callable[[str, IndexRow], bool]
"""Function that decides whether a row found only in the journal is added to the index."""


class OlderIndex(StoreError):
    """Raised if an earlier version wrote the index, and this version can convert it."""


class Index:
    """A connection to one of the files that make up an index.

    Parameters
    ----------
    path
        The file; None for an index in memory.
    timeout
        Maximum time in seconds to wait while another process is writing.
    journal
        Journal that records the same rows; None for an index without a journal.
    known
        Function that returns the initial rows of a new index. By default, these are the rows in the
        journal.
    write
        If False, the files on disk do not change.
    is_usable
        Function that decides whether a row found only in the journal is added to the index.
    tables
        Tables that the file contains.

    Raises
    ------
    OlderIndex
        If an earlier version of askew wrote the index, which must be converted first.
    StoreError
        If the index cannot be used.
    """

    def __init__(
        self,
        path: Path | None,
        timeout: float,
        journal: Journal | None = None,
        *,
        known: KnownRows | None = None,
        write: bool = True,
        is_usable: IsUsable = lambda table, row: True,
        tables: tuple[str, ...] = INDEX_TABLES,
    ) -> None:
        self.where = "the store" if path is None else f"the store {path.parent}"
        self.timeout = timeout
        self._journal = journal
        self._is_usable = is_usable
        self._tables = tables
        with faults(self.where, timeout):
            self._connection = _opened(path, timeout, write)
            self._cells = Cells(self._connection)
            try:
                self._prepare(write or path is None, known)
                check_schema(self._connection, self.where)
                self._include_journal(write and path is not None)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, is_writable: bool, known: KnownRows | None) -> None:
        """Create the tables of a new index."""
        self._connection.execute("PRAGMA synchronous = NORMAL")
        if is_writable and not self._has_schema():
            self._create(known)

    def _include_journal(self, is_writable: bool) -> None:
        """Add the journal rows that are missing from the index.

        If the index is read-only, the rows are added to a copy of the index in memory.
        """
        if self._journal is None or self._is_up_to_date(self._journal):
            return
        if not is_writable:
            end = self._journal_end()
            if end is None or self._journal.size() < end:
                return
            memory = _connected(":memory:", self.timeout)
            self._connection.backup(memory)
            self._connection.close()
            self._connection = memory
            self._cells = Cells(memory)
        with self.transaction():
            self._catch_up(self._journal, is_writable)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open a write transaction, or join one that is open.

        Either all changes are written, or none are.
        """
        if self._connection.in_transaction:
            yield
            return
        with faults(self.where, self.timeout):
            try:
                with write_transaction(self._connection):
                    yield
            except BaseException:
                self._cells.forget()
                raise

    def put(self, table: str, rows: Iterable[IndexRow], replace: bool = True) -> None:
        """Write rows to the index, but not to the journal. A transaction must be open.

        Parameters
        ----------
        table, rows
            Name of the table, and the rows to write.
        replace
            If True, new rows replace stored rows that have the same key. If False, the stored rows
            are kept.
        """
        action = "REPLACE" if replace else "IGNORE"
        statement = f"INSERT OR {action} INTO {table} VALUES ({_marks(len(COLUMNS[table]) + 1)})"
        self._cells.trim()
        for part in slices(list(rows), CHUNK):
            cells = self._cells.stored(table, part)
            sums = (checksum(table, row) for row in part)
            self._connection.executemany(
                statement, [(*row, sum_) for row, sum_ in zip(cells, sums, strict=True)]
            )

    def record(
        self, table: str, rows: Sequence[IndexRow], about: Mapping[str, object] | None = None
    ) -> None:
        """Write rows to the index and the journal.

        A transaction must be open, which also prevents other processes from writing to the journal.
        """
        self._connect_journal()
        self.put(table, rows)
        self._append(table, rows, about)

    def remove(self, table: str, column: str, keys: Iterable[str]) -> None:
        """Delete the rows that have these keys in a column, and record this in the journal."""
        removals = [(table, column, key) for key in keys]
        with self.transaction():
            self._connect_journal()
            self._delete(removals)
            self._append(REMOVED, removals)

    def compact(self) -> None:
        """Remove from the journal all rows that are no longer in the index.

        The index is flushed to disk before the journal changes. No other process may write to the
        store at the same time.
        """
        if self._journal is None:
            return
        with faults(self.where, self.timeout):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            with self.transaction():
                self._connect_journal()
                self._journal.rewrite(self._sums())
                self._note_end(self._journal)
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def unjournaled(self) -> int:
        """Return the number of intact index rows that are missing from the journal."""
        if self._journal is None:
            return 0
        left = self._sums()
        for table, rows in self._journal.rows():
            if table != REMOVED:
                left.difference_update(checksum(table, row) for row in rows)
        return len(left)

    def _sums(self) -> set[int]:
        """Return the checksums of all intact rows that belong in the journal."""
        return {checksum(table, row) for table in JOURNALED for row in self.intact_rows(table)}

    def _connect_journal(self) -> None:
        if self._journal is not None and not self._is_up_to_date(self._journal):
            self._catch_up(self._journal, is_writable=True)

    def _append(
        self, table: str, rows: Sequence[IndexRow], about: Mapping[str, object] | None = None
    ) -> None:
        if self._journal is not None:
            self._journal.append(table, rows, about)
            self._note_end(self._journal)

    def _journal_end(self) -> int | None:
        """Return the number of bytes of the journal that the index includes; None if unknown."""
        rows = self.select("SELECT value FROM meta WHERE name = ?", (JOURNAL_END,))
        return rows[0][0] if rows and isinstance(rows[0][0], int) else None

    def _note_end(self, journal: Journal) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", (JOURNAL_END, journal.size())
        )

    def _is_up_to_date(self, journal: Journal) -> bool:
        return self._journal_end() == journal.size()

    def _catch_up(self, journal: Journal, is_writable: bool) -> None:
        """Add the journal rows that are missing from the index."""
        end = self._journal_end()
        is_prefix = end is not None and journal.has_line_at(end)
        if is_writable:
            journal.cut_incomplete_end(end if end is not None and is_prefix else 0)
        if end is not None and is_prefix:
            self._replay(journal.rows(end))
        else:
            self._compare(journal, is_writable)
        self._note_end(journal)

    def usable(
        self, lines: Iterable[tuple[str, Sequence[IndexRow]]]
    ) -> Iterator[tuple[str, Sequence[IndexRow]]]:
        """From journal lines, yield the rows that may be added to a new index."""
        for table, rows in lines:
            yield table, [row for row in rows if self._is_usable(table, row)]

    def _replay(self, lines: Iterable[tuple[str, Sequence[IndexRow]]]) -> None:
        """Apply journal lines to the index."""
        for table, rows in lines:
            if table == REMOVED:
                self._delete(rows)
            elif table in self._tables:
                self.put(table, rows)

    def _compare(self, journal: Journal, is_writable: bool) -> None:
        """Add rows found only in the journal to the index, and vice versa."""
        with closing(Index(None, self.timeout, journal)) as journaled:
            for table in JOURNALED:
                rows = list(journaled.intact_rows(table))
                usable = [row for row in rows if self._is_usable(table, row)]
                self.put(table, usable, replace=False)
                if is_writable:
                    sums = {checksum(table, row) for row in rows}
                    here = self.intact_rows(table)
                    journal.append(table, [row for row in here if checksum(table, row) not in sums])

    def _delete(self, removals: Iterable[IndexRow]) -> None:
        for table, column, key in removals:
            if table in self._tables:
                cells = [(cell,) for cell in self._cells.keys(table, column, [key])]
                self._connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", cells)

    def rows(
        self, table: str, column: str, keys: Iterable[str], **fixed: str
    ) -> Iterator[IndexRow]:
        """Yield the intact rows that match any of the keys and all `fixed` values."""
        with faults(self.where, self.timeout):
            self._cells.trim()
            wanted = self._cells.keys(table, column, dict.fromkeys(keys))
            values = [
                cell for name in fixed for cell in self._cells.keys(table, name, [fixed[name]])
            ]
        if len(values) < len(fixed):
            return
        for part in slices(wanted, CHUNK):
            conditions = [f"{name} = ?" for name in fixed]
            conditions.append(f"{column} IN ({_marks(len(part))})")
            query = f"SELECT * FROM {table} WHERE {' AND '.join(conditions)}"
            yield from self._intact(table, self.select(query, (*values, *part)))

    def _intact(self, table: str, rows: Iterable[IndexRow]) -> Iterator[IndexRow]:
        """Convert stored rows to rows of strings without checksums. Skip damaged rows."""
        with faults(self.where, self.timeout):
            for stored in rows:
                row = self._cells.read(table, stored)
                if is_intact(table, row):
                    yield row[:-1]

    def latest_pictures(self, model: str, most: int) -> list[IndexRow]:
        """Return the index rows for a model's newest images, newest first."""
        query = "SELECT * FROM pictures WHERE model = ? AND id IS NOT NULL AND changed IS NOT NULL"
        numbers = self._cells.keys("pictures", "model", [model])
        if not numbers:
            return []
        rows = self.select(f"{query} ORDER BY changed DESC LIMIT ?", (*numbers, most))
        return list(self._intact("pictures", rows))

    def newest_ids(self, run: str, count: int) -> list[str]:
        """Return the ids of the newest images in the run that has this plan hash."""
        query = (
            "SELECT DISTINCT id FROM planned JOIN pictures USING (key) "
            "WHERE run = ? AND id IS NOT NULL ORDER BY changed DESC LIMIT ?"
        )
        numbers = self._cells.keys("planned", "run", [run])
        if not numbers:
            return []
        return [name for name in _ids(self.select(query, (*numbers, count))) if is_image_id(name)]

    def select(self, query: str, values: Sequence[object] = ()) -> list[IndexRow]:
        """Return all rows that a query selects."""
        with faults(self.where, self.timeout):
            return self._connection.execute(query, values).fetchall()

    def all_rows(self, table: str) -> Iterator[tuple[IndexRow, bool]]:
        """Yield each readable row, and whether the row is intact."""
        return _all_rows(self._connection, table, self._cells.read)

    def intact_rows(self, table: str) -> Iterator[IndexRow]:
        """Yield all intact rows of a table."""
        return (row for row, is_intact_row in self.all_rows(table) if is_intact_row)

    def unplanned_ids(self) -> frozenset[str]:
        """Return the ids of images that no run needs. All rows must be intact."""
        planned = "SELECT id FROM pictures JOIN planned USING (key) WHERE id IS NOT NULL"
        query = f"SELECT id FROM pictures WHERE id IS NOT NULL AND id NOT IN ({planned})"
        return frozenset(_ids(self.select(query)))

    def known_ids(self, ids: Iterable[str]) -> set[str]:
        """Return the subset of these image ids that occurs in the index.

        All rows must be intact.
        """
        known = set[str]()
        for part in slices(list(ids), CHUNK):
            query = f"SELECT id FROM pictures WHERE id IN ({_marks(len(part))})"
            known.update(_ids(self.select(query, self._cells.keys("pictures", "id", part))))
        return known

    def forget(self, table: str, column: str, keys: Iterable[str]) -> None:
        """Delete rows from a table whose rows the journal does not record."""
        with self.transaction():
            self._delete((table, column, key) for key in keys)

    def faults(self) -> list[str]:
        """Describe the damaged rows, and the faults that SQLite reports."""
        lines = self._integrity_errors()
        descriptions = [f"the index is damaged: {' '.join(line.split())}" for line in lines]
        for table in self._tables:
            descriptions += self._damaged_rows(table)
        return descriptions

    def _integrity_errors(self) -> list[str]:
        try:
            lines = [line for (line,) in self._connection.execute("PRAGMA integrity_check(3)")]
        except DAMAGE as error:
            return [str(error)]
        return [line for line in lines if line != "ok"]

    def _damaged_rows(self, table: str) -> list[str]:
        damaged = [row for row, is_intact in self.all_rows(table) if not is_intact]
        descriptions = []
        for row in damaged[:LISTED_ROWS]:
            values = ", ".join(f"{value!a:.24}" for value in row[:3])
            descriptions.append(f"the index has a damaged row in {table}: {values}")
        more = len(damaged) - LISTED_ROWS
        if more > 0:
            descriptions.append(f"the index has {more} more damaged rows in {table}")
        return descriptions

    def _has_schema(self) -> bool:
        return bool(self.select("SELECT 1 FROM sqlite_master WHERE name = 'meta'"))

    def _create(self, known: KnownRows | None) -> None:
        self._connection.execute(f"PRAGMA page_size = {PAGE_SIZES[self._tables]}")
        self._use_wal()
        with self.transaction():
            if self._has_schema():  # another process was faster
                return
            for table in self._tables:
                self._connection.execute(TABLE_DEFINITIONS[table])
            if "pictures" in self._tables:
                self._connection.execute(PICTURES_BY_ID)
            for definition in (NAMES, META):
                self._connection.execute(definition)
            self._connection.execute("INSERT INTO meta VALUES ('schema', ?)", (SCHEMA,))
            if known is not None:
                self._replay(known())
            elif self._journal is not None:
                self._replay(self.usable(self._journal.rows()))
                self._note_end(self._journal)

    def _use_wal(self) -> None:
        """Switch to write-ahead logging. Retry while another process prevents this change."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def check_schema(connection: sqlite3.Connection, where: str) -> None:
    """Check that this version of askew can read an index.

    Raises
    ------
    OlderIndex
        If an earlier version of askew wrote the index, but this version can read its rows.
    StoreError
        If another version of askew wrote the index, and this version cannot read its rows.
    sqlite3.DatabaseError
        If the index does not state its version, or contains a table that askew does not create.
    """
    row = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    schema = row[0] if row else None
    if not isinstance(schema, int) or schema < 1:
        raise sqlite3.DatabaseError("it contains no version")
    if schema == SCHEMA:
        _check_definitions(connection, DEFINITIONS)
        return
    if schema == OLDER_SCHEMA:
        _check_definitions(connection, OLDER_DEFINITIONS)
        raise OlderIndex(f"{where} was written by an earlier version of askew")
    is_newer = schema > SCHEMA
    age = "a newer" if is_newer else "an older"
    update = "update askew, or " if is_newer else ""
    raise StoreError(
        f"{where} was written by {age} askew (schema {schema}, this version reads {SCHEMA}): "
        f"{update}choose another --store"
    )


def _check_definitions(connection: sqlite3.Connection, definitions: Mapping[str, str]) -> None:
    """Raise DatabaseError if an index contains a table or trigger that askew does not create."""
    for kind, name, definition in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        is_automatic = kind == "index" and definition is None
        if not is_automatic and definitions.get(definition) != name:
            raise sqlite3.DatabaseError(f"it contains an unknown {kind!a}")


def salvaged(
    path: Path, tables: Iterable[str]
) -> tuple[int | None, Iterator[tuple[str, list[IndexRow]]]]:
    """Return all intact rows that can be read from an old or damaged index, grouped by table.

    Parameters
    ----------
    path
        A file of the index.
    tables
        The tables to read.

    Returns
    -------
    int or None
        Number of bytes of the journal that the index includes; None if unknown.
    iterator of (str, list)
        The rows.

    Raises
    ------
    StoreError
        If another version of askew wrote the index. This version would treat all of its rows as
        damaged.
    """
    end = None
    with suppress(*DAMAGE), closing(_connected(path, 0.0)) as damaged:
        with suppress(OlderIndex):
            check_schema(damaged, f"the store {path.parent}")
        row = damaged.execute("SELECT value FROM meta WHERE name = ?", (JOURNAL_END,)).fetchone()
        end = row[0] if row else None
    return end if isinstance(end, int) else None, _salvaged_rows(path, tables)


def _salvaged_rows(path: Path, tables: Iterable[str]) -> Iterator[tuple[str, list[IndexRow]]]:
    with suppress(*DAMAGE), closing(_connected(path, 0.0)) as damaged:
        for table in tables:
            query = "SELECT sql FROM sqlite_master WHERE name = ?"
            row = damaged.execute(query, (table,)).fetchone()
            # the statements of an older index are the same, and all its cells are texts
            if row == (TABLE_DEFINITIONS[table],):
                rows = _all_rows(damaged, table, Cells(damaged).read)
                intact = (row for row, is_intact_row in rows if is_intact_row)
                while part := list(islice(intact, CHUNK)):
                    yield table, part


def _all_rows(
    connection: sqlite3.Connection, table: str, read: Callable[[str, IndexRow], IndexRow]
) -> Iterator[tuple[IndexRow, bool]]:
    """Yield each readable row, and whether the row is intact.

    If a row cannot be read, askew reads the table from both ends to recover the rows around it.
    """
    for order in ("ASC", "DESC"):
        with suppress(*DAMAGE):
            for stored in connection.execute(
                f"SELECT * FROM {table} ORDER BY 1 {order}, 2 {order}"
            ):
                row = read(table, stored)
                yield row[:-1], is_intact(table, row)
            return


def _ids(rows: Iterable[IndexRow]) -> list[str]:
    """Return the ids, as text, from rows that each contain a single id."""
    return [cell.hex() if isinstance(cell, bytes) else str(cell) for (cell,) in rows]


def _opened(path: Path | None, timeout: float, write: bool) -> sqlite3.Connection:
    if path is None:
        return _connected(":memory:", timeout)
    return _connected(path, timeout) if write else _read_only(path, timeout)


def _connected(path: Path | str, timeout: float) -> sqlite3.Connection:
    is_uri = str(path).startswith("file:")
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, uri=is_uri)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return connection


def _read_only(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that never changes the index.

    If SQLite cannot open the index because the folder is not writable or the disk is full, askew
    connects to a copy of the index in memory.
    """
    try:
        connection = _connected(f"{path.as_uri()}?mode=ro", timeout)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection
    except sqlite3.OperationalError as error:
        if not any(part in str(error) for part in (*UNWRITTEN, "full")):
            raise
    with TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copyfile(file, Path(folder) / file.name)
        copy = _connected(Path(folder) / path.name, timeout)
        memory = _connected(":memory:", timeout)
        copy.backup(memory)
        copy.close()
    return memory


@contextmanager
def write_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Open a write transaction. Either all changes are written, or none are."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def faults(where: str, timeout: float = 0.0) -> Iterator[None]:
    """Convert exceptions from SQLite and the file system into a StoreError about `where`."""
    try:
        yield
    except DAMAGE as error:
        raise StoreError(f"{where} {_explained(error, where, timeout)}") from error
    except OSError as error:
        raise StoreError(f"{where} {explain_os_error(error)}") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{where} can store only valid Unicode, not {error.object!a}") from error


def _explained(error: Exception, where: str, timeout: float) -> str:
    """Return the end of a sentence that states the cause of an SQLite error and the remedy."""
    text = str(error)
    path = where.removeprefix("the store ")
    if "locked" in text:
        return _describe_writers(Path(path), timeout)
    if "full" in text:
        return FULL
    if any(part in text for part in UNWRITTEN):
        fault = write_fault(Path(path))
        if fault is not None and fault.errno in (errno.ENOSPC, errno.EDQUOT):
            return FULL
    if "readonly" in text or "unable to open" in text:
        return f"cannot be written: {text}. Change the permissions, or choose another --store"
    is_damage = "no such" in text or "malformed" in text
    if is_damage or not isinstance(error, sqlite3.OperationalError):
        files = " or ".join(DATABASES)
        return (
            f"has a damaged index ({files}: {text}). Rebuild it with: askew check {path} --rebuild"
        )
    return f"failed: {text}"


def _describe_writers(store: Path, timeout: float) -> str:
    """Return the end of a sentence that states which process writes to a store, and the remedy."""
    processes = set[int]()
    for file in store.glob("*.sqlite*"):
        processes.update(holders(file))
    if not processes:
        return (
            f"is still being written by another process after {timeout:g} s. When that process "
            f"has finished, repeat the command. `fuser -v {store}/*` lists the processes that use "
            "the store"
        )
    process = min(processes)
    end = remedy(process, "repeat this command")
    return f"is still being written by process {process} after {timeout:g} s{end}"


def _marks(count: int) -> str:
    return ", ".join("?" * count)
