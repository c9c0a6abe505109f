"""Detection of network file systems, on which SQLite cannot lock the index of a store."""

import os
import re
from pathlib import Path

from askew.errors import StoreError

MOUNTS = Path("/proc/self/mounts")
"""Path of the Linux table of all mounted file systems. Other systems have no such file."""

NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|lustre|gpfs|beegfs\w*|ceph|glusterfs|afs|orangefs|pvfs2|panfs|wekafs|ocfs2|gfs2"
    r"|fuse\.(sshfs|s3fs|gcsfuse|rclone|glusterfs|ceph\S*|juicefs|mount-s3|goofys|davfs\w*)"
)
"""Names of file system types that are used over a network."""


def network_mount(folder: Path) -> tuple[str, str] | None:
    """Return the type and mount point of the network file system that contains a folder, or None.

    None means that the folder is on a local disk. The folder need not exist.
    """
    path = str(folder.resolve())
    longest = ("", "")
    try:
        lines = MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    for line in lines:
        place, kind = _mount(line)
        # a later line hides an earlier one at the same place
        if _contains(place, path) and len(place) >= len(longest[1]):
            longest = (kind, place)
    return longest if NETWORK.fullmatch(longest[0]) else None


def check_local(store: Path) -> None:
    """Check that a store is not on a network file system.

    Raises
    ------
    StoreError
        If the store is on a network file system.
    """
    mount = network_mount(store)
    if mount is None:
        return
    kind, place = mount
    raise StoreError(
        f"the store {store} is on a network file system ({kind} at {place}), where SQLite cannot "
        "lock its index. Choose a folder on a local disk, as in --store /tmp/askew. To spread a "
        "run over several machines, use --shard 1/4 --packs FOLDER, where FOLDER may be on a network file system"
    )


def _mount(line: str) -> tuple[str, str]:
    """Return the mount point and file system type from a line of `MOUNTS`."""
    fields = line.split(" ")
    if len(fields) < 3:
        return "", ""
    place = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[1])
    return place, fields[2]


def _contains(place: str, path: str) -> bool:
    return bool(place) and (path + os.sep).startswith(place.rstrip(os.sep) + os.sep)
