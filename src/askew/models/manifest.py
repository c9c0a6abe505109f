"""The CSV manifest of a collection of pictures: what it says, and which column means what."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from askew.errors import ManifestError, UnknownName
from askew.prompts.axes import AXES
from askew.prompts.given import read_text

SHOWN = 5
DELIMITERS = ",;\t"
CONDITION = "condition"
"""Column of the condition, and name of the axis that conditions stand on."""
INITIAL = "initial"
JOINT = ": "

Condition = tuple[str, str] | None
"""Axis and value of a picture's set; None for the initial set."""


@dataclass(frozen=True, slots=True)
class Row:
    """One picture's row: the line on which it ends in the file, and its cells by column, without outer white space."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as written: its file, its columns in order, its rows in order."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def require(self, column: str, setting: str) -> str:
        """`column` if the manifest has it; otherwise ManifestError with the nearest, all, and the setting to change."""
        if column not in self.columns:
            unknown = UnknownName("column", column, self.columns)
            raise ManifestError(f"manifest {self.path}, line 1: {unknown} Say which to read with {setting}=…")
        return column

    def where(self, conditions: Mapping[str, Sequence[str]]) -> Manifest:
        """The rows in which every named column holds one of its wanted values.

        Raises ManifestError for an unknown column, a value that the column never holds, or no row left.
        """
        for column, wanted in conditions.items():
            known = sorted({row.cells[self.require(column, "where")] for row in self.rows})
            if strange := [value for value in wanted if value not in known]:
                unknown = UnknownName("value", strange[0], known)
                raise ManifestError(f"manifest {self.path}, column {column!r}: {unknown}")
        rows = tuple(row for row in self.rows if all(row.cells[c] in wanted for c, wanted in conditions.items()))
        if not rows:
            words = ", ".join(f"{column}={' or '.join(wanted)}" for column, wanted in conditions.items())
            raise ManifestError(f"manifest {self.path}: no row fits the filter {words}")
        return Manifest(self.path, self.columns, rows)


@dataclass(frozen=True, slots=True)
class Columns:
    """The manifest's column, or columns, for each thing that a picture has. `labels` goes from axis to column."""

    file: str
    prompt: tuple[str, ...]
    condition: str | None
    axis_and_value: tuple[str, str] | None
    labels: Mapping[str, str]

    @classmethod
    def of(
        cls, manifest: Manifest, file: str, prompt: Sequence[str], condition: str, labels: Mapping[str, str]
    ) -> Columns:
        """The columns named, or else the usual ones. Raises ManifestError for a column that the manifest lacks."""
        both = not condition and {"axis", "value"} <= set(manifest.columns)
        if not condition and not both and CONDITION in manifest.columns:
            condition = CONDITION
        prompts = tuple(manifest.require(column, "prompt_column") for column in prompt or ("prompt",))
        taken = {file, *prompts, condition or CONDITION, "axis", "value"}
        usual = {axis: axis for axis in AXES if axis in set(manifest.columns) - taken}
        return cls(
            manifest.require(file, "file"),
            prompts,
            manifest.require(condition, "condition") if condition else None,
            ("axis", "value") if both else None,
            {axis: manifest.require(column, "label") for axis, column in (labels or usual).items()},
        )

    def conditions(self, manifest: Manifest, initial: str) -> list[Condition]:
        """The condition of every row. Raises ManifestError where the initial one is unclear."""
        if self.condition is None and initial:
            raise ManifestError(f"manifest {manifest.path}: initial={initial!r} needs the column of the condition")
        if self.axis_and_value is not None:
            a, v = self.axis_and_value
            pairs = [(row.line, row.cells[a], row.cells[v]) for row in manifest.rows]
            pairs = [
                (line, "" if axis.lower() == INITIAL and not value else axis, value) for line, axis, value in pairs
            ]
            for line, axis, value in pairs:
                if bool(axis) != bool(value):
                    raise ManifestError(
                        f"manifest {manifest.path}, line {line}: {a!r} and {v!r} are either both empty (the initial "
                        f"set) or both filled"
                    )
            return [(axis, value) if value else None for _, axis, value in pairs]
        if self.condition is None:
            return [None] * len(manifest.rows)
        cells = [row.cells[self.condition] for row in manifest.rows]
        return conditions(cells, initial, f"manifest {manifest.path}, column {self.condition!r}")


def conditions(cells: Sequence[str], initial: str, place: str) -> list[Condition]:
    """Conditions as written, the initial one told apart: `initial`, else an empty one or "initial", else the only one.

    Raises ManifestError, naming `place` and the conditions, if that leaves none.
    """
    known = sorted(set(cells))
    if initial and initial not in known:
        raise ManifestError(f"{place}: {UnknownName('initial condition', initial, known)}")
    first = {initial} if initial else {cell for cell in known if cell.lower() in ("", INITIAL)}
    if not first and len(known) > 1:
        raise ManifestError(f"{place}: say with initial=… which condition is the initial one: {', '.join(known)}")
    return [None if cell in (first or known) else (CONDITION, cell) for cell in cells]


def read_manifest(path: Path) -> Manifest:
    """The manifest in a CSV file with a header line: UTF-8, separated by commas, semicolons or tabs.

    Blank lines are skipped. Raises ManifestError naming the file and the line for a file that cannot be read,
    is not UTF-8, has no rows, repeats or lacks a column name, or has rows of another length than the header.
    """
    text = read_text(path, "manifest", ManifestError)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=max(DELIMITERS, key=text.lstrip().partition("\n")[0].count),
        strict=True,
    )
    try:
        found = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise ManifestError(f"manifest {path}, line {reader.line_num}: not valid CSV ({error})") from error
    header, *records = found or [(1, [])]
    columns = tuple(cell.strip() for cell in header[1])
    if unnamed := [str(place) for place, name in enumerate(columns, 1) if not name]:
        raise ManifestError(f"manifest {path}, line 1: no name for column {shorten(unnamed)}")
    if twice := [name for name, count in Counter(columns).items() if count > 1]:
        raise ManifestError(f"manifest {path}, line 1: more than one column is named {shorten(twice)}")
    if not records:
        raise ManifestError(f"manifest {path} has no rows" + (" below its header" if columns else ""))
    faults = [f"line {line} has {len(cells)}" for line, cells in records if len(cells) != len(columns)]
    if faults:
        raise ManifestError(f"manifest {path}: the header has {len(columns)} columns, but {shorten(faults)}")
    rows = tuple(Row(line, dict(zip(columns, map(str.strip, cells), strict=True))) for line, cells in records)
    return Manifest(path, columns, rows)


def shorten(items: Sequence[str]) -> str:
    """The first five items, and how many more there are."""
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more
