"""Protocol for a place that stores packs, and the names of its folders."""

from typing import Protocol

SLICES = "slices"
"""Folder that contains the packs."""

PLANS = "plans"
"""Folder with lists of the packs that runs need."""

ASIDE = "damaged"
"""Folder to which damaged packs are moved."""


class PackStorage(Protocol):
    """A place for files that never change, to which several machines can write at once.

    Attributes
    ----------
    address
        The address of the place, without credentials.
    note
        A message to the user about the place; empty if there is none.
    """

    address: str
    note: str

    def paths(self, folder: str = SLICES) -> set[str]:
        """Return the paths of all files in a folder.

        Raises
        ------
        StoreError
            If the place cannot be read.
        """

    def put(self, path: str, data: bytes) -> bool:
        """Write a new file, and return True. If the file exists, return False and write nothing.

        Raises
        ------
        StoreError
            If the file cannot be written.
        """

    def get(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is no such file.

        Raises
        ------
        StoreError
            If the file cannot be read.
        """

    def set_aside(self, path: str) -> None:
        """Move a damaged file to the folder `damaged`, so that it counts as missing.

        Raises
        ------
        StoreError
            If the file cannot be moved.
        """
