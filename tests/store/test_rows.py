"""Checksums of rows, which stores of earlier versions contain."""

from collections.abc import Sequence
from hashlib import blake2b

import pytest

from askew.store.rows import checksum


def reference_checksum(table: str, row: Sequence[object]) -> int:
    """Return the checksum by its definition: each value after its length in bytes."""
    digest = blake2b(table.encode(), digest_size=8)
    for value in row:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(str(len(data)).encode() + b":" + data)
    return int.from_bytes(digest.digest(), "big", signed=True)


@pytest.mark.parametrize(
    "row",
    [
        ("a", 1, None, -(2**63)),
        ("größe", 1),
        ("\ud800",),
        ("key", b"\x00\xff", "a"),
        (),
    ],
)
def test_checksum_of_any_row(row: Sequence[object]) -> None:
    assert checksum("files", row) == reference_checksum("files", row)


def test_checksum_of_an_earlier_version() -> None:
    row = ("/images/0.png", 100, 1, 2, 3, "0" * 64)
    assert checksum("files", row) == -6793378959396445111
