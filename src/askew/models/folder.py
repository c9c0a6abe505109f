"""Collections of existing images, read from a folder with or without a manifest.

A manifest has one row for each image. Without a manifest, the names of the first-level sub-folders
are the prompts, and the names of the second-level sub-folders are the conditions. Images directly
in the folder belong to a single prompt, named after the folder.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from askew.errors import ManifestError
from askew.models.base import FiledPicture
from askew.models.file_memory import file_memory, without_cycle_search
from askew.models.folder_contents import (
    SUFFIXES,
    FolderContents,
    contents_of,
    folders_of,
    other_formats,
    pooled_prompts,
    unused_descriptions,
    unused_tables,
)
from askew.models.manifest import (
    CONDITION,
    FILE_COLUMNS,
    Condition,
    Manifest,
    Names,
    Pairs,
    conditions,
    conditions_of,
    label_columns,
    parse_pairs,
    read_manifest,
    shorten,
    split_names,
)
from askew.models.manifest_files import (
    Places,
    absent_files,
    distinct_rows,
    find_files,
    home_of,
)
from askew.prompts.axes import AXES
from askew.store.files import digest_of

METADATA = "metadata.jsonl"
"""Name of the manifest in Hugging Face image folders."""

NO_MANIFEST = "none"
JOINT = ": "
"""Separator between the parts of a prompt that is read from several columns."""


class FolderCollection:
    """Images in a folder, with their prompts and with labels from people.

    The collection also contains images whose files are listed in the manifest but do not exist.
    askew counts these images as missing when it imports the collection.

    Attributes
    ----------
    name
        Provider and path.
    warnings
        Warnings about the collection, as sentences for the user.
    raters
        For each axis, the columns that contain its labels, one column per rater.
    """

    def __init__(
        self,
        name: str,
        pictures: Sequence[FiledPicture],
        warnings: Sequence[str] = (),
        raters: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.name = name
        self.warnings = tuple(warnings)
        self.raters = dict(raters or {})
        self._pictures = tuple(pictures)

    def pictures(self) -> tuple[FiledPicture, ...]:
        """Return all images in the manifest's order, or sorted by path if there is no manifest."""
        return self._pictures

    @cached_property
    def digests(self) -> Mapping[Path, str]:
        """SHA-256 of every readable image file, keyed by path.

        A file's SHA-256 is also the `id` of its `Picture`.
        """
        with without_cycle_search():
            return file_memory().digests(picture.path for picture in self._pictures)

    @cached_property
    def revision(self) -> str:
        """SHA-256 of the images' contents, prompts and conditions.

        The digest does not depend on paths or labels.
        """
        digests = self.digests
        with without_cycle_search():
            return digest_of(
                [(digests.get(p.path), p.prompt, p.axis, p.value) for p in self._pictures]
            )


