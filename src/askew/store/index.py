"""The store's two memories: an SQLite file whose rows carry checksums, and a journal of the same
rows.
"""

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
"""Keys of a query, and rows of a line of the journal, at most."""

MOST_TOLD = 20

DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""What is raised of an index: sqlite3 cannot decode its own message where that quotes damaged text."""

TABLES = {
    "pictures": "key, id, suffix, reason, detail, prompt, seed INTEGER, model, changed INTEGER, sum, PRIMARY KEY (key)",
    "planned": "run, slot, key, sum, PRIMARY KEY (run, slot)",
    "answers": "instrument, picture, question, answer, reason, detail, sum, "
    "PRIMARY KEY (instrument, picture, question)",
    "vectors": "embedder, picture, vector BLOB, sum, PRIMARY KEY (embedder, picture)",
}
"""By table its columns. `sum` is the checksum of the others: a row that does not fit its own is as
good as absent.
"""

IndexRow = Sequence[Any]
Known = Callable[[], Iterable[tuple[str, Sequence[IndexRow]]]]


def checksum(table: str, row: Sequence[object]) -> int:
    """64 bits over the content of a row and the name of its table."""
    digest = blake2b(table.encode(), digest_size=8)
    for value in row:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(b"%d:%b" % (len(data), data))
    return int.from_bytes(digest.digest(), "big", signed=True)


class Index:
    """A connection to the index at `path`; None keeps one in memory. With `write` False nothing on
    disk is changed.

    It waits `timeout` seconds for a process that is writing; a new index begins with `known` rows.
    Raises StoreError.
    """

    def __init__(
        self, path: Path | None, timeout: float, known: Known = tuple, write: bool = True
    ) -> None:
        self.where = "the store" if path is None else f"the store {path.parent}"
        self.timeout = timeout
        with faults(self.where, timeout):
            reads = path is not None and not write
            self._connection = (
                _read_only(path, timeout)
                if path and reads
                else _connected(path or ":memory:", timeout)
            )
            try:
                self._connection.execute("PRAGMA synchronous = NORMAL")
                if not reads and not self._has_schema():
                    self._create(known)
                check_schema(self._connection, self.where)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction, or a part of the one around it: done as a whole, or not at all if
        anything is raised.
        """
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
        """Write rows, each in the place of one with the same key. Within a transaction."""
        width = TABLES[table].split(", PRIMARY")[0].count(",") + 1
        summed = ((*row, checksum(table, row)) for row in rows)
        self._connection.executemany(
            f"INSERT OR REPLACE INTO {table} VALUES ({_marks(width)})", summed
        )

    def rows(
        self, table: str, column: str, keys: Iterable[str], **fixed: str
    ) -> Iterator[IndexRow]:
        """Intact rows with one of the keys in a column, and what is fixed in others."""
        for part in slices(list(dict.fromkeys(keys)), CHUNK):
            where = " AND ".join(
                [*(f"{name} = ?" for name in fixed), f"{column} IN ({_marks(len(part))})"]
            )
            found = self.select(f"SELECT * FROM {table} WHERE {where}", (*fixed.values(), *part))
            yield from (row[:-1] for row in found if row[-1] == checksum(table, row[:-1]))

    def delete(self, table: str, column: str, keys: Iterable[str]) -> None:
        """Take rows with these keys away."""
        with self.transaction():
            self._connection.executemany(
                f"DELETE FROM {table} WHERE {column} = ?", ((key,) for key in keys)
            )

    def select(self, query: str, values: Sequence[object] = ()) -> list[IndexRow]:
        """All rows of a query."""
        with faults(self.where, self.timeout):
            return self._connection.execute(query, values).fetchall()

    def all_rows(self, table: str) -> Iterator[tuple[IndexRow, bool]]:
        """Every row that can be read, and whether it is intact."""
        return _all_rows(self._connection, table)

    def faults(self) -> list[str]:
        """What SQLite itself finds wrong, and rows that are damaged, in words."""
        try:
            said = [
                line
                for (line,) in self._connection.execute("PRAGMA integrity_check(3)")
                if line != "ok"
            ]
        except DAMAGE as error:
            said = [str(error)]
        found = [f"the index is damaged: {' '.join(line.split())}" for line in said]
        for table in TABLES:
            broken = [row for row, intact in self.all_rows(table) if not intact]
            for row in broken[:MOST_TOLD]:
                told = ", ".join(f"{value!a:.24}" for value in row[:3])
                found.append(f"the index has a damaged row in {table}: {told}")
            if len(broken) > MOST_TOLD:
                found.append(
                    f"the index has {len(broken) - MOST_TOLD} more damaged rows in {table}"
                )
        return found

    def _has_schema(self) -> bool:
        return bool(self.select("SELECT 1 FROM sqlite_master WHERE name = 'meta'"))

    def _create(self, known: Known) -> None:
        self._use_wal()
        with self.transaction():
            if self._has_schema():  # another process was faster
                return
            for table, columns in TABLES.items():
                how = "" if table == "vectors" else " WITHOUT ROWID"
                self._connection.execute(f"CREATE TABLE {table} ({columns}){how}")
            self._connection.execute("CREATE INDEX pictures_by_id ON pictures (id)")
            self._connection.execute(
                "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)"
            )
            self._connection.execute("INSERT INTO meta VALUES ('schema', ?)", (SCHEMA,))
            for table, rows in known():
                self.put(table, rows)

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


