"""Image files in a store, named after the hash of their content."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from askew.store.entries import read_bytes
from askew.store.files import sha256, write_whole


class Blobs(Protocol):
    """Storage for files that never change.

    Each file is named after its SHA-256, followed by a suffix.
    """

    def put(self, blobs: Mapping[str, bytes]) -> None:
        """Write files, keyed by file name.

        After the call returns, the files survive a power failure.

        Raises
        ------
        OSError
            If a file cannot be written.
        """

    def get(self, name: str) -> bytes:
        """Return the content of a file.

        Raises
        ------
        OSError
            If the file does not exist or cannot be read.
        """

    def local_copy(self, name: str) -> Path:
        """Return the path of a copy of the file on this machine.

        An implementation that stores files elsewhere downloads the file first. The returned path
        does not exist if the store has no file with this name.
        """


class LocalBlobs:
    """Files in a local folder, stored at paths such as ab/ab12….png.

    Parameters
    ----------
    folder
        The folder.
    incoming
        Folder on the same file system for files that are still being written.
    """

    def __init__(self, folder: Path, incoming: Path) -> None:
        self.folder = folder
        self._incoming = incoming

    def put(self, blobs: Mapping[str, bytes]) -> None:
        """Write files, keyed by file name."""
        files = {self.local_copy(name): data for name, data in blobs.items()}
        write_whole(files, self._incoming)

    def get(self, name: str) -> bytes:
        """Return the content of a file."""
        return read_bytes(self.local_copy(name), follow=False)

    def local_copy(self, name: str) -> Path:
        """Return the path where a file is or would be stored."""
        return _path_in(self.folder, name)


class TemporaryBlobs(LocalBlobs):
    """Files in a local folder that is deleted when the process ends.

    The files need not survive a power failure, so they are not flushed to disk.
    """

    def put(self, blobs: Mapping[str, bytes]) -> None:
        """Write files, keyed by file name."""
        for name, data in blobs.items():
            path = self.local_copy(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@lru_cache(maxsize=1024)
def _path_in(folder: Path, name: str) -> Path:
    """Return the path of a file in a store's folder.

    Storing an image needs its path five times, and joining paths takes time.
    """
    return folder.joinpath(name[:2], name)


def is_intact(path: Path) -> bool:
    """Check whether a file exists and has the SHA-256 in its name."""
    try:
        return sha256(read_bytes(path, follow=False)) == path.name.partition(".")[0]
    except OSError:
        return False