def create(
    name: str,
    *,
    manifest: str = "",
    file: str = "",
    prompt_column: Names = "",
    condition: str = "",
    baseline_condition: str | int = "",
    label: Pairs = "",
    where: Pairs = "",
    strict: bool = False,
    allow_outside: bool = False,
    match_names: bool = False,
) -> FolderCollection:
    """Create a collection from the images in a folder (`--model folder/PATH`).

    Parameters
    ----------
    name
        A folder, or a CSV or JSON Lines file in the folder.
    manifest
        CSV or JSON Lines file. If empty, askew uses the first of these that exists: `manifest.csv`;
        the only CSV file directly in the folder; `metadata.jsonl`. If "none", askew reads prompts
        and conditions from the sub-folders.
    file
        Column that contains the image's path, relative to the folder or to the manifest. Defaults
        to `file` or `file_name`.
    prompt_column
        Column that contains the prompt, or columns whose contents askew joins with ": ". Defaults
        to `prompt`.
    condition
        Column that contains the condition. By default, askew uses `axis` and `value` if both exist,
        or `condition` if it exists.
    baseline_condition
        Condition that marks baseline images. By default, the baseline condition is an empty cell,
        "initial", or the only condition.
    label
        Columns that contain labels from people, as AXIS=COLUMN, …. Defaults to all columns that are
        named after an axis in the catalog. AXIS=COLUMN,COLUMN specifies one column per rater.
    where
        Filter for the rows to use, as COLUMN=VALUE, …. If a column is given with more than one
        value, rows with any of these values are used.
    strict
        If true, a file that does not exist is an error. If false, the file counts as a missing
        image, and askew displays a warning.
    allow_outside
        If true, askew also reads files outside the folder and the manifest's folder, directly or
        through links.
    match_names
        If true and no file exists at a path in the manifest, askew uses the file of the same name
        in the folder.

    Raises
    ------
    ManifestError
        If askew cannot use the manifest or the folder.
    """
    options = _FolderOptions(
        manifest=manifest,
        file=file,
        prompt_columns=split_names(prompt_column),
        condition=condition,
        baseline_condition=str(baseline_condition),
        label=label,
        where=where,
        strict=strict,
        allow_outside=allow_outside,
        match_names=match_names,
    )
    opened = file_memory().collections
    key = (name, repr(options))
    if key not in opened:
        with without_cycle_search():
            opened[key] = _opened(name, options)
    collection: FolderCollection = opened[key]
    return collection


@dataclass(frozen=True, slots=True)
class _FolderOptions:
    """Options of a collection. `create` describes them."""

    manifest: str
    file: str
    prompt_columns: Sequence[str]
    condition: str
    baseline_condition: str
    label: Pairs
    where: Pairs
    strict: bool
    allow_outside: bool
    match_names: bool


def _opened(name: str, options: _FolderOptions) -> FolderCollection:
    """Read the folder, and the manifest if there is one, and return the collection."""
    folder, table = _locate(Path(name), options.manifest)
    contents = contents_of(folder)
    if table is None:
        raters: Mapping[str, tuple[str, ...]] = {}
        pictures = _from_folders(contents, options.baseline_condition, options.allow_outside)
        is_declined = options.manifest == NO_MANIFEST
        warnings = _unused_without_manifest(contents, is_chosen=is_declined)
    else:
        columns = _columns_of(table, options)
        raters = columns.labels
        pictures, warnings = _from_manifest(contents, table, columns, options)
    warnings += _without_baseline(pictures)
    return FolderCollection(f"folder/{name}", pictures, warnings, raters)


