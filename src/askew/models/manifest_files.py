"""Find the image files that a manifest lists, and check rows that list the same file."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from askew.errors import ManifestError
from askew.models.base import FiledPicture
from askew.models.manifest import Manifest, shorten
from askew.store.files import shown
from askew.types import grouped

MOST_CONFLICTS = 100
"""Maximum number of files listed in an error message about contradictory rows."""

MOST_VALUES = 20
"""A column can identify a rater or a model if it has at most this many distinct values."""


def hub_blobs(folder: Path) -> Path | None:
    """Return the folder to which links in a Hugging Face cache lead; None outside a cache.

    Paths in a cache have the form NAME/snapshots/REVISION/file. The files in a cache are links to
    files in NAME/blobs.
    """
    for place in (folder, *folder.parents):
        blobs = place.parent.parent / "blobs"
        if place.parent.name == "snapshots" and blobs.is_dir() and not blobs.is_symlink():
            return blobs
    return None


def home_of(path: Path) -> Path:
    """Return the folder that contains a file, after following links.

    In a Hugging Face cache, return the folder that contains the link itself.
    """
    parent = path.absolute().parent.resolve()
    return parent if hub_blobs(parent) else path.resolve().parent


@dataclass(frozen=True)
class Places:
    """Folders from which a collection may read files.

    Attributes
    ----------
    folder
        Folder of the collection.
    manifest_folder
        Folder of the collection's manifest.
    outside
        True if the collection is also allowed to read files outside these folders.
    pictures
        Image files in the folder; askew searches these files by name.
    """

    folder: Path
    manifest_folder: Path
    outside: bool = False
    pictures: Sequence[Path] = field(default=(), repr=False)

    @cached_property
    def _blobs(self) -> Path | None:
        return hub_blobs(self.folder)

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[Path]]:
        return grouped(self.pictures, lambda path: path.name)

    def permitted(self, path: Path) -> Path | None:
        """Return a path with its links resolved; None if it leads out of the permitted folders.

        Links in a Hugging Face cache are not resolved, because their targets have no readable
        names.
        """
        target = self._target(str(path))
        if self._blobs is not None and target.startswith(_beginning_below(self._blobs)):
            link = os.path.abspath(path)
            return Path(link) if link.startswith(self._beginnings) else None
        if self.outside or target.startswith(self._beginnings):
            return path if target == str(path) else Path(target)
        return None

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        """Path prefixes of the files in the permitted folders."""
        return _beginning_below(self.folder), _beginning_below(self.manifest_folder)

    def _target(self, path: str) -> str:
        """Return a path with its links resolved.

        Links in the path of a folder are resolved only once.
        """
        parent, _, name = path.rpartition(os.sep)
        if not parent or name in ("", os.curdir, os.pardir) or os.path.islink(path):
            return os.path.realpath(path)
        if parent not in self._resolved:
            self._resolved[parent] = os.path.join(os.path.realpath(parent), "")
        return self._resolved[parent] + name

    @cached_property
    def _resolved(self) -> dict[str, str]:
        return {}

    def find(self, cell: str) -> Path | None:
        """Return the file for a cell; None if its path leads out of the permitted folders.

        A path is relative to the collection's folder or, if no file exists there, to the manifest's
        folder. If neither file exists, even a path that begins with "/" is taken relative to the
        collection's folder.
        """
        inside = cell.lstrip("/")
        is_absent = True
        for folder, name in (
            (self.folder, cell),
            (self.manifest_folder, cell),
            (self.folder, inside),
        ):
            path = folder / name
            if os.path.isfile(path):
                is_absent = False
                permitted = self.permitted(path)
                if permitted is not None:
                    return permitted
        return self.permitted(self.folder / inside) if is_absent else None

    def named(self, cell: str) -> Sequence[Path]:
        """Return the image files that best match the path in a cell.

        The files have the same name as the path in the cell. If several files have this name, only
        the files whose paths match the most trailing parts of the path in the cell are returned.
        """
        parts = cell.split("/")
        by_length = grouped(
            self._by_name.get(parts[-1], ()), lambda path: _common_ending(path.parts, parts)
        )
        return by_length[max(by_length)] if by_length else ()


def _beginning_below(folder: Path) -> str:
    """Return the prefix that the paths of all files in a folder share."""
    return os.path.join(folder, "")


def _common_ending(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the number of path parts that two paths share, counted from the end."""
    length = 0
    for a, b in zip(reversed(first), reversed(second), strict=False):
        if a != b:
            break
        length += 1
    return length


