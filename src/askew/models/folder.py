"""Pictures that exist already, in the place of a model: a folder with a CSV manifest, a picture per
row, or without.

Without one, the first level of sub-folders names the prompts and the second the conditions;
pictures directly in the folder belong to one prompt named after it.
"""

import csv
import hashlib
import io
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from askew.errors import ManifestError, UnknownName
from askew.models.base import FiledPicture
from askew.prompts.axes import AXES
from askew.store.files import digest_of, read_text, shown
from askew.types import grouped

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
Condition = tuple[str | None, str | None]
"""Axis and value of a picture's set, both None for the initial one."""
NO_CONDITION: Condition = (None, None)


class FolderCollection:
    """Pictures of a folder, what they were made for, and what a person wrote about them.

    `warnings` holds what a user should know but need not stop for. `revision` changes with any byte
    of any picture and with any prompt or condition, not with the labels. Files that are listed but
    absent are among the pictures: whoever imports them counts them as missing.
    """

    def __init__(
        self, name: str, pictures: Sequence[FiledPicture], warnings: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.warnings = tuple(warnings)
        self._pictures = tuple(pictures)

    def pictures(self) -> tuple[FiledPicture, ...]:
        """All pictures, in the order of the manifest, or of their paths."""
        return self._pictures

    @cached_property
    def digests(self) -> Mapping[Path, str]:
        """SHA-256 of every picture file that can be read, which is the `id` of its
        `askew.types.Picture`.
        """
        found: dict[Path, str] = {}
        for picture in self._pictures:
            with suppress(OSError), picture.path.open("rb") as stream:
                found[picture.path] = hashlib.file_digest(stream, "sha256").hexdigest()
        return found

    @cached_property
    def revision(self) -> str:
        """SHA-256 over files, prompts and conditions, in order; the same wherever the folder lies."""
        return digest_of(
            [(self.digests.get(p.path), p.prompt, p.axis, p.value) for p in self._pictures]
        )


def create(
    name: str,
    *,
    manifest: str = "",
    file: str = "file",
    prompt_column: Names = "",
    condition: str = "",
    baseline_condition: str | int = "",
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
    baseline_condition  the condition of the baseline images; by default an empty cell, "initial", or the only one
    label          AXIS=COLUMN, … : what a person saw; by default the columns named like an axis of the catalogue
    where          COLUMN=VALUE, … : rows to use; a column named twice lets either value through
    strict         stop if a file of the manifest is absent; otherwise it counts as missing, and a warning says so
    allow_outside  read files that lie neither below the folder nor below the manifest's, as links may lead to

    Raises ManifestError for a manifest or folder that cannot be used as it is.
    """
    folder, table = _locate(Path(name), manifest)
    if table is None:
        pictures = _from_folders(folder, str(baseline_condition), allow_outside)
        warnings = list[str]()
    else:
        prompts = [
            table.require(column, "prompt_column")
            for column in split_names(prompt_column) or ("prompt",)
        ]
        taken = {file, *prompts, condition or CONDITION, "axis", "value"}
        labels = single_values(parse_pairs(label)) or {
            axis: axis for axis in AXES if axis in set(table.columns) - taken
        }
        seen = {axis: table.require(column, "label") for axis, column in labels.items()}
        if condition:
            table.require(condition, "condition")
        files, warnings = _files(folder, table, table.require(file, "file"), allow_outside)
        chosen = table.where(parse_pairs(where))
        warnings += _absent(folder, table.path, [files[line] for line in chosen.rows], strict)
        for column in prompts:
            empty = [str(line) for line, row in chosen.rows.items() if not row[column]]
            if empty:
                raise ManifestError(
                    f"manifest {table.path}: no prompt in column {column!r} on line {shorten(empty)}"
                )
        sets = _conditions_of(chosen, condition, str(baseline_condition))
        pictures = [
            FiledPicture(
                files[line],
                JOINT.join(row[c] for c in prompts),
                axis,
                value,
                {a: row[c] for a, c in seen.items()},
            )
            for (line, row), (axis, value) in zip(chosen.rows.items(), sets, strict=True)
        ]
        left = set(_picture_files(folder)) - set(files.values())
        if left:
            warnings.append(
                f"{len(left)} pictures in {folder} are not in the manifest {table.path.name}"
            )
    complete = {one.prompt for one in pictures if one.axis is None}
    lacking = sorted({one.prompt for one in pictures} - complete)
    if lacking:
        warnings.append(f"no picture in the initial condition for: {shorten(lacking)}")
    return FolderCollection(f"folder/{name}", pictures, warnings)


def split_names(names: Names) -> tuple[str, ...]:
    """The names in a comma-separated text, or in a sequence."""
    parts = names.split(",") if isinstance(names, str) else names
    return tuple(part.strip() for part in parts if part.strip())


def parse_pairs(text: Pairs) -> dict[str, tuple[str, ...]]:
    """The values by key in "key=value, key=value", or in a mapping. ManifestError for a part
    without "=".
    """
    if isinstance(text, Mapping):
        return {
            key: (values,) if isinstance(values, str) else tuple(values)
            for key, values in text.items()
        }
    found: dict[str, tuple[str, ...]] = {}
    for part in split_names(text):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise ManifestError(f"{part!r} should read KEY=VALUE")
        found[key] = (*found.get(key, ()), value)
    return found


def single_values(values: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The one value of every key. ManifestError for a key with several."""
    several = [f"{key} ({', '.join(found)})" for key, found in values.items() if len(found) != 1]
    if several:
        raise ManifestError(f"one value each is wanted, unlike {shorten(several)}")
    return {key: found for key, (found,) in values.items()}


def _locate(path: Path, manifest: str) -> "tuple[Path, Manifest | None]":
    if path.is_file() and path.suffix.lower() in SUFFIXES:
        raise ManifestError(f"{path} is a picture: name the folder that holds it, or a manifest")
    if path.is_file():
        return path.resolve().parent, read_manifest(path)
    if not path.is_dir():
        raise ManifestError(f"there is no folder {path}")
    folder = path.resolve()
    if manifest == NO_MANIFEST:
        return folder, None
    if manifest:
        inside = folder / manifest
        return folder, read_manifest(
            inside if inside.is_file() and not Path(manifest).is_file() else Path(manifest)
        )
    found = sorted(folder.glob("*.csv"))
    chosen = [file for file in found if file.name == "manifest.csv"] or found
    if len(chosen) > 1:
        names = ", ".join(file.name for file in chosen)
        raise ManifestError(
            f"{path} holds several CSV files ({names}); name one as the manifest, or {NO_MANIFEST!r}"
        )
    return folder, read_manifest(chosen[0]) if chosen else None


def _files(
    folder: Path, manifest: "Manifest", column: str, outside: bool
) -> tuple[dict[int, Path], list[str]]:
    """By line the file of every picture: from the folder, else from the manifest, else with the
    folder as the root.

    With a warning of paths that were read so. Raises ManifestError for one that leads below
    neither, also by links, unless what lies `outside` is allowed, and for a file that is named
    twice.
    """
    bases = (folder, manifest.path.resolve().parent)
    files = dict[int, Path]()
    moved = 0
    for line, row in manifest.rows.items():
        cell = row[column].replace("\\", "/")
        if not cell or "\0" in cell:
            raise ManifestError(
                f"manifest {manifest.path}, line {line}: no file in column {column!r}"
            )
        places = [
            Path(os.path.realpath(at))
            for at in (*(base / cell for base in bases), folder / cell.lstrip("/"))
        ]
        there = [path for path in places if os.path.isfile(path)]
        allowed = [
            path for path in there or places[-1:] if outside or any(map(path.is_relative_to, bases))
        ]
        if not allowed:
            where = f"manifest {manifest.path}, line {line}"
            raise ManifestError(
                f"{where}: {cell!r} leads out of {folder}; --allow-outside lets it be read"
            )
        files[line] = allowed[0]
        moved += cell.startswith("/") and bool(there) and str(allowed[0]) != os.path.realpath(cell)
    lines = grouped(files, lambda line: files[line])
    twice = [
        f"{path.name} (lines {', '.join(map(str, some))})"
        for path, some in lines.items()
        if len(some) > 1
    ]
    if twice:
        raise ManifestError(
            f"manifest {manifest.path} names a file more than once: {shorten(twice)}"
        )
    which = f"{moved} {'path' if moved == 1 else 'paths'} in the manifest {manifest.path.name}"
    return files, [f'{which} begin with "/" and were read below {folder}'] if moved else []


def _absent(folder: Path, manifest: Path, files: Sequence[Path], strict: bool) -> list[str]:
    """A warning of files that are not there. Raises ManifestError if none is, or if `strict`ly all
    should be.
    """
    absent = [file for file in files if not os.path.isfile(file)]
    if not absent:
        return []
    count = f"{len(absent)} of {len(files)} files"
    names = shorten(
        [
            shown(file.relative_to(folder) if file.is_relative_to(folder) else file)
            for file in absent
        ]
    )
    if strict or len(absent) == len(files):
        hint = (
            f". Their paths should lead to them from {folder}" if len(absent) == len(files) else ""
        )
        raise ManifestError(f"manifest {manifest}: {count} are absent: {names}{hint}")
    return [
        f"{count} that the manifest {manifest.name} names are absent, and count as missing (absent_file): {names}"
    ]


def _from_folders(folder: Path, baseline_condition: str, outside: bool) -> list[FiledPicture]:
    files = _picture_files(folder)
    away = [
        str(file) for file in files if not outside and not file.resolve().is_relative_to(folder)
    ]
    if away:
        raise ManifestError(
            f"links lead out of {folder}: {shorten(away)}; --allow-outside lets them be read"
        )
    if not files:
        raise ManifestError(f"{folder} holds no picture ({', '.join(SUFFIXES)})")
    places = [file.relative_to(folder).parts[:-1] for file in files]
    deep = [str(file) for file, place in zip(files, places, strict=True) if len(place) > 2]
    if deep:
        fault = "is deeper than PROMPT/CONDITION/picture, so that a manifest is needed"
        raise ManifestError(f"{folder} {fault}: {shorten(deep)}")
    sets = conditions(
        [place[1] if len(place) == 2 else "" for place in places],
        baseline_condition,
        f"sub-folders of {folder}",
    )
    return [
        FiledPicture(file, place[0] if place else folder.name, axis, value, {})
        for file, place, (axis, value) in zip(files, places, sets, strict=True)
    ]


def _picture_files(folder: Path) -> list[Path]:
    """Picture files at any depth, hidden ones left out, sorted by their path."""
    found = (
        path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file()
    )
    visible = (
        path
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    return sorted(visible, key=lambda path: path.relative_to(folder).parts)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as written: its file, its columns, and by the line on which a row ends its cells,
    stripped.
    """

    path: Path
    columns: tuple[str, ...]
    rows: Mapping[int, Mapping[str, str]]

    def require(self, column: str, setting: str) -> str:
        """`column` if the manifest has it; otherwise ManifestError with the nearest, all, and the
        setting to change.
        """
        if column not in self.columns:
            unknown = UnknownName("column", column, self.columns)
            raise ManifestError(
                f"manifest {self.path}, line 1: {unknown} Say which to read with {setting}=…"
            )
        return column

    def where(self, wanted: Mapping[str, Sequence[str]]) -> "Manifest":
        """The rows in which every named column holds one of its wanted values. Raises ManifestError
        for an unknown column, a value that the column never holds, or no row left.
        """
        for column, values in wanted.items():
            known = sorted({row[self.require(column, "where")] for row in self.rows.values()})
            strange = [value for value in values if value not in known]
            if strange:
                unknown = UnknownName("value", strange[0], known)
                raise ManifestError(f"manifest {self.path}, column {column!r}: {unknown}")
        rows = {
            line: row
            for line, row in self.rows.items()
            if all(row[c] in some for c, some in wanted.items())
        }
        if not rows:
            words = ", ".join(
                f"{column}={' or '.join(values)}" for column, values in wanted.items()
            )
            raise ManifestError(f"manifest {self.path}: no row fits the filter {words}")
        return Manifest(self.path, self.columns, rows)


def _conditions_of(manifest: Manifest, column: str, baseline_condition: str) -> list[Condition]:
    """The condition of every row. Raises ManifestError where the initial one is unclear."""
    both = not column and {"axis", "value"} <= set(manifest.columns)
    if not column and not both and CONDITION in manifest.columns:
        column = CONDITION
    if not column and baseline_condition:
        raise ManifestError(
            f"manifest {manifest.path}: baseline_condition={baseline_condition!r} needs the column of the condition"
        )
    if column:
        cells = [row[manifest.require(column, "condition")] for row in manifest.rows.values()]
        return conditions(cells, baseline_condition, f"manifest {manifest.path}, column {column!r}")
    found: list[Condition] = []
    for line, row in manifest.rows.items():
        axis, value = (row["axis"], row["value"]) if both else ("", "")
        if bool(axis) != bool(value) and (value or axis.lower() != INITIAL):
            place = f"manifest {manifest.path}, line {line}"
            raise ManifestError(
                f"{place}: 'axis' and 'value' are either both empty (the initial set) or both filled"
            )
        found.append((axis, value) if value else NO_CONDITION)
    return found


def conditions(cells: Sequence[str], baseline_condition: str, place: str) -> list[Condition]:
    """Conditions as written, the initial one told apart: `baseline_condition`, else an empty one or "initial",
    else the only one. Raises ManifestError, naming `place` and the conditions, if that leaves none.
    """
    known = sorted(set(cells))
    if baseline_condition and baseline_condition not in known:
        raise ManifestError(
            f"{place}: {UnknownName('initial condition', baseline_condition, known)}"
        )
    first = (
        {baseline_condition}
        if baseline_condition
        else {cell for cell in known if cell.lower() in ("", INITIAL)}
    )
    if not first and len(known) > 1:
        raise ManifestError(
            f"{place}: name the condition of the baseline images with baseline_condition=…: {', '.join(known)}"
        )
    return [NO_CONDITION if cell in (first or known) else (CONDITION, cell) for cell in cells]


def read_manifest(path: Path) -> Manifest:
    """The manifest in a CSV file with a header line: UTF-8, separated by commas, semicolons or
    tabs.

    Blank lines are skipped. Raises ManifestError naming the file and the line for a file that
    cannot be read, is not UTF-8, has no rows, repeats or lacks a column name, or has rows of
    another length than the header.
    """
    text = read_text(path, "the manifest", ManifestError)
    separator = max(DELIMITERS, key=text.lstrip().partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        found = [
            (reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)
        ]
    except csv.Error as error:
        raise ManifestError(
            f"manifest {path}, line {reader.line_num}: not valid CSV ({error})"
        ) from error
    (_, header), *records = found or [(1, [])]
    columns = tuple(cell.strip() for cell in header)
    unnamed = [str(place) for place, name in enumerate(columns, 1) if not name]
    if unnamed:
        raise ManifestError(f"manifest {path}, line 1: no name for column {shorten(unnamed)}")
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise ManifestError(
            f"manifest {path}, line 1: more than one column is named {shorten(twice)}"
        )
    if not records:
        raise ManifestError(
            f"manifest {path} has no rows" + (" below its header" if columns else "")
        )
    faults = [
        f"line {line} has {len(cells)}" for line, cells in records if len(cells) != len(columns)
    ]
    if faults:
        raise ManifestError(
            f"manifest {path}: the header has {len(columns)} columns, but {shorten(faults)}"
        )
    rows = {line: dict(zip(columns, map(str.strip, cells), strict=True)) for line, cells in records}
    return Manifest(path, columns, rows)


def shorten(items: Sequence[str]) -> str:
    """The first five items, and how many more there are."""
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more
