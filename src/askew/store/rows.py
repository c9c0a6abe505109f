"""Columns, checksums and permitted values of the rows in a store's index.

A row may come from another person's store. A row that is not in the form that askew writes counts
as damaged, even if its checksum is correct. An example is a row that contains a path in place of an
image id.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from askew.store.foreign import json_value
from askew.store.imagefile import SUFFIXES
from askew.types import MISSING_REASONS

IndexRow = Sequence[Any]

TABLES = {
    "pictures": "key, id, suffix, reason, detail, prompt, seed INTEGER, model, changed INTEGER, sum, PRIMARY KEY (key)",
    "planned": "run, slot, key, sum, PRIMARY KEY (run, slot)",
    "answers": "instrument, picture, question, answer, reason, detail, sum, "
    "PRIMARY KEY (instrument, picture, question)",
    "reports": "key, report, sum, PRIMARY KEY (key)",
    "files": "path, size INTEGER, modified INTEGER, changed INTEGER, inode INTEGER, digest, sum, "
    "PRIMARY KEY (path)",
    "vectors": "embedder, picture, vector BLOB, sum, PRIMARY KEY (embedder, picture)",
}
"""Columns by table.

`sum` is the checksum of the other columns. A row with a wrong checksum counts as missing.
`cells.py` lists the columns that are stored as bytes or as numbers.
"""


def _column_names(columns: str) -> tuple[str, ...]:
    """Return the column names in a table definition, without the checksum column."""
    return tuple(column.split()[0] for column in columns.partition(", sum")[0].split(", "))


COLUMNS = {table: _column_names(columns) for table, columns in TABLES.items()}
"""Column names of each table, without the checksum."""


def column_places(table: str, names: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of the named columns in a table's rows."""
    return tuple(COLUMNS[table].index(name) for name in names)


JOURNALED = ("pictures", "planned", "answers", "reports")
"""Tables whose rows are also recorded in the journal."""

REMOVED = "removed"
"""Table name under which the journal records deletions; each row is [table, column, key]."""

REMOVABLE = {
    ("pictures", "id"),
    ("answers", "picture"),
    ("vectors", "picture"),
    ("planned", "run"),
}
"""Each table that allows deletions, with the column that selects the rows to delete."""

IMAGE_ID = re.compile(r"[0-9a-f]{64}")
"""Pattern for the id of an image, which is its SHA-256."""

MOST_REPORT = 100_000
"""Maximum number of characters in the metadata that a server reports for an image."""

IMAGE_SUFFIXES = frozenset(SUFFIXES.values())
REASONS = frozenset(MISSING_REASONS)


def checksum(table: str, row: Sequence[object]) -> int:
    """Return a 64-bit checksum that covers a row's content and its table name."""
    content = _ascii_content(table, row)
    if content is None:
        content = table.encode() + b"".join(map(_content, row))
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big", signed=True)


def _ascii_content(table: str, row: Sequence[object]) -> bytes | None:
    """Return a row as ASCII bytes; None if the row contains bytes or non-ASCII characters."""
    text = table
    for value in row:
        if isinstance(value, bytes):
            return None
        cell = repr(value)
        text += f"{len(cell)}:{cell}"
    return text.encode() if text.isascii() else None


def _content(value: object) -> bytes:
    """Return a value as bytes, preceded by its length in bytes."""
    data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(data), data)


def is_image_id(value: object) -> bool:
    """Check whether a value is the id of an image."""
    return isinstance(value, str) and IMAGE_ID.fullmatch(value) is not None


def is_intact(table: str, row: IndexRow) -> bool:
    """Check that a stored row ends with the correct checksum and that its values are permitted."""
    *content, row_sum = row
    return row_sum == checksum(table, content) and is_valid(table, content)


def is_valid(table: str, row: IndexRow) -> bool:
    """Check whether a row is in the form that askew writes to the index or the journal."""
    try:
        return CHECKS[table](*row)
    except TypeError:  # another number of columns, or a value that cannot be compared
        return False


def _is_picture(*row: Any) -> bool:
    key, name, suffix, reason, detail, prompt, seed, model, changed = row
    if name is None:
        has_outcome = suffix is None and reason in REASONS
    else:
        has_outcome = is_image_id(name) and suffix in IMAGE_SUFFIXES and reason is None
    return (
        has_outcome
        and _are_texts(key, prompt, model)
        and isinstance(detail, str | None)
        and _are_numbers(seed, changed)
    )


def _is_planned(run: Any, slot: Any, key: Any) -> bool:
    return _are_texts(run, slot, key)


def _is_answer(*row: Any) -> bool:
    instrument, picture, question, answer, reason, detail = row
    has_outcome = reason in REASONS if answer is None else reason is None
    return (
        has_outcome
        and _are_texts(instrument, picture, question, answer or "")
        and isinstance(detail, str | None)
    )


def _is_report(key: Any, report: Any) -> bool:
    if not _are_texts(key, report) or len(report) > MOST_REPORT:
        return False
    try:
        return isinstance(json_value(report), dict)
    except ValueError:
        return False


def _is_file(path: Any, size: Any, modified: Any, changed: Any, inode: Any, digest: Any) -> bool:
    if not type(size) is type(modified) is type(changed) is type(inode) is int:
        return False
    is_in_range = (
        -(2**63) <= size < 2**63
        and -(2**63) <= modified < 2**63
        and -(2**63) <= changed < 2**63
        and -(2**63) <= inode < 2**63
    )
    return is_in_range and isinstance(path, str) and is_image_id(digest)


def _is_vector(embedder: Any, picture: Any, vector: Any) -> bool:
    is_whole = isinstance(vector, bytes) and len(vector) % 4 == 0
    return is_whole and _are_texts(embedder, picture)


def _is_removal(table: Any, column: Any, key: Any) -> bool:
    return (table, column) in REMOVABLE and isinstance(key, str)


def _are_texts(*values: Any) -> bool:
    return {*map(type, values)} <= {str}


def _are_numbers(*values: Any) -> bool:
    return all(
        value is None or (isinstance(value, int) and -(2**63) <= value < 2**63) for value in values
    )


CHECKS: Mapping[str, Callable[..., bool]] = {
    "pictures": _is_picture,
    "planned": _is_planned,
    "answers": _is_answer,
    "reports": _is_report,
    "files": _is_file,
    "vectors": _is_vector,
    REMOVED: _is_removal,
}
"""For each table, a function that checks whether the values in a row are permitted."""
