"""Manifests: CSV or JSON Lines files with one row for each image in a collection."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from askew.errors import ManifestError, UnknownName
from askew.store.files import read_text
from askew.store.foreign import json_value

DELIMITERS = ",;\t"
JSON_LINES = ".jsonl"
"""Suffix of files that contain one JSON object per line."""

FILE_COLUMNS = ("file", "file_name")
"""Default names of the column that contains the image paths.

Hugging Face image folders use the second name.
"""

CONDITION = "condition"
"""Default name of the condition column, and name of the axis whose values are conditions."""

INITIAL = "initial"
SHOWN = 5

Names = str | Sequence[str]
Pairs = str | Mapping[str, Names]
Condition = tuple[str | None, str | None]
"""Axis and value of an image's condition; both are None for the baseline condition."""
NO_CONDITION: Condition = (None, None)

Records = list[tuple[int, list[str]]]
"""Rows of a table: the number of the line on which each row ends, and the row's cells."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Rows of a manifest, as text.

    Attributes
    ----------
    path
        File of the manifest.
    columns
        Names of the columns.
    rows
        Rows, keyed by the number of the line on which each row ends. A row maps columns to cells
        without surrounding spaces.
    """

    path: Path
    columns: tuple[str, ...]
    rows: Mapping[int, Mapping[str, str]]

    def require(self, column: str, option: str) -> str:
        """Return `column` if the manifest has this column.

        Parameters
        ----------
        column
            Name of a column.
        option
            Option that names the column, such as "--label".

        Raises
        ------
        ManifestError
            If the manifest has no such column. The message lists its columns.
        """
        if column not in self.columns:
            unknown = UnknownName("column", column, self.columns)
            raise ManifestError(
                f"manifest {self.path}, line 1: {unknown} Name the column with {option}."
            )
        return column

    def where(self, filters: Mapping[str, Sequence[str]]) -> "Manifest":
        """Return a manifest with only the rows that have an accepted value in each filtered column.

        Parameters
        ----------
        filters
            Accepted values by column.

        Raises
        ------
        ManifestError
            If a column is unknown, if a value never occurs in its column, or if no row is left.
        """
        for column, values in filters.items():
            self._check_filter(column, values)
        rows: Mapping[int, Mapping[str, str]] = self.rows
        for column, values in filters.items():
            rows = {line: row for line, row in rows.items() if row[column] in values}
        if not rows:
            words = ", ".join(
                f"{column}={' or '.join(values)}" for column, values in filters.items()
            )
            raise ManifestError(f"manifest {self.path}: no row matches the filter --where {words}")
        return Manifest(path=self.path, columns=self.columns, rows=rows)

    def _check_filter(self, column: str, values: Sequence[str]) -> None:
        """Raise ManifestError if the column is unknown or never contains one of the values."""
        self.require(column, "--where")
        known = sorted({row[column] for row in self.rows.values()})
        for value in values:
            if value not in known:
                unknown = UnknownName("value", value, known)
                raise ManifestError(f"manifest {self.path}, column {column!r}: {unknown}")


def read_manifest(path: Path) -> Manifest:
    """Read a UTF-8 CSV file with a header, or a JSON Lines file with one object per image.

    Cells in a CSV file are separated by commas, semicolons or tabs. Blank lines are skipped. A
    column without a name is skipped if it is the first column (for example an index), or if it is
    empty.

    Raises
    ------
    ManifestError
        If the file cannot be read, is not UTF-8, has no rows, has a column without a name, repeats
        a column name, or has a row with more or fewer cells than the header. The message names the
        file and the line.
    """
    if path.suffix.lower() == JSON_LINES:
        return _read_json_lines(path)
    records = _read_records(path)
    _, header = records[0] if records else (1, [])
    columns = tuple(cell.strip() for cell in header)
    rows = records[1:]
    if not rows:
        place = " below its header" if columns else ""
        raise ManifestError(f"manifest {path} has no rows{place}")
    faults = [f"line {line} has {len(cells)}" for line, cells in rows if len(cells) != len(columns)]
    if faults:
        raise ManifestError(
            f"manifest {path}: the header has {len(columns)} columns, but {shorten(faults)}"
        )
    _check_columns(path, columns, rows)
    by_line = {}
    for line, cells in rows:
        row = dict(zip(columns, map(str.strip, cells), strict=True))
        row.pop("", None)
        by_line[line] = row
    return Manifest(path=path, columns=tuple(filter(None, columns)), rows=by_line)


