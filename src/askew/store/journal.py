"""The store's second memory: a file to which every row of the index but vectors is appended, a line for each batch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from askew.store.files import write_whole

LINE = 500
"""Rows of a line, at most."""


class Journal:
    """Lines of `CHECKSUM JSON`, where JSON is [table, rows, what else is known of them]."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, table: str, rows: Sequence[Sequence[Any]], about: Mapping[str, object] | None = None) -> None:
        """Write rows and flush them to disk. Whoever calls keeps other writers away. Raises OSError."""
        if not rows:
            return
        parts = (rows[start : start + LINE] for start in range(0, len(rows), LINE))
        texts = [json.dumps([table, part, about or {}], sort_keys=True) for part in parts]
        data = "".join(f"\n{_checksum(text)} {text}" for text in texts).encode("ascii")  # ends what a power cut left
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
        write_whole({self.path: "".join(f"\n{line}" for line, intact in self._lines() if intact).encode("ascii")})

    def _lines(self) -> Iterator[tuple[str, bool]]:
        """Every line that is not empty, and whether it is intact."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            for line in (raw.decode("utf-8", "replace").strip() for raw in file):
                told, _, text = line.partition(" ")
                if told:
                    yield line, told == _checksum(text)


def _checksum(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
