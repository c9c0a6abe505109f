"""The journal of a store, a text file that records all changes to the index except vectors.

A line has the form `CHECKSUM JSON`, where JSON is [table, rows, texts, metadata for the rows]. In
columns where the same strings recur, a row contains the position of its string in the list `texts`.
Earlier versions did not write this list. A line whose table is `removed` lists deleted rows. Each
line starts with a line break. This separates it from the previous line, which a power failure may
have cut off.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from askew.store.files import write_stream
from askew.store.foreign import json_value
from askew.store.rows import JOURNALED, REMOVED, IndexRow, checksum, column_places, is_valid
from askew.types import slices

ROWS_PER_LINE = 500
"""Maximum number of rows per journal line."""

REPEATED = {
    "pictures": ("prompt", "model"),
    "planned": ("run",),
    "answers": ("instrument", "picture", "question"),
}
"""For each table, the columns in which the same strings recur within a line."""

_PLACES = {table: column_places(table, names) for table, names in REPEATED.items()}

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)

MOST_LINE_BYTES = 2**28
"""Length in bytes at which a line is too long to be valid.

If a line is too long, the rest of the journal counts as damaged.
"""


@dataclass(frozen=True, slots=True)
class JournalLine:
    """A line of a journal.

    Attributes
    ----------
    start, end
        Byte positions in the file where the line, including the line break before it, starts and
        ends.
    text
        Text of the line without its checksum; empty for a damaged line.
    table, rows, about
        Name of the table, the rows, and metadata for the rows; empty for a damaged line.
    is_intact
        False if the checksum is wrong, or if the content is not in the form that askew writes.
    is_complete
        False if only the beginning of the line was written.
    """

    start: int
    end: int
    text: str = ""
    table: str = ""
    rows: Sequence[IndexRow] = ()
    about: Mapping[str, object] | None = None
    is_intact: bool = False
    is_complete: bool = True


class Journal:
    """File to which all changes to the index are appended.

    Parameters
    ----------
    path
        The file. It need not exist.
    is_temporary
        If True, lines are not flushed to disk, so a power failure can remove them.
    """

    def __init__(self, path: Path, *, is_temporary: bool = False) -> None:
        self.path = path
        self._is_temporary = is_temporary

    def size(self) -> int:
        """Return the size of the file in bytes; 0 if it does not exist."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def append(
        self, table: str, rows: Sequence[IndexRow], about: Mapping[str, object] | None = None
    ) -> None:
        """Write rows, and flush them to disk unless the journal is temporary.

        The caller must prevent other processes from writing.

        Raises
        ------
        OSError
            If the rows cannot be written. The file is then left unchanged.
        """
        if not rows:
            return
        data = b"".join(_line(table, part, about or {}) for part in slices(rows, ROWS_PER_LINE))
        file = os.open(self.path, _APPEND, 0o666)
        size_before = os.fstat(file).st_size
        try:
            while data:
                data = data[os.write(file, data) :]
            if not self._is_temporary:
                os.fsync(file)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(file, size_before)
            raise
        finally:
            os.close(file)

    def rows(self, start: int = 0, end: int | None = None) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the table name and the rows from each intact line, oldest first.

        Parameters
        ----------
        start, end
            Byte positions between which lines are read. If `end` is None, lines are read to the end
            of the file.
        """
        for line in self.lines(start):
            if end is not None and line.start >= end:
                return
            if line.is_intact:
                yield line.table, line.rows

    def damaged(self) -> int:
        """Return the number of damaged lines."""
        return sum(not line.is_intact for line in self.lines())

    def cut_incomplete_end(self, start: int = 0) -> None:
        """Remove the incomplete lines that a power failure can leave at the end of the file.

        No stored result is lost, since askew reports a result as stored only after its line is
        complete. The caller must exclude other writers.

        Parameters
        ----------
        start
            Byte position; lines before it are kept.
        """
        keep = start
        for line in self.lines(start):
            if line.is_intact or line.is_complete:
                keep = line.end
        if keep < self.size():
            os.truncate(self.path, keep)

    def has_line_at(self, place: int) -> bool:
        """Check whether a byte position is the start of a line or the end of the file."""
        size = self.size()
        if place >= size:
            return place == size
        with self.path.open("rb") as file:
            file.seek(max(place, 0))
            return place >= 0 and file.read(1) == b"\n"

    def rewrite(self, current: set[int] | None = None) -> None:
        """Remove damaged lines, and rows that are no longer current.

        Parameters
        ----------
        current
            Checksums of the rows to keep. Of duplicate rows, one is kept. None keeps all rows.
        """
        write_stream(self.path, self._current_lines(current))

    def _current_lines(self, current: set[int] | None) -> Iterator[bytes]:
        """Yield the intact lines, each reduced to the rows to keep.

        If `current` is None, all rows are kept.
        """
        left = None if current is None else set(current)
        for line in self.lines():
            if not line.is_intact:
                continue
            if left is None:
                yield f"\n{_sum_of(line.text)} {line.text}".encode("ascii")
            elif line.table != REMOVED:
                rows = [row for row in line.rows if checksum(line.table, row) in left]
                left.difference_update(checksum(line.table, row) for row in rows)
                if rows:
                    yield _line(line.table, rows, line.about or {})

    def lines(self, start: int = 0) -> Iterator[JournalLine]:
        """Yield each nonempty line that starts after a byte position."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            file.seek(start)
            end = start
            while raw := file.readline(MOST_LINE_BYTES):
                begin = end
                end += len(raw)
                if len(raw) == MOST_LINE_BYTES:
                    yield JournalLine(start=begin - (begin > start), end=self.size())
                    return
                if raw.strip():
                    # the line break before a line belongs to it
                    yield _parsed(raw, begin - (begin > start), end - raw.endswith(b"\n"))


