"""List the checkpoints in a folder, and record the order in which they are watched."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from askew.errors import UsageError
from askew.findings import read_records, write
from askew.models.hub import WEIGHTS, file_state
from askew.models.pipeline_constants import INDEX
from askew.store.files import digest_of

HISTORY_FILE = "watch.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint in the watched folder.

    Attributes
    ----------
    name
        Name of the checkpoint's file or folder.
    state
        Digest of the sizes and modification times of the checkpoint's files.
    """

    name: str
    state: str


def checkpoints_in(folder: Path, pattern: str | None) -> list[Checkpoint]:
    """Return the checkpoints in a folder, in the natural order of their names.

    Parameters
    ----------
    folder
        Folder of the checkpoints.
    pattern
        Pattern of the checkpoints' names, such as "checkpoint-*". By default, all diffusers
        pipelines and all safetensors files are treated as checkpoints.

    Raises
    ------
    UsageError
        If the folder does not exist.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {str(folder)!r}. Name the folder of the checkpoints")
    paths = [path for path in folder.glob(pattern or "*") if pattern or _is_checkpoint(path)]
    visible = [path for path in paths if not path.name.startswith(".")]
    return [
        Checkpoint(name=path.name, state=digest_of(repr(file_state(str(path)))))
        for path in sorted(visible, key=lambda path: _natural(path.name))
    ]


def _is_checkpoint(path: Path) -> bool:
    return path.suffix == WEIGHTS if path.is_file() else (path / INDEX).is_file()


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts checkpoint-500 before checkpoint-1000."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def read_history(folder: Path) -> list[Checkpoint]:
    """Return the watched checkpoints in order; empty if no checkpoint was watched."""
    path = folder / HISTORY_FILE
    return list(read_records(tuple[Checkpoint, ...], path)) if path.exists() else []


def write_history(folder: Path, history: Sequence[Checkpoint]) -> None:
    """Write the list of watched checkpoints."""
    folder.mkdir(parents=True, exist_ok=True)
    write(tuple(history), folder / HISTORY_FILE, tuple[Checkpoint, ...])


def new_checkpoints(
    history: Sequence[Checkpoint], present: Sequence[Checkpoint]
) -> list[Checkpoint]:
    """Return the checkpoints that have not been watched yet.

    Raises
    ------
    UsageError
        If a watched checkpoint has changed.
    """
    known = {entry.name: entry.state for entry in history}
    for entry in present:
        if known.get(entry.name, entry.state) != entry.state:
            raise UsageError(
                f"the checkpoint {entry.name!r} has changed since it was watched. Write a changed "
                "checkpoint under a new name, or start again with another --run"
            )
    return [entry for entry in present if entry.name not in known]


def filled(template: object, path: Path) -> object:
    """Replace {checkpoint} and {name} in a text, or in each text of a list.

    A mapping of settings becomes a list of strings of the form NAME=VALUE, so that a checkpoint
    name such as 500 can be parsed as a number.
    """
    if isinstance(template, str):
        return template.replace("{checkpoint}", str(path)).replace("{name}", path.name)
    if isinstance(template, Mapping):
        template = [f"{name}={_setting_text(value)}" for name, value in template.items()]
    if isinstance(template, list | tuple):
        return [filled(value, path) for value in template]
    return template


def _setting_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
