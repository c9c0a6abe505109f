"""Files that are either whole on disk or not there at all."""

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

from askew.errors import RunError, UsageError

FULL = "cannot grow: the disk is full. Make room; the same command then continues"
SUMS_FILE = "SHA256SUMS"
WRITERS = 8
"""Files flushed at once: a file system then shares the cost, two to four times less than one after
another.
"""


def sha256(data: bytes) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest_of(content: object) -> str:
    """SHA-256 of what JSON can hold, whatever the order of its keys."""
    return sha256(json.dumps(content, sort_keys=True).encode())


def shown(path: Path) -> str:
    """A path as text that can be printed and stored, also where its name is not valid UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def write_file(path: Path, content: bytes) -> Path:
    """Write one file whole, in a folder that is made where there is none. Raises RunError that says
    why it cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole({path: content})
    except OSError as error:
        raise RunError(f"the folder {path.parent} {explain_os_error(error)}") from error
    return path


def explain_os_error(error: OSError) -> str:
    """What a failure to write means and what would be right."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FULL
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        file = Path(error.filename)
        return f"must be a folder, but {next(filter(Path.is_file, (file, *file.parents)), file)} is a file"
    return f"cannot be written: {error.strerror or error} ({error.filename or 'no file name'})"


def changed_files(folder: Path) -> dict[str, str]:
    """By name the files of a folder that are not what its SHA256SUMS says, and in words how."""
    try:
        lines = (folder / SUMS_FILE).read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        return {SUMS_FILE: f"cannot be read: {error}"}
    found = {}
    for line in lines:
        digest, _, name = line.partition("  ")
        path = folder / name
        if not path.is_file():
            found[name] = "is gone"
        elif sha256(path.read_bytes()) != digest:
            found[name] = "is not what was written: its SHA-256 is another"
    return found


def write_sums(folder: Path, *names: str) -> None:
    """Write the SHA-256 of some files of a folder beside them, as `sha256sum --check` reads it.
    Raises RunError.
    """
    lines = (f"{sha256((folder / name).read_bytes())}  {name}\n" for name in names)
    write_file(folder / SUMS_FILE, "".join(lines).encode())


def write_whole(files: Mapping[Path, bytes], incoming: Path | None = None) -> None:
    """Write files so that each name holds its whole content or what was there before, also after a
    power cut.

    All are written in `incoming`, or beside the first, flushed to disk, then renamed. Raises
    OSError, leaving no parts.
    """
    if not files:
        return
    folder = incoming or next(iter(files)).parent
    parts = [folder / f".{secrets.token_hex(8)}.part" for _ in files]
    given_up = (
        Event()
    )  # an interrupt while the pool starts a thread leaves one that the pool does not wait for

    def write(part: Path, data: bytes) -> None:
        _write(part, data)
        if given_up.is_set():
            part.unlink(missing_ok=True)

    try:
        with ThreadPoolExecutor(min(WRITERS, len(files))) as pool:
            list(pool.map(write, parts, files.values()))
        for path, part in zip(files, parts, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(part, path)
    except BaseException:
        given_up.set()
        for part in parts:
            part.unlink(missing_ok=True)
        raise


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_text(path: Path, what: str, error: type[UsageError] = UsageError) -> str:
    """The text of a UTF-8 file. Raises `error`, which says `what` it is and names the line."""
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as fault:
        raise error(f"cannot read {what} {path}: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        place = f"{what} {path}, line {line}: byte {data[fault.start]:#04x}"
        raise error(f"{place} is not UTF-8; save the file as text in UTF-8") from fault


def read_json(file: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where there is none that can be read."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
