"""The index of a store, an SQLite file whose rows carry checksums, and a journal of the same rows."""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from askew.errors import StoreError
from askew.store.files import FULL, explain_os_error, write_whole
from askew.types import slices

SCHEMA = 2
CHUNK = 500
"""Largest number of keys of a query, and of rows in a line of the journal."""

LISTED_ROWS = 20
"""Largest number of damaged rows that are listed for a table."""

DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""Exceptions of a damaged index. sqlite3 cannot decode its own message if it quotes damaged text."""

TABLES = {
    "pictures": "key, id, suffix, reason, detail, prompt, seed INTEGER, model, changed INTEGER, sum, PRIMARY KEY (key)",
    "planned": "run, slot, key, sum, PRIMARY KEY (run, slot)",
    "answers": "instrument, picture, question, answer, reason, detail, sum, "
    "PRIMARY KEY (instrument, picture, question)",
    "reports": "key, report, sum, PRIMARY KEY (key)",
    "vectors": "embedder, picture, vector BLOB, sum, PRIMARY KEY (embedder, picture)",
}
"""Columns by table. `sum` is the checksum of the other columns. A row with a wrong checksum counts as absent.
"""

IndexRow = Sequence[Any]
KnownRows = Callable[[], Iterable[tuple[str, Sequence[IndexRow]]]]
"""Function that returns the initial rows of a new index, by table."""


def checksum(table: str, row: Sequence[object]) -> int:
    """Return 64 bits over the content of a row and the name of its table."""
    digest = blake2b(table.encode(), digest_size=8)
    for value in row:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(b"%d:%b" % (len(data), data))
    return int.from_bytes(digest.digest(), "big", signed=True)


class Index:
    """A connection to an index.

    Parameters
    ----------
    path
        The file; None keeps the index in memory.
    timeout
        Seconds to wait for a process that is writing.
    known
        Function that returns the initial rows of a new index.
    write
        If False, nothing on disk is changed.

    Raises
    ------
    StoreError
        If the index cannot be used.
    """

    def __init__(
        self, path: Path | None, timeout: float, known: KnownRows = tuple, write: bool = True
    ) -> None:
        self.where = "the store" if path is None else f"the store {path.parent}"
        self.timeout = timeout
        with faults(self.where, timeout):
            self._connection = _opened(path, timeout, write)
            try:
                self._connection.execute("PRAGMA synchronous = NORMAL")
                is_writable = write or path is None
                if is_writable and not self._has_schema():
                    self._create(known)
                check_schema(self._connection, self.where)
                if is_writable and not self.has_table("reports"):
                    self._add_reports()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open a write transaction, or join the open one. It is carried out completely or not at all."""
        if self._connection.in_transaction:
            yield
            return
        with faults(self.where, self.timeout):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def put(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Write rows, which replace rows with the same key. A transaction must be open."""
        width = TABLES[table].split(", PRIMARY")[0].count(",") + 1
        rows_with_sums = ((*row, checksum(table, row)) for row in rows)
        self._connection.executemany(
            f"INSERT OR REPLACE INTO {table} VALUES ({_marks(width)})", rows_with_sums
        )

    def rows(
        self, table: str, column: str, keys: Iterable[str], **fixed: str
    ) -> Iterator[IndexRow]:
        """Yield intact rows with one of the keys in a column, and `fixed` values in others."""
        for part in slices(list(dict.fromkeys(keys)), CHUNK):
            conditions = [f"{name} = ?" for name in fixed]
            conditions.append(f"{column} IN ({_marks(len(part))})")
            query = f"SELECT * FROM {table} WHERE {' AND '.join(conditions)}"
            for row in self.select(query, (*fixed.values(), *part)):
                if row[-1] == checksum(table, row[:-1]):
                    yield row[:-1]

    def delete(self, table: str, column: str, keys: Iterable[str]) -> None:
        """Delete rows with these keys."""
        with self.transaction():
            self._connection.executemany(
                f"DELETE FROM {table} WHERE {column} = ?", ((key,) for key in keys)
            )

    def select(self, query: str, values: Sequence[object] = ()) -> list[IndexRow]:
        """Return all rows of a query."""
        with faults(self.where, self.timeout):
            return self._connection.execute(query, values).fetchall()

    def all_rows(self, table: str) -> Iterator[tuple[IndexRow, bool]]:
        """Yield each readable row, with a flag for intact rows."""
        return _all_rows(self._connection, table)

    def faults(self) -> list[str]:
        """Return the faults that SQLite reports, and damaged rows, in words."""
        lines = self._integrity_errors()
        descriptions = [f"the index is damaged: {' '.join(line.split())}" for line in lines]
        for table in TABLES:
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

    def has_table(self, name: str) -> bool:
        """Check whether the index has a table. Earlier versions of askew wrote no table `reports`."""
        return bool(self.select("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)))

    def _has_schema(self) -> bool:
        return self.has_table("meta")

    def _add_reports(self) -> None:
        """Add the table that earlier versions of askew did not write."""
        columns = TABLES["reports"]
        with self.transaction():
            self._connection.execute(
                f"CREATE TABLE IF NOT EXISTS reports ({columns}) WITHOUT ROWID"
            )

    def _create(self, known: KnownRows) -> None:
        self._use_wal()
        with self.transaction():
            if self._has_schema():  # another process was faster
                return
            for table, columns in TABLES.items():
                option = "" if table == "vectors" else " WITHOUT ROWID"
                self._connection.execute(f"CREATE TABLE {table} ({columns}){option}")
            self._connection.execute("CREATE INDEX pictures_by_id ON pictures (id)")
            self._connection.execute(
                "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)"
            )
            self._connection.execute("INSERT INTO meta VALUES ('schema', ?)", (SCHEMA,))
            for table, rows in known():
                self.put(table, rows)

    def _use_wal(self) -> None:
        """Switch to write-ahead logging. This function does not wait for other processes."""
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
    StoreError
        If another version of askew wrote it.
    sqlite3.DatabaseError
        If it contains no version.
    """
    row = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    schema = row[0] if row else None
    if not isinstance(schema, int) or schema < 1:
        raise sqlite3.DatabaseError("it contains no version")
    if schema == SCHEMA:
        return
    is_newer = schema > SCHEMA
    age = "a newer" if is_newer else "an older"
    update = "update askew, or " if is_newer else ""
    raise StoreError(
        f"{where} was written by {age} askew (schema {schema}, this version reads {SCHEMA}): "
        f"{update}choose another --store"
    )


def salvaged(path: Path) -> Iterator[tuple[str, list[IndexRow]]]:
    """Yield all readable intact rows of a damaged index, by table.

    Raises
    ------
    StoreError
        If another version of askew wrote the index. In this case none of its rows would seem
        intact.
    """
    with suppress(*DAMAGE), closing(_connected(path, 0.0)) as damaged:
        with suppress(*DAMAGE):
            check_schema(damaged, f"the store {path.parent}")
        for table in TABLES:
            yield table, [row for row, is_intact in _all_rows(damaged, table) if is_intact]


def _all_rows(connection: sqlite3.Connection, table: str) -> Iterator[tuple[IndexRow, bool]]:
    """Yield each readable row, with a flag for intact rows.

    If a row cannot be read, the table is read from both ends.
    """
    for order in ("ASC", "DESC"):
        with suppress(*DAMAGE):
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1 {order}, 2 {order}"):
                yield row[:-1], row[-1] == checksum(table, row[:-1])
            return


def _opened(path: Path | None, timeout: float, write: bool) -> sqlite3.Connection:
    if path is None:
        return _connected(":memory:", timeout)
    return _connected(path, timeout) if write else _read_only(path, timeout)


def _connected(path: Path | str, timeout: float) -> sqlite3.Connection:
    is_uri = str(path).startswith("file:")
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, uri=is_uri)
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return connection


