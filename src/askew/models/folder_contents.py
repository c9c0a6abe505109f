"""Contents of a folder of images, and warnings about files that a collection does not use.

The prompts of a folder's images may be in places that a collection does not read: in a table in a
sub-folder, in a text file next to each image, or in the image file itself. Some images may have a
format that askew does not read. The warnings name such files, because askew would treat images
whose prompts are unknown as images of a single prompt.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

from PIL import Image

from askew.models.manifest import JSON_LINES, shorten
from askew.store.files import SUMS_FILE, shown
from askew.types import grouped

SUFFIXES = (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".webp")
"""Suffixes of the image files that askew reads."""

OTHER_FORMATS = {
    ".avif": "AVIF",
    ".avifs": "AVIF",
    ".heic": "HEIC",
    ".heics": "HEIC",
    ".heif": "HEIF",
    ".hif": "HEIF",
    ".gif": "GIF",
    ".apng": "APNG",
    ".mp4": "MP4",
    ".webm": "WebM",
    ".bmp": "BMP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".jxl": "JPEG XL",
    ".jp2": "JPEG 2000",
    ".svg": "SVG",
    ".psd": "Photoshop",
    ".exr": "EXR",
    ".npy": "NumPy",
    ".npz": "NumPy",
    ".parquet": "Parquet",
    ".arrow": "Arrow",
    ".tar": "TAR",
    ".zip": "ZIP",
}
"""Names of formats that can contain images but that askew does not read, keyed by file suffix."""

READ_TABLES = (".csv", JSON_LINES)
OTHER_TABLES = (".tsv", ".xlsx", ".xls", ".ods")
SIDE_CARS = (".txt", ".json", ".caption", ".captions", ".yaml", ".yml", ".xmp")
"""Suffixes of text files that describe the image with the same file name."""

DESCRIBING_KEYS = frozenset(
    ("parameters", "prompt", "dream", "description", "invokeai_metadata", "sd-metadata")
)
"""Lowercase metadata keys under which an image file may contain its prompt."""

IMAGE_DESCRIPTION = 0x010E
USER_COMMENT = 0x9286
EXIF_TABLE = 0x8769
"""EXIF tags: two fields that may contain a prompt, and the table that contains the second field."""

OPENED = 8
"""Number of image files, sampled from across the folder, that askew searches for prompts."""

SHORTEST_NAME = 3
"""Minimum length of a shared file-name prefix that askew regards as the name of a prompt."""


@dataclass(frozen=True, slots=True)
class FolderContents:
    """Visible files in a folder and its sub-folders, grouped by kind.

    Attributes
    ----------
    folder
        The folder.
    pictures
        Image files in formats that askew reads, sorted by path.
    links
        Image files among `pictures` that are links.
    others
        Image files in formats that askew does not read.
    tables
        Tables that may describe images.
    side_cars
        Text files that are in the same folder as an image and have the image's name with a
        different suffix.
    """

    folder: Path
    pictures: tuple[Path, ...]
    links: tuple[Path, ...]
    others: tuple[Path, ...]
    tables: tuple[Path, ...]
    side_cars: tuple[Path, ...]

    def relative(self, path: Path) -> str:
        """Return a path for messages, relative to the folder if the file is inside it."""
        inside = path.is_relative_to(self.folder)
        return shown(path.relative_to(self.folder) if inside else path)


def contents_of(folder: Path) -> FolderContents:
    """List the files in a folder by kind, except those in folders that askew wrote."""
    files, links = _visible_files(folder)
    by_suffix = grouped(files, _suffix)
    pictures = _of_suffixes(by_suffix, SUFFIXES)
    side_cars: list[Path] = []
    if not by_suffix.keys().isdisjoint(SIDE_CARS):
        images = {path.with_suffix("") for path in pictures}
        for suffix in SIDE_CARS:
            of_suffix = by_suffix.get(suffix, ())
            side_cars += [path for path in of_suffix if _describes(path, images)]
    return FolderContents(
        folder=folder,
        pictures=pictures,
        links=_of_suffixes(grouped(links, _suffix), SUFFIXES),
        others=_of_suffixes(by_suffix, OTHER_FORMATS),
        tables=_of_suffixes(by_suffix, (*READ_TABLES, *OTHER_TABLES)),
        side_cars=tuple(side_cars),
    )


def _suffix(path: Path) -> str:
    return path.suffix.lower()


def _visible_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return all visible files, and separately all links among them, both sorted by path parts."""
    files: dict[tuple[str, ...], Path] = {}
    links: list[tuple[str, ...]] = []
    left: list[tuple[str, ...]] = [()]
    while left:
        parts = left.pop()
        for entry, path in _entries(folder.joinpath(*parts)):
            place = (*parts, entry.name)
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                if os.path.isfile(entry):
                    files[place] = path
                    links.append(place)
            elif entry.is_file():
                files[place] = path
            elif _is_searched(entry):
                left.append(place)
    return [files[parts] for parts in sorted(files)], [files[parts] for parts in sorted(links)]