def check_schema(connection: sqlite3.Connection, where: str) -> None:
    """Raises StoreError for an index of another version of askew."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    if not found or not isinstance(schema := found[0], int) or schema < 1:
        raise sqlite3.DatabaseError("it does not say its version")
    if schema != SCHEMA:
        age, update = ("a newer", "update askew, or ") if schema > SCHEMA else ("an older", "")
        raise StoreError(
            f"{where} was written by {age} askew (schema {schema}, this one reads {SCHEMA}): "
            f"{update}choose another --store"
        )


def salvaged(path: Path) -> Iterator[tuple[str, list[IndexRow]]]:
    """Rows of a damaged index that are intact, by table, as many as can be read. Raises StoreError
    for an index of another version, of whose rows none would seem intact.
    """
    with suppress(*DAMAGE), closing(_connected(path, 0.0)) as damaged:
        with suppress(*DAMAGE):
            check_schema(damaged, f"the store {path.parent}")
        for table in TABLES:
            yield table, [row for row, intact in _all_rows(damaged, table) if intact]


def _all_rows(connection: sqlite3.Connection, table: str) -> Iterator[tuple[IndexRow, bool]]:
    """Every row that can be read, from both ends where there is some that cannot, and whether it is
    intact.
    """
    for order in ("ASC", "DESC"):
        with suppress(*DAMAGE):
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1 {order}, 2 {order}"):
                yield row[:-1], row[-1] == checksum(table, row[:-1])
            return


def _connected(path: Path | str, timeout: float) -> sqlite3.Connection:
    made = sqlite3.connect(
        path, timeout=timeout, isolation_level=None, uri=str(path).startswith("file:")
    )
    made.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return made


def _read_only(path: Path, timeout: float) -> sqlite3.Connection:
    """A connection that writes nothing; where nothing can be written, one to a copy of what a
    writer left.
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
    """Turns what SQLite and the file system raise into a StoreError about `where`."""
    try:
        yield
    except DAMAGE as error:
        said = str(error)
        path = where.removeprefix("the store ")
        told = f"failed: {said}"
        if "locked" in said:
            told = f"is being written by another process, still after {timeout:g} s; try again when it is done"
        elif "full" in said:
            told = FULL
        elif "readonly" in said or "unable to open" in said:
            told = f"cannot be written: {said}. Give yourself the right to write there, or choose another --store"
        elif (
            "no such" in said
            or "malformed" in said
            or not isinstance(error, sqlite3.OperationalError)
        ):
            told = f"has a damaged index ({said}): `askew check {path} --rebuild` makes it again"
        raise StoreError(f"{where} {told}") from error
    except OSError as error:
        raise StoreError(f"{where} {explain_os_error(error)}") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{where} takes only valid Unicode, not {error.object!a}") from error


def _marks(count: int) -> str:
    return ", ".join("?" * count)


class Journal:
    """A file to which every row of the index but vectors is appended, a line for each batch.

    Lines of `CHECKSUM JSON`, where JSON is [table, rows, what else is known of them].
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(
        self, table: str, rows: Sequence[Sequence[Any]], about: Mapping[str, object] | None = None
    ) -> None:
        """Write rows and flush them to disk. Whoever calls keeps other writers away. Raises
        OSError.
        """
        if not rows:
            return
        texts = [
            json.dumps([table, part, about or {}], sort_keys=True) for part in slices(rows, CHUNK)
        ]
        data = "".join(f"\n{_sum_of(text)} {text}" for text in texts).encode(
            "ascii"
        )  # ends what a power cut left
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        before = os.fstat(file).st_size
        try:
            while data:
                data = data[os.write(file, data) :]
            os.fsync(file)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(file, before)
            raise
        finally:
            os.close(file)

    def rows(self) -> Iterator[tuple[str, list[list[Any]]]]:
        """The rows of every intact line by their table, the oldest first."""
        for line, intact in self._lines():
            if intact:
                table, rows, _ = json.loads(line.partition(" ")[2])
                yield table, rows

    def damaged(self) -> int:
        """How many lines do not fit their checksum."""
        return sum(not intact for _, intact in self._lines())

    def mend(self) -> None:
        """Take damaged lines away."""
        write_whole(
            {
                self.path: "".join(f"\n{line}" for line, intact in self._lines() if intact).encode(
                    "ascii"
                )
            }
        )

    def _lines(self) -> Iterator[tuple[str, bool]]:
        """Every line that is not empty, and whether it is intact."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            for line in (raw.decode("utf-8", "replace").strip() for raw in file):
                told, _, text = line.partition(" ")
                if told:
                    yield line, told == _sum_of(text)


def _sum_of(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
