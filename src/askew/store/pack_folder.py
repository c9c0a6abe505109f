"""Packs in a folder that several machines share."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from askew.errors import StoreError
from askew.store.entries import read_bytes
from askew.store.files import explain_os_error
from askew.store.pack_storage import ASIDE, SLICES


class PackFolder:
    """Packs in a folder that all machines can read and write.

    Parameters
    ----------
    folder
        The folder. It need not exist.
    """

    note = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.address = str(folder)

    def paths(self, folder: str = SLICES) -> set[str]:
        """Return the paths of all files in a folder."""
        with self._faults():
            return set(self._paths(self.folder / folder))

    def _paths(self, folder: Path) -> Iterator[str]:
        if not folder.is_dir():
            return
        for place, _, names in os.walk(folder):
            relative = Path(place).relative_to(self.folder).as_posix()
            yield from (f"{relative}/{name}" for name in names if not name.startswith("."))

    def put(self, path: str, data: bytes) -> bool:
        """Write a new file, and return True. If the file exists, return False and write nothing."""
        file = self.folder / path
        part = file.parent / f".{secrets.token_hex(8)}.part"
        with self._faults():
            if file.exists():
                return False
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                with part.open("wb") as stream:
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
                return _named(part, file)
            finally:
                part.unlink(missing_ok=True)

    def get(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is no such file."""
        with self._faults():
            try:
                return read_bytes(self.folder / path, follow=False)
            except FileNotFoundError:
                return None

    def set_aside(self, path: str) -> None:
        """Move a damaged file to the folder `damaged`, so that it counts as missing."""
        file = self.folder / path
        with self._faults(), suppress(FileNotFoundError):
            aside = self.folder / ASIDE / file.name
            aside.parent.mkdir(exist_ok=True)
            file.replace(aside)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Convert exceptions from the file system into a StoreError."""
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"the folder of packs {self.folder} {explain_os_error(error)}"
            ) from error


def _named(part: Path, file: Path) -> bool:
    """Rename a complete file.

    Return False if another process has already created a file with this name.
    """
    try:
        os.link(part, file)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: equal packs may replace each other
        os.replace(part, file)
    return True
