"""The protocol of a place where packs are kept, and the names of its folders."""

from typing import Protocol

SLICES = "slices"
"""Folder of packs."""

PLANS = "plans"
"""Folder of lists of the packs that runs want."""

ASIDE = "damaged"
"""Folder of damaged packs that were moved away."""


class PackStorage(Protocol):
    """A place of files that never change, which several machines can write at once.

    Attributes
    ----------
    address
        The address of the place, without credentials.
    note
        A sentence about the place for the user; empty for none.
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
        """Write a file that does not exist. Return False, and write nothing, if it exists.

        Raises
        ------
        StoreError
            If it cannot be written.
        """

    def get(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is no such file.

        Raises
        ------
        StoreError
            If it cannot be read.
        """

    def set_aside(self, path: str) -> None:
        """Move a damaged file to the folder `damaged`, so that it counts as absent.

        Raises
        ------
        StoreError
            If it cannot be moved.
        """
