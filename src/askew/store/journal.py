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


class Journal:
    """Lines of `CHECKSUM JSON`, where JSON is [table, rows, what else is known of them].

    `damaged` is how many lines did not fit their checksum when it was last read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0

    def append(self, table: str, rows: Sequence[Sequence[Any]], about: Mapping[str, object]) -> None:
        """Write rows and flush them to disk. Whoever calls keeps other writers away. Raises OSError."""
        text = json.dumps([table, rows, about], sort_keys=True)
        data = f"\n{_checksum(text)} {text}".encode("ascii")  # what a power cut left of the line before ends here
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
        for line in self._intact():
            table, rows, _ = json.loads(line.partition(" ")[2])
            yield table, rows

    def count_damaged(self) -> int:
        """How many lines do not fit their checksum."""
        for _ in self._intact():
            pass
        return self.damaged

    def mend(self) -> None:
        """Take damaged lines away."""
        write_whole({self.path: "".join(f"\n{line}" for line in self._intact()).encode("ascii")})

    def _intact(self) -> Iterator[str]:
        self.damaged = 0
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for raw in file:
                line = raw.decode("utf-8", "replace").strip()
                told, _, text = line.partition(" ")
                if told and told == _checksum(text):
                    yield line
                elif told:
                    self.damaged += 1


def _checksum(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
