"""Opening the folder or bucket that contains packs, given its address."""

from pathlib import Path

from askew.store.pack_folder import PackFolder
from askew.store.pack_storage import PackStorage


def opened_packs(address: str) -> PackStorage:
    """Open the folder or bucket of packs at an address, such as s3://bucket/prefix.

    Raises
    ------
    UsageError
        If the address cannot be used.
    """
    if "://" in address:
        from askew.store.bucket import Bucket

        return Bucket(address.rstrip("/"))
    return PackFolder(Path(address))
