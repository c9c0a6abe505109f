"""Pictures that exist already, in the place of a model: a folder with a CSV manifest, or with a folder per prompt.

With a manifest, every row is a picture: a column gives its file, one or more give the prompt (or what stands for
it, such as model and occupation), and optionally one gives the condition, or two the axis and the value.
Without one, the first level of sub-folders names the prompts and the second the conditions; pictures that lie
directly in the folder belong to one prompt named after it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from askew.errors import ManifestError, UnknownName
from askew.models.base import FiledPicture
from askew.prompts.axes import AXES
from askew.prompts.given import read_text
from askew.store.files import shown

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
NO_MANIFEST = "none"
SHOWN = 5
DELIMITERS = ",;\t"
CONDITION = "condition"
"""Column of the condition, and name of the axis that conditions stand on."""
INITIAL = "initial"
JOINT = ": "

Names = str | Sequence[str]
Pairs = str | Mapping[str, Names]
Condition = tuple[str, str] | None
"""Axis and value of a picture's set; None for the initial set."""


class FolderCollection:
    """Pictures of a folder, what they were made for, and what a person wrote about them.

    `warnings` holds what a user should know but need not stop for. `revision` changes with any byte of any
    picture and with any prompt or condition, not with the labels. Files that are listed but absent are among the
    pictures: whoever imports them counts them as missing.
    """

    def __init__(self, name: str, pictures: Sequence[FiledPicture], warnings: Sequence[str] = ()) -> None:
        self.name = name
        self.warnings = tuple(warnings)
        self._pictures = tuple(pictures)

    def pictures(self) -> tuple[FiledPicture, ...]:
        """All pictures, in the order of the manifest, or of their paths."""
        return self._pictures

    @cached_property
    def digests(self) -> Mapping[Path, str]:
        """SHA-256 of every picture file that can be read, which is the `id` of its `askew.types.Picture`."""
        found: dict[Path, str] = {}
        for picture in self._pictures:
            with suppress(OSError), picture.path.open("rb") as stream:
                found[picture.path] = hashlib.file_digest(stream, "sha256").hexdigest()
        return found

    @cached_property
    def revision(self) -> str:
        """SHA-256 over files, prompts and conditions, in order; the same wherever the folder lies."""
        content = [(self.digests.get(p.path), p.prompt, p.axis, p.value) for p in self._pictures]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def create(
    name: str,
    *,
    manifest: str = "",
    file: str = "file",
    prompt_column: Names = "",
    condition: str = "",
    initial: str | int = "",
    label: Pairs = "",
    where: Pairs = "",
    strict: bool = False,
    allow_outside: bool = False,
) -> FolderCollection:
    """The collection of the pictures in the folder `name`, or in the folder of the CSV file `name`.

    manifest       CSV file; empty for `manifest.csv` or the only CSV file directly in the folder, "none" to read
                   the sub-folders instead
    file           column of the picture's path, relative to the folder or to the manifest
    prompt_column  column of the prompt, or several (joined by ": "); by default `prompt`
    condition      column of the condition; by default `axis` and `value` if both exist, else `condition` if it does
    initial        the condition of the initial set; by default an empty cell, "initial", or the only one there is
    label          AXIS=COLUMN, … : what a person saw; by default the columns named like an axis of the catalogue
    where          COLUMN=VALUE, … : rows to use; a column named twice lets either value through
    strict         stop if a file of the manifest is absent; otherwise it counts as missing, and a warning says so
    allow_outside  read files that lie neither below the folder nor below the manifest's, as links may lead to

    Raises ManifestError for a manifest or folder that cannot be used as it is.
    """
    folder, table = _locate(Path(name), manifest)
    warnings: list[str] = []
    if table is None:
        pictures = _from_folders(folder, str(initial), allow_outside)
    else:
        columns = Columns.of(table, file, split(prompt_column), condition, single(pairs(label)))
        pictures, warnings = _from_manifest(folder, table, columns, str(initial), pairs(where), strict, allow_outside)
    prompts, complete = ({one.prompt for one in pictures if whole or one.axis is None} for whole in (True, False))
    if lacking := sorted(prompts - complete):
        warnings.append(f"no picture in the initial condition for: {shorten(lacking)}")
    return FolderCollection(f"folder/{name}", pictures, warnings)


