"""Collections of existing images: a folder with a CSV manifest, or without.

A manifest has a row for each image. Without a manifest, the first level of sub-folders names the
prompts and the second the conditions. Images directly in the folder belong to one prompt, which is
named after the folder.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from askew.errors import ManifestError
from askew.models.base import FiledPicture
from askew.models.manifest import (
    CONDITION,
    Manifest,
    Names,
    Pairs,
    conditions,
    conditions_of,
    parse_pairs,
    read_manifest,
    shorten,
    single_values,
    split_names,
)
from askew.prompts.axes import AXES
from askew.store.files import digest_of, shown
from askew.types import grouped

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
NO_MANIFEST = "none"
JOINT = ": "
"""Text between the columns of which a prompt consists."""


class FolderCollection:
    """Images of a folder, with their prompts and with people's labels.

    Files that the manifest lists but that are absent are among the images. They count as missing
    when the collection is imported.

    Attributes
    ----------
    name
        Provider and path.
    warnings
        Sentences about the collection that users should read.
    """

    def __init__(
        self, name: str, pictures: Sequence[FiledPicture], warnings: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.warnings = tuple(warnings)
        self._pictures = tuple(pictures)

    def pictures(self) -> tuple[FiledPicture, ...]:
        """Return all images, in the order of the manifest, or of their paths."""
        return self._pictures

    @cached_property
    def digests(self) -> Mapping[Path, str]:
        """SHA-256 of every readable image file, which is the `id` of its `askew.types.Picture`."""
        digests: dict[Path, str] = {}
        for picture in self._pictures:
            with suppress(OSError), picture.path.open("rb") as stream:
                digests[picture.path] = hashlib.file_digest(stream, "sha256").hexdigest()
        return digests

    @cached_property
    def revision(self) -> str:
        """SHA-256 over files, prompts and conditions, in order, without paths and labels."""
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
    """Create the collection of the images in a folder, as the provider's entry point.

    Parameters
    ----------
    name
        A folder, or a CSV file, whose folder is then meant.
    manifest
        CSV file. If empty, `manifest.csv` or the only CSV file directly in the folder. With "none",
        sub-folders are read instead.
    file
        Column of the image's path, relative to the folder or to the manifest.
    prompt_column
        Column of the prompt, or several columns, which are joined by ": ". By default `prompt`.
    condition
        Column of the condition. By default `axis` and `value` if both exist, else `condition` if it
        exists.
    baseline_condition
        Condition of the baseline images. By default an empty cell, "initial", or the only one.
    label
        AXIS=COLUMN, … of people's labels. By default the columns named like an axis of the
        catalogue.
    where
        COLUMN=VALUE, … of the rows to use. Several values of a column are alternatives.
    strict
        If true, absent files are an error. If false, they count as missing, with a warning.
    allow_outside
        If true, files outside the folder and the manifest's folder are read, also through links.

    Raises
    ------
    ManifestError
        If the manifest or folder cannot be used as it is.
    """
    folder, table = _locate(Path(name), manifest)
    if table is None:
        pictures = _from_folders(folder, str(baseline_condition), allow_outside)
        warnings: list[str] = []
    else:
        prompt_columns = split_names(prompt_column) or ("prompt",)
        reserved = {file, *prompt_columns, condition or CONDITION, "axis", "value"}
        prompts = [table.require(column, "--prompt-column") for column in prompt_columns]
        labels = _label_columns(table, label, reserved)
        if condition:
            table.require(condition, "--condition")
        files, warnings = _files(folder, table, table.require(file, "--file-column"), allow_outside)
        rows = table.where(parse_pairs(where))
        warnings += _absent(folder, table.path, [files[line] for line in rows.rows], strict)
        _check_prompts(rows, prompts)
        sets = conditions_of(rows, condition, str(baseline_condition))
        pictures = []
        for (line, row), (axis, value) in zip(rows.rows.items(), sets, strict=True):
            picture = FiledPicture(
                path=files[line],
                prompt=JOINT.join(row[column] for column in prompts),
                axis=axis,
                value=value,
                labels={label_axis: row[column] for label_axis, column in labels.items()},
            )
            pictures.append(picture)
        unlisted = set(_picture_files(folder)) - set(files.values())
        if unlisted:
            warnings.append(
                f"{len(unlisted)} images in {folder} are not in the manifest {table.path.name}"
            )
    warnings += _without_baseline(pictures)
    return FolderCollection(f"folder/{name}", pictures, warnings)


def _label_columns(table: Manifest, label: Pairs, reserved: set[str]) -> dict[str, str]:
    """Return the column of people's labels for every labeled axis."""
    labels = single_values(parse_pairs(label))
    if not labels:
        free = set(table.columns) - reserved
        labels = {axis: axis for axis in AXES if axis in free}
    return {axis: table.require(column, "--label") for axis, column in labels.items()}