def _line(table: str, rows: Sequence[IndexRow], about: Mapping[str, object]) -> bytes:
    """Encode rows as a line of the journal."""
    texts: dict[object, int] = {}
    short_rows = [_shortened(table, row, texts) for row in rows]
    text = json.dumps([table, short_rows, list(texts), about], sort_keys=True)
    return f"\n{_sum_of(text)} {text}".encode("ascii")


def _shortened(table: str, row: IndexRow, texts: dict[object, int]) -> IndexRow:
    """Replace a row's recurring texts with their positions in `texts`.

    Append new texts to `texts`.
    """
    cells = list(row)
    for place in _PLACES.get(table, ()):
        cells[place] = texts.setdefault(cells[place], len(texts))
    return cells


def _content(text: str) -> tuple[Any, Any, Any]:
    """Return a line's table name, its rows, and the metadata for the rows.

    Raises
    ------
    ValueError, TypeError, IndexError
        If the content of the line is not in the form that askew writes.
    """
    parts = json_value(text)
    if len(parts) == 3:
        table, rows, about = parts
        return table, rows, about
    table, rows, texts, about = parts
    for row in rows:
        for place in _PLACES.get(table, ()):
            if row[place] < 0:
                raise ValueError("a place is negative")
            row[place] = texts[row[place]]
    return table, rows, about


def _parsed(raw: bytes, start: int, end: int) -> JournalLine:
    """Parse a line of the journal. The content fields of a damaged line are empty."""
    line = raw.decode("utf-8", "replace").strip()
    digest, _, text = line.partition(" ")
    is_complete = text.endswith("}]") and "\0" not in text
    damaged = JournalLine(start=start, end=end, is_complete=is_complete)
    if digest != _sum_of(text):
        return damaged
    try:
        table, rows, about = _content(text)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError):
        return damaged
    if not (isinstance(rows, list) and isinstance(about, dict) and _are_valid(table, rows)):
        return damaged
    return JournalLine(
        start=start, end=end, text=text, table=table, rows=rows, about=about, is_intact=True
    )


def _are_valid(table: object, rows: Sequence[object]) -> bool:
    """Check whether these rows are in the form that askew writes."""
    if table not in (*JOURNALED, REMOVED):
        return False
    return all(isinstance(row, list) and is_valid(str(table), row) for row in rows)


def _sum_of(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