def split(names: Names) -> tuple[str, ...]:
    """The names in a comma-separated text, or in a sequence."""
    parts = names.split(",") if isinstance(names, str) else names
    return tuple(part.strip() for part in parts if part.strip())


def pairs(text: Pairs) -> dict[str, tuple[str, ...]]:
    """The values by key in "key=value, key=value", or in a mapping. ManifestError for a part without "="."""
    if isinstance(text, Mapping):
        return {key: (values,) if isinstance(values, str) else tuple(values) for key, values in text.items()}
    found: dict[str, tuple[str, ...]] = {}
    for part in split(text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise ManifestError(f"{part!r} should read KEY=VALUE")
        found[key] = (*found.get(key, ()), value)
    return found


def single(values: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The one value of every key. ManifestError for a key with several."""
    several = [f"{key} ({', '.join(found)})" for key, found in values.items() if len(found) != 1]
    if several:
        raise ManifestError(f"one value each is wanted, unlike {shorten(several)}")
    return {key: found for key, (found,) in values.items()}


def _locate(path: Path, manifest: str) -> tuple[Path, Manifest | None]:
    if path.is_file():
        return path.resolve().parent, read_manifest(path)
    if not path.is_dir():
        raise ManifestError(f"there is no folder {path}")
    folder = path.resolve()
    if manifest == NO_MANIFEST:
        return folder, None
    if manifest:
        inside = folder / manifest
        return folder, read_manifest(inside if inside.is_file() and not Path(manifest).is_file() else Path(manifest))
    found = sorted(folder.glob("*.csv"))
    chosen = [file for file in found if file.name == "manifest.csv"] or found
    if len(chosen) > 1:
        names = ", ".join(file.name for file in chosen)
        raise ManifestError(f"{path} holds several CSV files ({names}); name one as the manifest, or {NO_MANIFEST!r}")
    return folder, read_manifest(chosen[0]) if chosen else None


def _from_manifest(
    folder: Path, manifest: Manifest, columns: Columns, initial: str, where: Mapping[str, Sequence[str]], strict: bool,
    outside: bool,
) -> tuple[list[FiledPicture], list[str]]:  # fmt: skip
    place, bases = f"manifest {manifest.path}", (folder, manifest.path.resolve().parent)
    files: dict[int, Path] = {}
    moved: set[int] = set()
    for row in manifest.rows:
        cell = row.cells[columns.file].replace("\\", "/")
        if not cell or "\0" in cell:
            raise ManifestError(f"{place}, line {row.line}: no file in column {columns.file!r}")
        files[row.line] = _led_to(cell, bases, outside, f"{place}, line {row.line}")
        if cell.startswith("/") and str(files[row.line]) != os.path.realpath(cell) and os.path.isfile(files[row.line]):
            moved.add(row.line)
    lines = defaultdict(list)
    for line, path in files.items():
        lines[path].append(str(line))
    if twice := [f"{path.name} (lines {', '.join(some)})" for path, some in lines.items() if len(some) > 1]:
        raise ManifestError(f"{place} names a file more than once: {shorten(twice)}")
    chosen = manifest.where(where)
    warnings = _absent(folder, manifest, [files[row.line] for row in chosen.rows], strict)
    if moved:
        which = f"{len(moved)} {'path' if len(moved) == 1 else 'paths'} in the manifest {manifest.path.name}"
        warnings = [f'{which} begin with "/" and were read below {folder}', *warnings]
    for column in columns.prompt:
        if empty := [str(row.line) for row in chosen.rows if not row.cells[column]]:
            raise ManifestError(f"{place}: no prompt in column {column!r} on line {shorten(empty)}")
    pictures = []
    for row, condition in zip(chosen.rows, columns.conditions(chosen, initial), strict=True):
        prompt = JOINT.join(row.cells[column] for column in columns.prompt)
        labels = {axis: row.cells[column] for axis, column in columns.labels.items()}
        axis, value = condition or (None, None)
        pictures.append(FiledPicture(files[row.line], prompt, axis, value, labels))
    left = set(_picture_files(folder)) - set(files.values())
    unnamed = [f"{len(left)} pictures in {folder} are not in the manifest {manifest.path.name}"] if left else []
    return pictures, warnings + unnamed


def _led_to(cell: str, bases: tuple[Path, Path], outside: bool, place: str) -> Path:
    """Where a path leads: from the folder, else from the manifest, else from the folder in the place of the root.

    Raises ManifestError for one that leads below neither, also by links, unless what lies `outside` is allowed.
    """
    places = [Path(os.path.realpath(path)) for path in (bases[0] / cell, bases[1] / cell, bases[0] / cell.lstrip("/"))]
    there = [path for path in places if os.path.isfile(path)]
    allowed = [path for path in there or [places[-1]] if outside or any(path.is_relative_to(base) for base in bases)]
    if not allowed:
        raise ManifestError(f"{place}: {cell!r} leads out of {bases[0]}; --allow-outside lets it be read")
    return allowed[0]


def _absent(folder: Path, manifest: Manifest, files: Sequence[Path], strict: bool) -> list[str]:
    """A warning of files that are not there. Raises ManifestError if none is, or if `strict`ly all should be."""
    absent = [file for file in files if not os.path.isfile(file)]
    if not absent:
        return []
    count = f"{len(absent)} of {len(files)} files"
    names = shorten([shown(file.relative_to(folder) if file.is_relative_to(folder) else file) for file in absent])
    if strict or len(absent) == len(files):
        hint = f". Their paths should lead to them from {folder}" if len(absent) == len(files) else ""
        raise ManifestError(f"manifest {manifest.path}: {count} are absent: {names}{hint}")
    return [
        f"{count} that the manifest {manifest.path.name} names are absent, and count as missing (absent_file): {names}"
    ]


def _from_folders(folder: Path, initial: str, outside: bool) -> list[FiledPicture]:
    files = _picture_files(folder)
    if away := [str(file) for file in files if not outside and not file.resolve().is_relative_to(folder)]:
        raise ManifestError(f"links lead out of {folder}: {shorten(away)}; --allow-outside lets them be read")
    if not files:
        raise ManifestError(f"{folder} holds no picture ({', '.join(SUFFIXES)})")
    places = [file.relative_to(folder).parts[:-1] for file in files]
    if deep := [str(file) for file, place in zip(files, places, strict=True) if len(place) > 2]:
        raise ManifestError(
            f"{folder} is deeper than PROMPT/CONDITION/picture, so that a manifest is needed: {shorten(deep)}"
        )
    sets = conditions([place[1] if len(place) == 2 else "" for place in places], initial, f"sub-folders of {folder}")
    return [
        FiledPicture(file, place[0] if place else folder.name, axis, value, {})
        for file, place, condition in zip(files, places, sets, strict=True)
        for axis, value in [condition or (None, None)]
    ]


def _picture_files(folder: Path) -> list[Path]:
    """Picture files at any depth, hidden ones left out, sorted by their path."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    visible = (path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))
    return sorted(visible, key=lambda path: path.relative_to(folder).parts)


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
            found: list[Condition] = []
            for row in manifest.rows:
                axis, value = row.cells[a], row.cells[v]
                if bool(axis) != bool(value) and (value or axis.lower() != INITIAL):
                    raise ManifestError(
                        f"manifest {manifest.path}, line {row.line}: {a!r} and {v!r} are either both empty (the "
                        f"initial set) or both filled"
                    )
                found.append((axis, value) if value else None)
            return found
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
