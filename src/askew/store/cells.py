"""Compact storage of index rows, with digests stored as bytes and repeated strings as numbers.

An index has rows for each image, each answer and each run. The same fingerprints, questions and
prompts occur in many rows, so each of these strings is stored once, in the table `names`. The
checksum of a row is computed from the strings themselves, so askew detects a damaged string in the
same way as a damaged row.
"""

import re
import sqlite3
from collections.abc import Iterable

from askew.store.rows import IndexRow, column_places
from askew.types import slices

DIGESTS = {
    "pictures": ("key", "id"),
    "planned": ("slot", "key"),
    "answers": ("picture",),
    "reports": ("key",),
    "files": ("digest",),
    "vectors": ("picture",),
}
"""For each table, the columns that contain hexadecimal digests, which askew stores as bytes."""

REPEATED = {
    "pictures": ("prompt", "model"),
    "planned": ("run",),
    "answers": ("instrument", "question"),
    "reports": (),
    "files": (),
    "vectors": ("embedder",),
}
"""For each table, the columns in which the same strings recur.

askew stores a number instead of each string.
"""

NAMES = "CREATE TABLE names (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"

DIGEST = re.compile(r"[0-9a-f]{64}")
DIGEST_BYTES = 32

MOST_REMEMBERED = 100_000
"""Maximum number of cached strings. A larger cache is emptied."""

NAMES_AT_ONCE = 500


_DIGEST_PLACES = {table: column_places(table, names) for table, names in DIGESTS.items()}
_REPEATED_PLACES = {table: column_places(table, names) for table, names in REPEATED.items()}


class Cells:
    """Converter between rows and the compact form in which an index stores them.

    Parameters
    ----------
    connection
        Connection to the index.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def stored(self, table: str, rows: Iterable[IndexRow]) -> list[list[object]]:
        """Convert rows to their stored form. New strings are added to the table `names`."""
        cells = [list(row) for row in rows]
        places = _REPEATED_PLACES[table]
        texts = {row[place] for row in cells for place in places}
        numbers = self._added_numbers(text for text in texts if isinstance(text, str))
        for row in cells:
            for place in _DIGEST_PLACES[table]:
                row[place] = _digest_cell(row[place])
            for place in places:
                if isinstance(row[place], str):
                    row[place] = numbers[row[place]]
        return cells

    def read(self, table: str, row: IndexRow) -> list[object]:
        """Convert a stored row back to strings. An unknown number becomes None."""
        cells = list(row)
        for place in _DIGEST_PLACES[table]:
            cell = cells[place]
            if isinstance(cell, bytes) and len(cell) == DIGEST_BYTES:
                cells[place] = cell.hex()
        for place in _REPEATED_PLACES[table]:
            if isinstance(cells[place], int):
                cells[place] = self._name(cells[place])
        return cells

    def keys(self, table: str, column: str, values: Iterable[str]) -> list[object]:
        """Return the stored form of a column's values. Strings that have no number are omitted."""
        if column in DIGESTS[table]:
            return [_digest_cell(value) for value in values]
        if column in REPEATED[table]:
            return list(self._known_numbers(values).values())
        return list(values)

    def forget(self) -> None:
        """Empty the cache of strings.

        The cache must be emptied after a transaction is rolled back.
        """
        self._numbers.clear()
        self._names.clear()

    def _added_numbers(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the number that represents each string. A new string is assigned a number."""
        wanted = sorted(texts)
        numbers = self._known_numbers(wanted)
        absent = [(text,) for text in wanted if text not in numbers]
        if absent:
            self._connection.executemany("INSERT INTO names (name) VALUES (?)", absent)
            numbers |= self._known_numbers(text for (text,) in absent)
        return numbers

    def _known_numbers(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the number of each string that already has a number."""
        wanted = list(dict.fromkeys(texts))
        for part in slices([text for text in wanted if text not in self._numbers], NAMES_AT_ONCE):
            marks = ", ".join("?" * len(part))
            query = f"SELECT name, number FROM names WHERE name IN ({marks})"
            for name, number in self._connection.execute(query, part).fetchall():
                self._remember(name, number)
        return {text: self._numbers[text] for text in wanted if text in self._numbers}

    def _name(self, number: int) -> str | None:
        """Return the string that a number represents; None if the number is unknown."""
        if number not in self._names:
            query = "SELECT name FROM names WHERE number = ?"
            row = self._connection.execute(query, (number,)).fetchone()
            if row is None:
                return None
            self._remember(row[0], number)
        return self._names[number]

    def _remember(self, name: str, number: int) -> None:
        self._numbers[name] = number
        self._names[number] = name

    def trim(self) -> None:
        """Empty the cache of strings if it is too large."""
        if len(self._names) > MOST_REMEMBERED:
            self.forget()


def _digest_cell(value: object) -> object:
    """Convert a hexadecimal digest to bytes; return any other value unchanged."""
    if isinstance(value, str) and DIGEST.fullmatch(value):
        return bytes.fromhex(value)
    return value