@dataclass(frozen=True, slots=True)
class FileSearch:
    """Files that a manifest lists, and warnings about their paths.

    Attributes
    ----------
    files
        Path of the file in each row, keyed by the row's line number. The file may not exist.
    warnings
        Sentences about the paths in the manifest.
    """

    files: Mapping[int, Path]
    warnings: Sequence[str]


def find_files(
    manifest: Manifest, column: str, places: Places, *, match_names: bool = False
) -> FileSearch:
    """Find the image file for each row of a manifest.

    Parameters
    ----------
    manifest
        Manifest that lists the files.
    column
        Column that contains the paths of the files.
    places
        Folders from which files may be read.
    match_names
        If true and no file exists at a path, the file with the same name in the collection's folder
        is used.

    Raises
    ------
    ManifestError
        If a row has no path, if a path leads out of the permitted folders (directly or through
        links), or if several files match a name.
    """
    files: dict[int, Path] = {}
    moved = 0
    matched = 0
    for line in manifest.rows:
        cell = cell_of(manifest, line, column)
        path = places.find(cell)
        if match_names and (path is None or not os.path.isfile(path)):
            named = _only_match(manifest, line, cell, places)
            matched += named is not None
            path = named or path
        elif path is not None:
            moved += _is_below_folder(cell, path)
        if path is None:
            raise ManifestError(_leads_out(manifest, line, cell, places))
        files[line] = path
    return FileSearch(files=files, warnings=_path_warnings(manifest, places, moved, matched))


def cell_of(manifest: Manifest, line: int, column: str) -> str:
    """Return the path in a row, with slashes as separators.

    Raises
    ------
    ManifestError
        If the row contains no path.
    """
    cell = manifest.rows[line][column].replace("\\", "/")
    if not cell or "\0" in cell:
        raise ManifestError(f"manifest {manifest.path}, line {line}: no file in column {column!r}")
    return cell


def _only_match(manifest: Manifest, line: int, cell: str, places: Places) -> Path | None:
    """Return the single file that matches a path by name; None if no file matches."""
    named = places.named(cell)
    if len(named) > 1:
        raise ManifestError(
            f"manifest {manifest.path}, line {line}: several files match {cell!r} by name: "
            f"{shorten([shown(path.relative_to(places.folder)) for path in named])}"
        )
    return named[0] if named else None


def _leads_out(manifest: Manifest, line: int, cell: str, places: Places) -> str:
    """Return the error message for a path that leads out of the permitted folders."""
    remedy = "use --allow-outside to read it"
    if len(places.named(cell)) == 1:
        remedy += ", or --match-names to read the file of this name in the folder"
    return f"manifest {manifest.path}, line {line}: {cell!r} leads out of {places.folder}; {remedy}"


def _is_below_folder(cell: str, path: Path) -> bool:
    """Check whether a path that begins with "/" was resolved in the folder instead of in "/"."""
    return cell.startswith("/") and os.path.isfile(path) and str(path) != os.path.realpath(cell)


def _path_warnings(manifest: Manifest, places: Places, moved: int, matched: int) -> list[str]:
    name = manifest.path.name
    warnings = []
    if moved:
        words = "paths" if moved > 1 else "path"
        verbs = 'begin with "/" and were' if moved > 1 else 'begins with "/" and was'
        warnings.append(
            f"{moved} {words} in the manifest {name} {verbs} read below {places.folder}"
        )
    if matched:
        words = "files of the manifest were" if matched > 1 else "file of the manifest was"
        warnings.append(f"{matched} {words} found in {places.folder} by name, not by path")
    return warnings


def absent_files(
    manifest: Manifest, column: str, files: Mapping[int, Path], places: Places, *, strict: bool
) -> list[str]:
    """Return a warning about missing files, if there are any.

    Raises
    ------
    ManifestError
        If all files are missing, or if `strict` is true and a file is missing.
    """
    absent = {line: file for line, file in files.items() if not os.path.isfile(file)}
    if not absent:
        return []
    folder = places.folder
    count = f"{len(absent)} of {len(files)} files"
    names = shorten([_shown_path(file, folder) for file in absent.values()])
    hint = _match_hint([cell_of(manifest, line, column) for line in absent], places)
    if len(absent) == len(files):
        remedy = hint or f". Their paths must be relative to {folder}"
        raise ManifestError(f"manifest {manifest.path}: {count} do not exist: {names}{remedy}")
    if strict:
        raise ManifestError(f"manifest {manifest.path}: {count} do not exist: {names}{hint}")
    return [
        f"{count} listed in the manifest {manifest.path.name} do not exist and count as missing "
        f"(absent_file): {names}{hint}"
    ]


def _match_hint(cells: Sequence[str], places: Places) -> str:
    """Return a sentence that suggests `--match-names` if each cell matches one file by name."""
    if any(len(places.named(cell)) != 1 for cell in cells):
        return ""
    return f". Files with these names exist in {places.folder}; use --match-names to read them"