def _from_manifest(
    contents: FolderContents, table: Manifest, columns: "_Columns", options: _FolderOptions
) -> tuple[list[FiledPicture], list[str]]:
    """Return the images that a manifest lists, and warnings about its rows and other files."""
    home = home_of(table.path)
    places = Places(contents.folder, home, options.allow_outside, contents.pictures)
    rows = table.where(parse_pairs(options.where))
    search = find_files(rows, columns.file, places, match_names=options.match_names)
    absent = absent_files(rows, columns.file, search.files, places, strict=options.strict)
    _check_prompts(rows, columns.prompts)
    sets = conditions_of(rows, options.condition, options.baseline_condition)
    filed = _filed_pictures(rows, columns, search.files, sets)
    pictures, repeats = distinct_rows(rows, filed, columns.used)
    listed = {*search.files.values(), *_files_left_out(table, rows, columns.file, places)}
    is_chosen = bool(options.manifest)
    unused = _unused_beside_manifest(contents, table, listed, is_chosen=is_chosen)
    return pictures, [*search.warnings, *absent, *repeats, *unused]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of a manifest, grouped by their content.

    Attributes
    ----------
    file
        Column that contains the path of the image.
    prompts
        Columns that contain the parts of the prompt.
    labels
        For each axis, the columns that contain labels from people, one column per rater.
    used
        All of these columns, and the columns that contain the condition.
    """

    file: str
    prompts: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]]
    used: frozenset[str]


def _columns_of(table: Manifest, options: _FolderOptions) -> _Columns:
    """Return the columns that the options name.

    For options that are not set, return the default columns.
    """
    usual = next((name for name in FILE_COLUMNS if name in table.columns), FILE_COLUMNS[0])
    file = options.file or usual
    prompts = tuple(options.prompt_columns) or ("prompt",)
    condition = options.condition
    reserved = {file, *prompts, condition or CONDITION, "axis", "value"}
    for column in prompts:
        table.require(column, "--prompt-column")
    labels = _label_columns(table, options.label, reserved)
    label_names = chain.from_iterable(labels.values())
    if condition:
        table.require(condition, "--condition")
    table.require(file, "--file-column")
    return _Columns(
        file=file,
        prompts=prompts,
        labels=labels,
        used=frozenset((*reserved, *label_names)),
    )


def _filed_pictures(
    rows: Manifest, columns: _Columns, files: Mapping[int, Path], sets: Sequence[Condition]
) -> dict[int, FiledPicture]:
    """Return the image in each row of the manifest, keyed by line number."""
    pictures = {}
    for (line, row), (axis, value) in zip(rows.rows.items(), sets, strict=True):
        single, several = _labels_of_row(row, columns.labels)
        pictures[line] = FiledPicture(
            path=files[line],
            prompt=JOINT.join(row[column] for column in columns.prompts),
            axis=axis,
            value=value,
            labels=single,
            rater_labels=several,
        )
    return pictures


def _labels_of_row(
    row: Mapping[str, str], columns: Mapping[str, tuple[str, ...]]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return the labels of axes with one rater, and of axes with several raters, keyed by axis."""
    single = {}
    several = {}
    for axis, names in columns.items():
        if len(names) == 1:
            single[axis] = row[names[0]]
        else:
            several[axis] = tuple(row[name] for name in names)
    return single, several


def _files_left_out(table: Manifest, rows: Manifest, column: str, places: Places) -> list[Path]:
    """Return the existing files listed in rows that the filter excludes."""
    files = []
    for line, row in table.rows.items():
        cell = row[column].replace("\\", "/")
        if line not in rows.rows and cell and "\0" not in cell:
            files.append(places.find(cell))
    return [path for path in files if path is not None]


def _unused_without_manifest(contents: FolderContents, *, is_chosen: bool) -> list[str]:
    """For a collection without a manifest, return warnings about the files that it ignores.

    Parameters
    ----------
    contents
        Files of the folder.
    is_chosen
        True if the user chose not to use a manifest.
    """
    places = folders_of(contents.pictures, contents.folder)
    files = zip(contents.pictures, places, strict=True)
    pooled = [path for path, place in files if not place]
    tables = [] if is_chosen else unused_tables(contents, None)
    return [
        *tables,
        *other_formats(contents),
        *unused_descriptions(contents),
        *pooled_prompts(contents, pooled, contents.folder.name),
    ]


def _unused_beside_manifest(
    contents: FolderContents, table: Manifest, listed: Collection[Path], *, is_chosen: bool
) -> list[str]:
    """For a collection with a manifest, return warnings about the files that it ignores.

    Parameters
    ----------
    contents
        Files of the folder.
    table
        The manifest.
    listed
        Files that the manifest lists.
    is_chosen
        True if the user specified the manifest.
    """
    sentences = [] if is_chosen else unused_tables(contents, table.path)
    unlisted = [path for path in contents.pictures if path not in listed]
    if unlisted:
        sentences.append(
            f"{len(unlisted)} images in {contents.folder} are not in the manifest {table.path.name}"
        )
    others = [path for path in contents.others if path not in listed]
    return sentences + other_formats(replace(contents, others=tuple(others)))


