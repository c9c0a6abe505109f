"""Marks that people add to a run folder (corrected labels, flags and notes).

The file contains one JSON object per line, and lines are only ever appended. If several lines
concern the same label, flag or note, only the latest line counts. askew skips lines that
are not in the form that it writes.
"""

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from askew.errors import RunError
from askew.run.folder import ANNOTATIONS_FILE
from askew.store.entries import read_bytes
from askew.store.files import explain_os_error
from askew.store.foreign import json_value
from askew.store.rows import is_image_id
from askew.types import record

MOST_TEXT = 4000
"""Maximum number of characters in a note."""

MOST_BYTES = 2**26
"""Maximum size in bytes of the file that contains the marks."""

NO_LABEL = "(no label)"
"""Label that a person assigns if an image shows no value of an axis, or if the value is unclear."""


@record
class Annotation:
    """A mark that a person added.

    Attributes
    ----------
    kind : "label", "flag" or "note"
        A corrected label, a flagged image, or a note on the results.
    time : str
        Time at which the mark was added.
    image : str
        Id of the image that is labeled or flagged.
    axis, value : str
        Axis of a corrected label, and the label itself. An empty value withdraws the correction.
    id : str
        Id of a note.
    about : str
        Subject of a note, such as the run, or a prompt and an axis.
    text : str
        Text of the note or flag. An empty text withdraws the note or flag.
    """

    kind: Literal["label", "flag", "note"]
    time: str
    image: str = ""
    axis: str = ""
    value: str = ""
    id: str = ""
    about: str = ""
    text: str = ""


@dataclass(frozen=True)
class Annotations:
    """The current marks in a run folder, excluding marks that were replaced or withdrawn.

    Attributes
    ----------
    labels
        Corrected labels, keyed by image id and axis.
    flags
        Text of each flag, keyed by image id.
    notes
        Notes, keyed by note id.
    skipped
        Number of lines that were skipped because they are not in the form that askew writes.
    """

    labels: Mapping[tuple[str, str], str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, Annotation] = field(default_factory=dict)
    skipped: int = 0

    @classmethod
    def of(cls, entries: Iterable[Annotation], skipped: int = 0) -> "Annotations":
        """Return the current marks, given all marks in file order."""
        labels: dict[tuple[str, str], str] = {}
        flags: dict[str, str] = {}
        notes: dict[str, Annotation] = {}
        for entry in entries:
            if entry.kind == "label":
                labels[entry.image, entry.axis] = entry.value
            elif entry.kind == "flag":
                flags[entry.image] = entry.text
            else:
                notes[entry.id] = entry
        return cls(
            labels={place: value for place, value in labels.items() if value},
            flags={image: text for image, text in flags.items() if text},
            notes={name: note for name, note in notes.items() if note.text},
            skipped=skipped,
        )


def corrected_label(image: str, axis: str, value: str) -> Annotation:
    """Return a corrected label. An empty value withdraws the correction."""
    return Annotation(kind="label", time=_now(), image=image, axis=axis, value=value)


def flag(image: str, text: str) -> Annotation:
    """Return a mark that flags an image. An empty text withdraws the flag."""
    return Annotation(kind="flag", time=_now(), image=image, text=text[:MOST_TEXT])


def note(about: str, text: str, identity: str = "") -> Annotation:
    """Return a note.

    The note replaces an earlier note that has the same id. An empty text withdraws the earlier
    note.
    """
    name = identity or secrets.token_hex(8)
    return Annotation(kind="note", time=_now(), id=name, about=about, text=text[:MOST_TEXT])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_annotations(folder: Path) -> Annotations:
    """Return the current marks in a run folder.

    If the file is a link or cannot be read, no marks are returned.
    """
    try:
        data = read_bytes(folder / ANNOTATIONS_FILE, follow=False)
    except OSError:
        return Annotations()
    entries = []
    skipped = 0
    for line in data[:MOST_BYTES].splitlines():
        entry = _entry(line)
        if entry is None:
            skipped += 1
        else:
            entries.append(entry)
    return Annotations.of(entries, skipped)


_ADAPTER: TypeAdapter[Annotation] = TypeAdapter(Annotation)


def _entry(line: bytes) -> Annotation | None:
    """Return the mark in a line; None if the line is not in the form that askew writes."""
    try:
        entry = _ADAPTER.validate_python(json_value(line.decode()))
    except (ValueError, ValidationError):
        return None
    has_image = entry.kind == "note" or is_image_id(entry.image)
    return entry if has_image and len(entry.text) <= MOST_TEXT else None


def add_annotations(folder: Path, entries: Iterable[Annotation]) -> None:
    """Add marks to a run folder. The marks are on disk when this function returns.

    Raises
    ------
    RunError
        If the marks cannot be written.
    """
    lines = []
    for entry in entries:
        content = {
            name: value for name, value in _ADAPTER.dump_python(entry).items() if value != ""
        }
        lines.append(json.dumps(content, ensure_ascii=False) + "\n")
    path = folder / ANNOTATIONS_FILE
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags, 0o644)
        with open(descriptor, "ab") as stream:
            stream.write("".join(lines).encode("utf-8", "replace"))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise RunError(f"the folder {folder} {explain_os_error(error)}") from error