def _entries(folder: Path) -> Iterator[tuple[os.DirEntry[str], Path]]:
    """Yield each entry of a folder with its path, or nothing if the folder cannot be read.

    Creating the paths with `Path.iterdir` takes a tenth of the time of parsing them. `os.scandir`
    needs no further system call to report whether an entry is a file.
    """
    with suppress(OSError):
        paths = {path.name: path for path in folder.iterdir()}
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in paths:
                    yield entry, paths[entry.name]


def _is_searched(entry: os.DirEntry[str]) -> bool:
    """Check whether an entry is a folder that does not belong to a run."""
    return entry.is_dir() and not os.path.exists(os.path.join(entry.path, SUMS_FILE))


def folders_of(paths: Sequence[Path], folder: Path) -> list[tuple[str, ...]]:
    """Return, for each file, the names of the folders in its path below `folder`."""
    start = str(folder)
    return [_parts_below(str(path).rpartition(os.sep)[0], start) for path in paths]


@lru_cache(maxsize=10_000)
def _parts_below(path: str, folder: str) -> tuple[str, ...]:
    """Return the names of the folders in the path from `folder` to the folder at `path`."""
    return Path(path).relative_to(folder).parts


def _of_suffixes(
    by_suffix: Mapping[str, Sequence[Path]], suffixes: Iterable[str]
) -> tuple[Path, ...]:
    """Return the files that have one of these suffixes, sorted by the parts of their paths."""
    groups = [by_suffix[suffix] for suffix in suffixes if suffix in by_suffix]
    if len(groups) == 1:
        return tuple(groups[0])
    return tuple(sorted(chain.from_iterable(groups), key=lambda path: path.parts))


def _describes(path: Path, images: set[Path]) -> bool:
    """Check whether a file belongs to an image (0.txt and 0.png.txt belong to 0.png)."""
    stem = path.with_suffix("")
    return stem in images or (stem.suffix.lower() in SUFFIXES and stem.with_suffix("") in images)


def unused_tables(contents: FolderContents, used: Path | None) -> list[str]:
    """Return sentences about the tables that a collection does not use.

    Parameters
    ----------
    contents
        Files of the folder.
    used
        The manifest of the collection, or None.
    """
    unused = [path for path in contents.tables if path != used]
    readable = [path for path in unused if path.suffix.lower() in READ_TABLES]
    sentences = []
    if readable:
        names = [contents.relative(path) for path in readable]
        sentences.append(
            f"{_verb(names, 'is', 'are')} not used; read prompts, conditions and labels from a "
            f"table with --manifest {names[0]}"
        )
    others = [contents.relative(path) for path in unused if path not in readable]
    if others:
        sentences.append(
            f"{_verb(others, 'is', 'are')} not used; save a table as CSV, and set it with "
            "--manifest FILE"
        )
    return sentences


def _verb(names: Sequence[str], singular: str, plural: str) -> str:
    return f"{shorten(names)} {singular if len(names) == 1 else plural}"


def other_formats(contents: FolderContents) -> list[str]:
    """Return a sentence about images in formats that askew does not read, if there are any."""
    if not contents.others:
        return []
    by_format = grouped(contents.others, lambda path: OTHER_FORMATS[path.suffix.lower()])
    counts = []
    for name, paths in by_format.items():
        listed = shorten([contents.relative(path) for path in paths])
        counts.append(f"{len(paths)} {name} ({listed})")
    return [
        f"askew reads only PNG, JPEG and WebP and ignores these files: {', '.join(counts)}; "
        "convert their images to PNG"
    ]