def _shown_path(file: Path, folder: Path) -> str:
    """Return the path to show in messages, relative to the folder if the file is in this folder."""
    return shown(file.relative_to(folder) if file.is_relative_to(folder) else file)


def distinct_rows(
    manifest: Manifest, pictures: Mapping[int, FiledPicture], used: Collection[str]
) -> tuple[list[FiledPicture], list[str]]:
    """Return one image per file, and a warning if some rows repeat other rows.

    Parameters
    ----------
    manifest
        Manifest of the collection.
    pictures
        Image in each row, keyed by the row's line number.
    used
        Columns that contain the file, the prompt, the condition and the labels.

    Raises
    ------
    ManifestError
        If several rows for the same file differ in prompt, condition or label.
    """
    by_file = grouped(pictures, lambda line: pictures[line].path)
    repeated = [lines for lines in by_file.values() if len(lines) > 1]
    conflicts = [lines for lines in repeated if not _agree(pictures, lines)]
    if conflicts:
        free = [column for column in manifest.columns if column not in used]
        choice = _distinguishing(manifest, free, conflicts)
        raise ManifestError(_describe_conflicts(manifest, pictures, conflicts, choice))
    distinct = [pictures[lines[0]] for lines in by_file.values()]
    dropped = len(pictures) - len(distinct)
    if not dropped:
        return distinct, []
    names = [f"{pictures[lines[0]].path.name} (lines {_listed(lines)})" for lines in repeated]
    words = "rows repeat" if dropped > 1 else "row repeats"
    return distinct, [
        f"{dropped} {words} another row of the manifest {manifest.path.name} and were dropped: "
        f"{shorten(names)}"
    ]


def _agree(pictures: Mapping[int, FiledPicture], lines: Sequence[int]) -> bool:
    """Check whether all rows for a file have the same content."""
    return all(pictures[line] == pictures[lines[0]] for line in lines)


def _listed(lines: Sequence[int]) -> str:
    return ", ".join(map(str, lines))


def _describe_conflicts(
    manifest: Manifest,
    pictures: Mapping[int, FiledPicture],
    conflicts: Sequence[Sequence[int]],
    choice: str,
) -> str:
    """Return an error message, with a remedy, about files whose rows contradict each other."""
    sentences = [f"manifest {manifest.path} lists a file more than once, with different content:"]
    for lines in conflicts[:MOST_CONFLICTS]:
        differences = _differences([pictures[line] for line in lines])
        listed = ", ".join(differences)
        sentences.append(f"  {pictures[lines[0]].path.name} (lines {_listed(lines)}): {listed}")
    if len(conflicts) > MOST_CONFLICTS:
        sentences.append(f"  and {len(conflicts) - MOST_CONFLICTS} more files")
    remedy = f", for example with --where {choice}" if choice else ", or filter them with --where"
    sentences.append(f"Keep one row per file{remedy}.")
    return "\n".join(sentences)


def _differences(pictures: Sequence[FiledPicture]) -> list[str]:
    """Return the name and contents of each field in which the rows for one file differ."""
    contents = [_fields_of(picture) for picture in pictures]
    differences = []
    for name in contents[0]:
        texts = dict.fromkeys(repr(content[name]) for content in contents)
        if len(texts) > 1:
            differences.append(f"{name} {' and '.join(texts)}")
    return differences


def _fields_of(picture: FiledPicture) -> dict[str, str]:
    """Return an image's prompt, condition and labels, keyed by the names used in messages."""
    labels = {
        f"label of {axis}": ", ".join(of_axis) for axis, of_axis in picture.all_labels.items()
    }
    condition = " ".join(filter(None, (picture.axis, picture.value)))
    return {"prompt": picture.prompt, "condition": condition, **labels}


def _distinguishing(
    manifest: Manifest, columns: Sequence[str], conflicts: Sequence[Sequence[int]]
) -> str:
    """Return an example of a filter, COLUMN=VALUE, that selects one row for each file.

    The column must have few distinct values, and for every file in `conflicts`, its values must
    differ between the file's rows. Empty if there is no such column.
    """
    for column in columns:
        values = {row[column] for row in manifest.rows.values()} - {""}
        if not 1 < len(values) <= MOST_VALUES:
            continue
        if all(_tells_apart(manifest, column, lines) for lines in conflicts):
            return f"{column}={manifest.rows[conflicts[0][0]][column]}"
    return ""


def _tells_apart(manifest: Manifest, column: str, lines: Sequence[int]) -> bool:
    return len({manifest.rows[line][column] for line in lines} - {""}) == len(lines)