def _read_records(path: Path) -> Records:
    """Read the rows of a CSV file, starting with the header and skipping blank rows."""
    text = read_text(path, "the manifest", ManifestError)
    first_line = text.lstrip().partition("\n")[0]
    delimiter = max(DELIMITERS, key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise ManifestError(
            f"manifest {path}, line {reader.line_num}: not valid CSV ({error})"
        ) from error


def _check_columns(path: Path, columns: Sequence[str], rows: Records) -> None:
    """Raise ManifestError if a column has no name, or if two columns have the same name.

    The first column may have no name, because pandas writes a table's index as such a column. An
    empty column may have no name, because spreadsheet programs write such columns.
    """
    nameless = [position for position, name in enumerate(columns) if position and not name]
    unnamed = [str(position + 1) for position in nameless if _has_content(rows, position)]
    if unnamed:
        raise ManifestError(f"manifest {path}, line 1: no name for column {shorten(unnamed)}")
    repeated = [name for name, count in Counter(columns).items() if name and count > 1]
    if repeated:
        raise ManifestError(
            f"manifest {path}, line 1: more than one column is named {shorten(repeated)}"
        )


def _has_content(rows: Records, position: int) -> bool:
    return any(cells[position].strip() for _, cells in rows)


def _read_json_lines(path: Path) -> Manifest:
    """Read a file with one JSON object per line. A missing key becomes an empty cell."""
    text = read_text(path, "the manifest", ManifestError)
    objects = {}
    for line, content in enumerate(text.split("\n"), 1):
        if content.strip():
            objects[line] = _read_object(path, line, content)
    if not objects:
        raise ManifestError(f"manifest {path} has no rows")
    columns = tuple(dict.fromkeys(name for row in objects.values() for name in row if name))
    empty = dict.fromkeys(columns, "")
    rows = {line: {**empty, **row} for line, row in objects.items()}
    return Manifest(path=path, columns=columns, rows=rows)


def _read_object(path: Path, line: int, text: str) -> dict[str, str]:
    """Parse a line of JSON, and return its cells, keyed by column."""
    try:
        content = json_value(text)
    except ValueError as error:
        raise ManifestError(f"manifest {path}, line {line}: not valid JSON ({error})") from error
    if not isinstance(content, dict):
        raise ManifestError(f"manifest {path}, line {line}: not a JSON object")
    return {name.strip(): _cell(value) for name, value in content.items()}


def _cell(value: object) -> str:
    """Convert a JSON value to the text of a cell.

    Null becomes empty text. Lists and objects remain JSON.
    """
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def conditions_of(manifest: Manifest, column: str, baseline_condition: str) -> list[Condition]:
    """Return the condition of each row, in the order of the rows.

    Parameters
    ----------
    manifest
        The manifest.
    column
        Column that contains the condition. If empty, askew reads the columns `axis` and `value` if
        both exist, or else the column `condition`.
    baseline_condition
        Condition of the baseline images; empty if the user did not name it.

    Raises
    ------
    ManifestError
        If the baseline condition cannot be determined.
    """
    has_axes = not column and {"axis", "value"} <= set(manifest.columns)
    if not column and not has_axes and CONDITION in manifest.columns:
        column = CONDITION
    if column:
        name = manifest.require(column, "--condition")
        cells = [row[name] for row in manifest.rows.values()]
        return conditions(cells, baseline_condition, f"manifest {manifest.path}, column {column!r}")
    if baseline_condition:
        raise ManifestError(
            f"manifest {manifest.path}: --baseline-condition {baseline_condition!r} needs a "
            "condition column; specify this column with --condition"
        )
    if not has_axes:
        return [NO_CONDITION] * len(manifest.rows)
    return list(_axis_conditions(manifest))


def _axis_conditions(manifest: Manifest) -> Iterator[Condition]:
    """Yield the condition of each row, read from the columns `axis` and `value`."""
    for line, row in manifest.rows.items():
        axis = row["axis"]
        value = row["value"]
        is_initial = not value and axis.lower() in ("", INITIAL)
        if not is_initial and not (axis and value):
            raise ManifestError(
                f"manifest {manifest.path}, line {line}: fill both 'axis' and 'value', or leave "
                "both empty for a baseline image"
            )
        yield NO_CONDITION if is_initial else (axis, value)


def conditions(cells: Sequence[str], baseline_condition: str, place: str) -> list[Condition]:
    """Convert cells to conditions, with `NO_CONDITION` for the baseline condition.

    Parameters
    ----------
    cells
        Name of each image's condition.
    baseline_condition
        Name of the baseline condition. If this is empty, the baseline condition is an empty cell,
        "initial", or the only condition.
    place
        Source of the cells, such as a column, for messages.

    Raises
    ------
    ManifestError
        If the baseline condition cannot be determined. The message lists the conditions.
    """
    known = sorted(set(cells))
    if baseline_condition and baseline_condition not in known:
        unknown = UnknownName("baseline condition", baseline_condition, known)
        raise ManifestError(f"{place}: {unknown}")
    baseline = {baseline_condition}
    if not baseline_condition:
        baseline = {cell for cell in known if cell.lower() in ("", INITIAL)}
    if not baseline and len(known) > 1:
        raise ManifestError(
            f"{place}: specify the condition of the baseline images with --baseline-condition; "
            f"conditions are: {', '.join(known)}"
        )
    return [NO_CONDITION if cell in (baseline or known) else (CONDITION, cell) for cell in cells]


def split_names(names: Names) -> tuple[str, ...]:
    """Return the names in a comma-separated text or a sequence, without blank names."""
    parts = names.split(",") if isinstance(names, str) else names
    return tuple(part.strip() for part in parts if part.strip())


def parse_pairs(text: Pairs) -> dict[str, tuple[str, ...]]:
    """Return the values of each key in "key=value, key=value" or in a mapping.

    Raises
    ------
    ManifestError
        If a part has no "=".
    """
    if isinstance(text, Mapping):
        return {
            key: (values,) if isinstance(values, str) else tuple(values)
            for key, values in text.items()
        }
    pairs: dict[str, tuple[str, ...]] = {}
    for part in split_names(text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise ManifestError(f"{part!r} must have the form KEY=VALUE")
        pairs[key] = (*pairs.get(key, ()), value)
    return pairs


def single_values(values: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a mapping in which each tuple of values is replaced by its only value.

    Raises
    ------
    ManifestError
        If a key does not have exactly one value.
    """
    repeated = [
        f"{key} ({', '.join(of_key)})" for key, of_key in values.items() if len(of_key) != 1
    ]
    if repeated:
        raise ManifestError(f"give one value for each of: {shorten(repeated)}")
    return {key: of_key[0] for key, of_key in values.items()}


def label_columns(labels: Pairs) -> dict[str, tuple[str, ...]]:
    """Return the columns for each axis, from "axis=column, axis=column" or from a mapping.

    If an axis has more than one column, each column contains one rater's labels, as in
    "gender=rater1,rater2".

    Raises
    ------
    ManifestError
        If a column is listed twice for an axis.
    """
    if isinstance(labels, str) and "=" in labels:
        # a part without "=" continues the pair before it: gender=rater1,rater2
        axis = ""
        parts = []
        for part in split_names(labels):
            axis = part.partition("=")[0].strip() if "=" in part else axis
            parts.append(part if "=" in part or not axis else f"{axis}={part}")
        labels = ",".join(parts)
    columns = parse_pairs(labels)
    for axis, names in columns.items():
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise ManifestError(
                f"--label {axis}={','.join(names)} names the column {shorten(repeated)} twice. "
                "Name a column for each rater"
            )
    return columns


def shorten(items: Sequence[str]) -> str:
    """Return text that lists the first five items and states how many more there are."""
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more
