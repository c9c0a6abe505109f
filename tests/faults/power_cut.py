"""The states in which a power failure can leave a folder, from a record of all calls (shim.c).

Names of files reach the disk in the order of the calls, at the latest with the next fsync, as on
ext4 and XFS. Content reaches the disk with the fsync of its file. Of later content, any parts of
4096 bytes may be there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

BLOCK = 4096


@dataclass(frozen=True)
class Call:
    """A system call: its name, its path, a number (place or size), and data (or the second path)."""

    name: str
    path: str
    number: int
    data: bytes


@dataclass
class File:
    """A file: the content that is certainly on disk, and the later changes."""

    content: bytearray
    later: list[tuple[int, bytes | None]] = field(default_factory=list)

    def flush(self) -> None:
        for place, data in self.later:
            self.change(place, data)
        self.later.clear()

    def change(self, place: int, data: bytes | None) -> None:
        """Write data at a place, or cut or extend the file there if the data is None."""
        if data is None:
            del self.content[place:]
        lacking = place - len(self.content)
        self.content.extend(bytes(max(0, lacking)))
        if data is not None:
            self.content[place : place + len(data)] = data

    def parts(self) -> Iterator[tuple[int, bytes | None]]:
        for place, data in self.later:
            if data is None:
                yield place, None
                continue
            for start in range(0, len(data), BLOCK):
                yield place + start, data[start : start + BLOCK]


Names = dict[str, File | None]
"""Files by path; None for a folder."""


def read_record(path: Path) -> list[Call]:
    """Return the calls that the shim recorded."""
    calls = []
    with path.open("rb") as file:
        while line := file.readline():
            name, number, path_size, data_size = line.split()
            text = file.read(int(path_size)).decode()
            data = file.read(int(data_size))
            calls.append(Call(name=name.decode(), path=text, number=int(number), data=data))
    return calls


class Disk:
    """A disk that repeats recorded calls until the power fails.

    Parameters
    ----------
    folder
        The folder before the calls, all of which is on disk.
    """

    def __init__(self, folder: Path) -> None:
        self.names: Names = {}
        for path in folder.rglob("*"):
            self.names[str(path)] = None if path.is_dir() else File(bytearray(path.read_bytes()))
        self.durable = dict(self.names)
        self._later: list[tuple[Call, File | None]] = []

    def repeat(self, call: Call) -> None:
        """Repeat a call."""
        file = self.names.get(call.path)
        if call.name in ("sync", "datasync"):
            if file is not None:
                file.flush()
            if call.name == "sync":
                self._flush_names(len(self._later))
        elif call.name == "write" and file is not None:
            file.later.append((call.number, call.data))
        elif call.name == "cut" and file is not None:
            file.later.append((call.number, None))
        elif call.name == "empty" and file is not None:
            file.later.append((0, None))
        elif call.name not in ("write", "cut", "create") or call.path not in self.names:
            new = File(bytearray()) if call.name in ("create", "empty") else None
            _rename(self.names, call, new)
            self._later.append((call, new))

    def fail(self, noise: random.Random) -> dict[str, bytes | None]:
        """Return what is on disk after a power failure: contents by path, None for a folder."""
        self._flush_names(noise.randint(0, len(self._later)))
        state: dict[str, bytes | None] = {}
        for path, file in self.durable.items():
            state[path] = None if file is None else _remaining(file, noise)
        return state

    def _flush_names(self, count: int) -> None:
        for call, new in self._later[:count]:
            _rename(self.durable, call, new)
        del self._later[:count]


def _rename(names: Names, call: Call, new: File | None) -> None:
    """Create, remove or rename a file or a folder."""
    if call.name in ("unlink", "rmdir"):
        names.pop(call.path, None)
    elif call.name == "rename":
        names[call.data.decode()] = names.pop(call.path)
    elif call.name == "link":
        names[call.data.decode()] = names[call.path]
    else:
        names[call.path] = new


def _remaining(file: File, noise: random.Random) -> bytes:
    """Return the content of a file of which any later changes are lost."""
    left = File(bytearray(file.content))
    share = noise.choice((0.0, 0.5, 1.0))
    for place, data in file.parts():
        if noise.random() < share:
            left.change(place, data)
    return bytes(left.content)


def write_state(state: dict[str, bytes | None]) -> None:
    """Write the contents to their paths."""
    for path, content in sorted(state.items()):
        if content is None:
            Path(path).mkdir(parents=True, exist_ok=True)
        else:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content)


def spread(count: int, total: int) -> Sequence[int]:
    """Return numbers from 1 to `total`, spread evenly over the range."""
    count = min(count, total)
    return sorted({1 + (2 * k + 1) * total // (2 * count) for k in range(count)})