def _read_only(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that writes nothing.

    If nothing can be written, it is a connection to a copy of the index.
    """
    try:
        connection = _connected(f"{path.as_uri()}?mode=ro", timeout)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection
    except sqlite3.OperationalError as error:
        if "unable to open" not in str(error) and "readonly" not in str(error):
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
def faults(where: str, timeout: float = 0.0) -> Iterator[None]:
    """Turn exceptions of SQLite and the file system into a StoreError about the store `where`."""
    try:
        yield
    except DAMAGE as error:
        raise StoreError(f"{where} {_explained(error, where, timeout)}") from error
    except OSError as error:
        raise StoreError(f"{where} {explain_os_error(error)}") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{where} takes only valid Unicode, not {error.object!a}") from error


def _explained(error: Exception, where: str, timeout: float) -> str:
    """Return the cause of an exception of SQLite, and the remedy, as the end of a sentence."""
    text = str(error)
    if "locked" in text:
        return (
            f"is still being written by another process after {timeout:g} s. Try again when the "
            "other process has finished"
        )
    if "full" in text:
        return FULL
    if "readonly" in text or "unable to open" in text:
        return f"cannot be written: {text}. Change the permissions, or choose another --store"
    is_damage = "no such" in text or "malformed" in text
    if is_damage or not isinstance(error, sqlite3.OperationalError):
        path = where.removeprefix("the store ")
        return f"has a damaged index ({text}). Rebuild it with: askew check {path} --rebuild"
    return f"failed: {text}"


def _marks(count: int) -> str:
    return ", ".join("?" * count)


class Journal:
    """A file to which all rows of the index except vectors are appended, one line per batch.

    A line is `CHECKSUM JSON`, where JSON is [table, rows, facts about the rows].
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(
        self, table: str, rows: Sequence[Sequence[Any]], about: Mapping[str, object] | None = None
    ) -> None:
        """Write rows and flush them to disk. The caller must exclude other writers.

        Raises
        ------
        OSError
            If they cannot be written. Then nothing is.
        """
        if not rows:
            return
        data = b"".join(_line(table, part, about or {}) for part in slices(rows, CHUNK))
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        size_before = os.fstat(file).st_size
        try:
            while data:
                data = data[os.write(file, data) :]
            os.fsync(file)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(file, size_before)
            raise
        finally:
            os.close(file)

    def rows(self) -> Iterator[tuple[str, list[list[Any]]]]:
        """Yield the rows of every intact line with their table, the oldest first."""
        for line, is_intact in self._lines():
            if is_intact:
                table, rows, _ = json.loads(line.partition(" ")[2])
                yield table, rows

    def damaged(self) -> int:
        """Return the number of lines with a wrong checksum."""
        return sum(not is_intact for _, is_intact in self._lines())

    def mend(self) -> None:
        """Remove damaged lines."""
        lines = [f"\n{line}" for line, is_intact in self._lines() if is_intact]
        write_whole({self.path: "".join(lines).encode("ascii")})

    def _lines(self) -> Iterator[tuple[str, bool]]:
        """Yield each line that is not empty, with a flag for intact lines."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            for raw in file:
                line = raw.decode("utf-8", "replace").strip()
                digest, _, text = line.partition(" ")
                if digest:
                    yield line, digest == _sum_of(text)


def _line(table: str, rows: Sequence[IndexRow], about: Mapping[str, object]) -> bytes:
    """Return a line of the journal. It starts with a line break, to end a line that a power failure has cut off."""
    text = json.dumps([table, rows, about], sort_keys=True)
    return f"\n{_sum_of(text)} {text}".encode("ascii")


def _sum_of(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