def _check_prompts(manifest: Manifest, columns: Sequence[str]) -> None:
    """Raise ManifestError for rows without a prompt."""
    for column in columns:
        empty = [str(line) for line, row in manifest.rows.items() if not row[column]]
        if empty:
            raise ManifestError(
                f"manifest {manifest.path}: no prompt in column {column!r} on line {shorten(empty)}"
            )


def _without_baseline(pictures: Sequence[FiledPicture]) -> list[str]:
    """Return a warning about prompts without baseline images, if there are any."""
    complete = {picture.prompt for picture in pictures if picture.axis is None}
    lacking = sorted({picture.prompt for picture in pictures} - complete)
    return [f"no baseline image for: {shorten(lacking)}"] if lacking else []


def _locate(path: Path, manifest: str) -> tuple[Path, Manifest | None]:
    """Return the folder of a collection and its manifest, if it has one."""
    if path.is_file() and path.suffix.lower() in SUFFIXES:
        raise ManifestError(f"{path} is an image; name the folder that contains it, or a manifest")
    if path.is_file():
        return path.resolve().parent, read_manifest(path)
    if not path.is_dir():
        raise ManifestError(f"there is no folder {path}")
    table = _choose_table(path, manifest)
    return path.resolve(), None if table is None else read_manifest(table)


def _choose_table(path: Path, manifest: str) -> Path | None:
    """Return the CSV file of a folder that is its manifest, or None if it has none."""
    folder = path.resolve()
    if manifest == NO_MANIFEST:
        return None
    if manifest:
        inside = folder / manifest
        is_inside = inside.is_file() and not Path(manifest).is_file()
        return inside if is_inside else Path(manifest)
    tables = sorted(folder.glob("*.csv"))
    candidates = [table for table in tables if table.name == "manifest.csv"] or tables
    if len(candidates) > 1:
        names = ", ".join(table.name for table in candidates)
        raise ManifestError(
            f"{path} contains several CSV files ({names}); choose one with --manifest, or use "
            f"--manifest {NO_MANIFEST}"
        )
    return candidates[0] if candidates else None


def _files(
    folder: Path, manifest: Manifest, column: str, outside: bool
) -> tuple[dict[int, Path], list[str]]:
    """Return the file of every image, by line, and a warning about paths that begin with "/".

    A path is relative to the folder or, if no such file exists, to the manifest's folder. If neither
    file exists, a path that begins with "/" is relative to the folder.
    Raises ManifestError for a path that leads out of both folders, also through links, unless
    `outside` is true, and for a file that is listed twice.
    """
    files: dict[int, Path] = {}
    moved = 0
    for line, row in manifest.rows.items():
        cell = row[column].replace("\\", "/")
        if not cell or "\0" in cell:
            raise ManifestError(
                f"manifest {manifest.path}, line {line}: no file in column {column!r}"
            )
        path = _find_file(folder, manifest, cell, outside)
        if path is None:
            raise ManifestError(
                f"manifest {manifest.path}, line {line}: {cell!r} leads out of {folder}; "
                "use --allow-outside to read it"
            )
        files[line] = path
        moved += _is_below_folder(cell, path)
    _check_unique(manifest, files)
    if not moved:
        return files, []
    name = manifest.path.name
    words = f'{moved} paths in the manifest {name} begin with "/" and were read below {folder}'
    if moved == 1:
        words = f'1 path in the manifest {name} begins with "/" and was read below {folder}'
    return files, [words]