def _label_columns(table: Manifest, label: Pairs, reserved: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns that contain labels from people, keyed by axis."""
    labels = label_columns(label)
    if not labels:
        free = set(table.columns) - reserved
        labels = {axis: (axis,) for axis in AXES if axis in free}
    columns = {}
    for axis, names in labels.items():
        columns[axis] = tuple(table.require(name, "--label") for name in names)
    return columns


def _check_prompts(manifest: Manifest, columns: Sequence[str]) -> None:
    """Raise ManifestError if a row has no prompt."""
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
    """Return the folder of a collection, and the path of its manifest if there is one."""
    if path.is_file() and path.suffix.lower() in SUFFIXES:
        raise ManifestError(f"{path} is an image; give the folder that contains it, or a manifest")
    if path.is_file():
        return home_of(path), read_manifest(path)
    if not path.is_dir():
        raise ManifestError(f"there is no folder {path}")
    table = _choose_table(path, manifest)
    return path.resolve(), None if table is None else read_manifest(table)


def _choose_table(path: Path, manifest: str) -> Path | None:
    """Return a folder's manifest file; None if there is no manifest."""
    folder = path.resolve()
    if manifest == NO_MANIFEST:
        return None
    if manifest:
        inside = folder / manifest
        is_inside = inside.is_file() and not Path(manifest).is_file()
        return inside if is_inside else Path(manifest)
    tables = sorted(folder.glob("*.csv"))
    candidates = [table for table in tables if table.name == "manifest.csv"] or tables
    metadata = folder / METADATA
    if not candidates and metadata.is_file():
        return metadata
    if len(candidates) > 1:
        names = ", ".join(table.name for table in candidates)
        raise ManifestError(
            f"{path} contains several CSV files ({names}); choose one with --manifest, or use "
            f"--manifest {NO_MANIFEST}"
        )
    return next(iter(candidates), None)


def _from_folders(
    contents: FolderContents, baseline_condition: str, outside: bool
) -> list[FiledPicture]:
    """Return the images in a folder, with prompts and conditions from sub-folder names."""
    folder = contents.folder
    files = contents.pictures
    _check_links(contents.links, Places(folder, folder, outside))
    if not files:
        left_out = "".join(f". {sentence}" for sentence in other_formats(contents))
        raise ManifestError(f"{folder} contains no image ({', '.join(SUFFIXES)}){left_out}")
    parts = folders_of(files, folder)
    _check_depth(contents, parts)
    cells = [place[1] if len(place) == 2 else "" for place in parts]
    sets = conditions(cells, baseline_condition, f"sub-folders of {folder}")
    return [
        FiledPicture(
            path=file,
            prompt=place[0] if place else folder.name,
            axis=axis,
            value=value,
            labels={},
        )
        for file, place, (axis, value) in zip(files, parts, sets, strict=True)
    ]


def _check_depth(contents: FolderContents, parts: Sequence[tuple[str, ...]]) -> None:
    """Raise ManifestError if an image is in a sub-folder below the folder of its condition.

    Parameters
    ----------
    contents
        Files of the folder.
    parts
        Names of the sub-folders in the path from the collection's folder to each image.
    """
    folder = contents.folder
    files = zip(contents.pictures, parts, strict=True)
    deep = [str(file) for file, place in files if len(place) > 2]
    if deep:
        tables = "".join(f". {sentence}" for sentence in unused_tables(contents, None))
        raise ManifestError(
            f"images in {folder} are more than two folders deep (PROMPT/CONDITION/image), so a "
            f"manifest is needed: {shorten(deep)}{tables}"
        )


def _check_links(links: Sequence[Path], places: Places) -> None:
    """Raise ManifestError for links that lead out of the folder, unless the user allows them."""
    leading_out = [str(link) for link in links if places.permitted(link) is None]
    if leading_out:
        raise ManifestError(
            f"links lead out of {places.folder}: {shorten(leading_out)}; use --allow-outside to "
            "read them"
        )
