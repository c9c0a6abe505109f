"""Saved states of long computations. Each state is a file in a store and begins with a checksum.

The checksum covers the name of the file and its content. A damaged file is moved to the folder
`quarantine`, and the computation starts again from the beginning.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from askew.store.entries import read_bytes, regular_files
from askew.store.files import sha256, write_file

FOLDERS = ("iti-gen",)
"""Folders of a store that contain saved states."""

DIGITS = 64
"""Number of hexadecimal digits in a checksum."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """A file that contains the saved state of a computation.

    Attributes
    ----------
    path
        The file `STORE/FOLDER/NAME`, which need not exist.
    """

    path: Path

    def read(self) -> bytes | None:
        """Return the saved state; None if no intact state is saved.

        Move a damaged file to quarantine.
        """
        content = self._intact_content()
        if content is None:
            self.set_aside()
        return content

    def write(self, content: bytes) -> None:
        """Write the state. If writing fails, the file does not change.

        Raises
        ------
        RunError
            If the file cannot be written.
        """
        write_file(self.path, f"{self._sum_of(content)}\n".encode("ascii") + content)

    def set_aside(self) -> None:
        """Move the file to the store's quarantine, if the file exists."""
        quarantine = self.path.parent.parent / "quarantine"
        if os.path.lexists(self.path):
            quarantine.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # another process may have moved it
                self.path.replace(quarantine / f"{self.path.parent.name}-{self.path.name}")

    @property
    def is_intact(self) -> bool:
        """True if the file's checksum matches its name and content."""
        return self._intact_content() is not None

    def _intact_content(self) -> bytes | None:
        try:
            data = read_bytes(self.path, follow=False)
        except OSError:
            return None
        content = data[DIGITS + 1 :]
        return content if data[: DIGITS + 1] == f"{self._sum_of(content)}\n".encode() else None

    def _sum_of(self, content: bytes) -> str:
        return sha256(f"{self.path.name}\n".encode() + content)


def damaged_states(store: Path) -> Iterator[StateFile]:
    """Yield the damaged states in a store."""
    for folder in FOLDERS:
        for file in regular_files(store / folder):
            state = StateFile(file)
            if file.suffix != ".part" and not state.is_intact:
                yield state
