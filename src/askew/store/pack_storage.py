"""Protocol for the storage locations of packs, and the names of their folders."""

from typing import Protocol

SLICES = "slices"
"""Folder that contains the packs."""

PLANS = "plans"
"""Name of the folder that contains lists of the packs that runs need."""

ASIDE = "damaged"
"""Name of the folder to which damaged packs are moved."""


class PackStorage(Protocol):
    """Storage location for files that never change.

    Several machines can write to it at the same time.

    Attributes
    ----------
    address
        Address of the storage location, without credentials.
    note
        Message to the user about the storage location; empty if there is none.
    """

    address: str
    note: str

    def paths(self, folder: str = SLICES) -> set[str]:
        """Return the paths of all files in a folder.

        Raises
        ------
        StoreError
            If the storage location cannot be read.
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