def unused_descriptions(contents: FolderContents) -> list[str]:
    """Return sentences about unused text files and metadata that describe individual images."""
    sentences = []
    if contents.side_cars:
        names = [contents.relative(path) for path in contents.side_cars]
        sentences.append(
            f"{len(names)} text files next to images are not used: {shorten(names)}; write the "
            "prompts in these files into a manifest, a CSV file with the columns file and prompt"
        )
    texts = _texts_of(contents)
    if texts:
        path, text = next(iter(texts.items()))
        sentences.append(
            f"texts inside image files are not used: {contents.relative(path)} contains "
            f"{_beginning(text)!r}; write the prompts into a manifest, a CSV file with the columns "
            "file and prompt"
        )
    return sentences


def pooled_prompts(contents: FolderContents, pooled: Sequence[Path], prompt: str) -> list[str]:
    """Return a warning if the images directly in a folder seem to have several prompts.

    Parameters
    ----------
    contents
        Files of the folder.
    pooled
        Images directly in the folder.
    prompt
        The prompt to which these images are assigned.
    """
    evidence = _several_prompts(contents, pooled)
    if not evidence:
        return []
    return [
        f"{len(pooled)} images are assigned to a single prompt, {prompt!r}, but {evidence}; give "
        "each prompt a sub-folder, or list the prompts in a manifest, a CSV file with the columns "
        "file and prompt"
    ]


def _several_prompts(contents: FolderContents, pooled: Sequence[Path]) -> str:
    """Return a phrase that states why images seem to have several prompts; empty if they do not."""
    side_cars = [path for path in contents.side_cars if path.parent == contents.folder]
    texts = {_sentence(_file_text(path)) for path in side_cars[:OPENED]} - {""}
    if len(texts) > 1:
        return f"the text files next to them differ ({_quoted(texts)})"
    inside = {_sentence(text) for text in _texts_of(contents).values()}
    if len(inside) > 1:
        return f"the texts in their files differ ({_quoted(inside)})"
    names = _names_of_groups(pooled)
    return f"the file names suggest several prompts ({_quoted(names)})" if names else ""


def _names_of_groups(pictures: Sequence[Path]) -> list[str]:
    """Return the prefixes of the file names, up to the first digit, if they look like prompt names.

    The list is empty if there is only one prefix, or if any prefix is too short or belongs to only
    one image.
    """
    beginnings = [re.split(r"\d", path.stem, maxsplit=1)[0].strip(" _-.()") for path in pictures]
    names = grouped(beginnings, str.casefold)
    is_name = [len(key) >= SHORTEST_NAME and len(files) > 1 for key, files in names.items()]
    return [files[0] for files in names.values()] if len(names) > 1 and all(is_name) else []


def _quoted(texts: Iterable[str]) -> str:
    return shorten([repr(_beginning(text)) for text in sorted(texts)])


def _beginning(text: str, most: int = 60) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[:most]}…"


def _sentence(text: str) -> str:
    """Return the first line of a text, because the lines below it list settings and seeds."""
    return text.strip().partition("\n")[0].strip()


def _file_text(path: Path) -> str:
    """Return the first 1,000 characters of a text file; empty if the file cannot be read."""
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(1000)
    return ""


def _texts_of(contents: FolderContents) -> dict[Path, str]:
    """Return the prompts that a sample of image files contain.

    The sampled files are spread over the folder.
    """
    step = max(1, len(contents.pictures) // OPENED)
    texts = {path: embedded_text(path) for path in contents.pictures[::step][:OPENED]}
    return {path: text for path, text in texts.items() if text}


def embedded_text(path: Path) -> str:
    """Return the description of an image from the metadata in its file; empty if there is none.

    Programs write this text as a PNG text chunk, such as "parameters", or as an EXIF field.
    """
    try:
        with Image.open(path, formats=("PNG", "JPEG", "WEBP")) as image:
            return _text_of(image)
    except Exception:  # decoders raise all kinds of exceptions on garbage
        return ""


def _text_of(image: Image.Image) -> str:
    for key, text in image.info.items():
        if str(key).lower() in DESCRIBING_KEYS and isinstance(text, str):
            return text
    exif = image.getexif()
    return _decoded(exif.get_ifd(EXIF_TABLE).get(USER_COMMENT) or exif.get(IMAGE_DESCRIPTION))


def _decoded(comment: object) -> str:
    """Return the text of an EXIF comment, whose first eight bytes may name its encoding."""
    if isinstance(comment, bytes):
        encoding = "utf-16-be" if comment.startswith(b"UNICODE") else "utf-8"
        content = comment[8:] if comment[:8] in (b"UNICODE\0", b"ASCII\0\0\0") else comment
        return content.decode(encoding, "ignore").strip("\0 ")
    return comment if isinstance(comment, str) else ""