def _find_file(folder: Path, manifest: Manifest, cell: str, outside: bool) -> Path | None:
    """Return the file that a cell means, or None if it leads out of the folders."""
    bases = (folder, manifest.path.resolve().parent)
    paths = [*(base / cell for base in bases), folder / cell.lstrip("/")]
    places = [Path(os.path.realpath(path)) for path in paths]
    existing = [path for path in places if os.path.isfile(path)]
    for path in existing or places[-1:]:
        if outside or any(map(path.is_relative_to, bases)):
            return path
    return None


def _is_below_folder(cell: str, path: Path) -> bool:
    """Check whether a path from the root means an existing file below the folder."""
    return cell.startswith("/") and os.path.isfile(path) and str(path) != os.path.realpath(cell)


def _check_unique(manifest: Manifest, files: Mapping[int, Path]) -> None:
    """Raise ManifestError for a file that is listed more than once."""
    repeated = []
    for path, lines in grouped(files, lambda line: files[line]).items():
        if len(lines) > 1:
            repeated.append(f"{path.name} (lines {', '.join(map(str, lines))})")
    if repeated:
        raise ManifestError(
            f"manifest {manifest.path} lists a file more than once: {shorten(repeated)}"
        )


def _absent(folder: Path, manifest: Path, files: Sequence[Path], strict: bool) -> list[str]:
    """Return a warning about absent files, if there are any.

    Raises ManifestError if all files are absent, or if any is and `strict` is true.
    """
    absent = [file for file in files if not os.path.isfile(file)]
    if not absent:
        return []
    count = f"{len(absent)} of {len(files)} files"
    names = shorten([_shown_path(file, folder) for file in absent])
    if len(absent) == len(files):
        raise ManifestError(
            f"manifest {manifest}: {count} are absent: {names}. Their paths must be relative to "
            f"{folder}"
        )
    if strict:
        raise ManifestError(f"manifest {manifest}: {count} are absent: {names}")
    return [
        f"{count} that the manifest {manifest.name} lists are absent and count as missing "
        f"(absent_file): {names}"
    ]


def _shown_path(file: Path, folder: Path) -> str:
    """Return a path for messages, relative to the folder where possible."""
    return shown(file.relative_to(folder) if file.is_relative_to(folder) else file)


def _from_folders(folder: Path, baseline_condition: str, outside: bool) -> list[FiledPicture]:
    """Return the images of a folder whose sub-folders name prompts and conditions."""
    files = _picture_files(folder)
    _check_links(files, folder, outside)
    if not files:
        raise ManifestError(f"{folder} contains no image ({', '.join(SUFFIXES)})")
    places = [file.relative_to(folder).parts[:-1] for file in files]
    deep = [str(file) for file, place in zip(files, places, strict=True) if len(place) > 2]
    if deep:
        raise ManifestError(
            f"{folder} is deeper than PROMPT/CONDITION/image, so that a manifest is needed: "
            f"{shorten(deep)}"
        )
    cells = [place[1] if len(place) == 2 else "" for place in places]
    sets = conditions(cells, baseline_condition, f"sub-folders of {folder}")
    return [
        FiledPicture(
            path=file,
            prompt=place[0] if place else folder.name,
            axis=axis,
            value=value,
            labels={},
        )
        for file, place, (axis, value) in zip(files, places, sets, strict=True)
    ]


def _check_links(files: Sequence[Path], folder: Path, outside: bool) -> None:
    """Raise ManifestError for links that lead out of the folder, unless that is allowed."""
    if outside:
        return
    leading_out = [str(file) for file in files if not file.resolve().is_relative_to(folder)]
    if leading_out:
        raise ManifestError(
            f"links lead out of {folder}: {shorten(leading_out)}; use --allow-outside to read them"
        )


def _picture_files(folder: Path) -> list[Path]:
    """Return the image files at any depth that are not hidden, sorted by their path."""
    files = []
    for path in folder.rglob("*"):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in SUFFIXES and path.is_file() and not is_hidden:
            files.append(path)
    return sorted(files, key=lambda path: path.relative_to(folder).parts)
