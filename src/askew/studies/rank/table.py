"""Read tables of real-world shares, for comparison with rankings of prompts.

A table has one of two forms. A long table, which `--reference` also accepts, has one row per
combination of name, axis and value. A wide table has one row per name, and columns of shares or
percentages.
"""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from askew.errors import UsageError
from askew.parts.references import SHIPPED_TABLES, read_reference
from askew.store.files import read_text

LONG_COLUMNS = frozenset(("axis", "value", "share"))


def table_shares(name: str, value: str) -> dict[str, float]:
    """Return the shares of a value in a table.

    Parameters
    ----------
    name
        Name of a table that is included in askew, or path of a CSV file in one of the two forms.
    value
        Value whose shares are returned, such as female.

    Returns
    -------
    dict of str to float
        Shares in [0, 1], keyed by name. Names are, for example, occupations.

    Raises
    ------
    UsageError
        If the table cannot be read, or contains no shares of the value.
    """
    if name in SHIPPED_TABLES or set(_rows(Path(name))[0]) >= LONG_COLUMNS:
        return _long_table_shares(name, value)
    return read_shares(Path(name), value)


def _long_table_shares(name: str, value: str) -> dict[str, float]:
    shares: dict[str, float] = {}
    for subject, by_axis in read_reference(name).shares.items():
        for by_value in by_axis.values():
            if subject and value in by_value:
                shares[subject] = by_value[value]
    if not shares:
        raise UsageError(
            f"the table {name} has no shares of {value!r}. Name a value of the table with --value"
        )
    return shares


def read_shares(path: Path, value: str = "") -> dict[str, float]:
    """Return the shares in a wide table.

    Parameters
    ----------
    path
        CSV file. The first row contains column names, and the first column contains names. If any
        number is above 1, all numbers are interpreted as percentages.
    value
        Value whose shares are returned. The shares come from the first column whose name contains
        this word or, if there is none, from the first column of shares.

    Returns
    -------
    dict of str to float
        Shares in [0, 1], keyed by name.

    Raises
    ------
    UsageError
        If the file cannot be read, or has no column of shares.
    """
    heads, *rows = _rows(path)
    columns = [column for column in range(1, len(heads)) if _holds_shares(rows, column)]
    if not columns:
        raise UsageError(
            f"the table {path} has no column of shares. "
            "Write a row of column names, followed by lines of the form NAME,SHARE"
        )
    named = [column for column in columns if value in re.split(r"[\W_]+", heads[column].lower())]
    column = (named or columns)[0]
    numbers = {row[0]: float(row[column]) for row in rows}
    scale = 100 if max(numbers.values()) > 1 else 1
    return {name: number / scale for name, number in numbers.items()}


def _rows(path: Path) -> list[list[str]]:
    """Return the non-empty rows of a CSV file, or one empty row if there are none."""
    lines = read_text(path, "the table").splitlines(keepends=True)
    try:
        rows = [row for row in csv.reader(lines) if any(row)]
    except csv.Error as error:
        raise UsageError(f"the table {path} cannot be read: {error}") from error
    return [_stripped(row) for row in rows] or [[]]


def _stripped(row: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in row]


def _holds_shares(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Check whether a column contains only numbers from 0 to 100, unlike a column of years."""
    try:
        return bool(rows) and all(0 <= float(row[column]) <= 100 for row in rows)
    except (IndexError, ValueError):
        return False
