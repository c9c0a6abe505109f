"""Reading files, and writing files so that an incomplete file never remains on disk."""

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from askew.errors import RunError, UsageError
from askew.store.entries import read_bytes
from askew.store.foreign import json_value
from askew.types import slices

FULL = "cannot grow because the disk is full. Free some space, then repeat the command to continue"
SUMS_FILE = "SHA256SUMS"
PROBE_BYTES = 2**16
"""Size in bytes of the test file that askew writes to find out why an earlier write failed."""

FLUSHERS = 8
"""Number of files that are flushed to disk in parallel.

This is two to four times faster than flushing one file after another.
"""

MOST_OPEN = 16
"""Maximum number of files that are open for writing at the same time.

Some systems limit the number of open files, and askew promises that a limit of 64 is enough.
"""


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest_of(content: object) -> str:
    """Return the SHA-256 of a JSON value, regardless of the order of the value's keys."""
    return sha256(json.dumps(content, sort_keys=True).encode())


def shown(path: Path) -> str:
    """Return a path as text that can be printed and stored, even if its name is not valid UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def write_file(path: Path, content: bytes) -> Path:
    """Write one complete file, create its folder if necessary, and return its path.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole({path: content})
    except OSError as error:
        raise RunError(f"the folder {path.parent} {explain_os_error(error)}") from error
    return path


def explain_os_error(error: OSError) -> str:
    """Return the reason why a write failed and what to do about it, as the end of a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FULL
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        path = Path(error.filename)
        file = next(filter(Path.is_file, (path, *path.parents)), path)
        return f"must be a folder, but {file} is a file"
    reason = error.strerror or str(error)
    return f"cannot be written: {reason} ({error.filename or 'no file name'})"


def write_fault(folder: Path) -> OSError | None:
    """Try to write a small file into a folder, and return the error; None if there is no error."""
    part = folder / f".{secrets.token_hex(8)}.part"
    try:
        _write_parts([part], [bytes(PROBE_BYTES)])
    except OSError as error:
        return error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return None


def listed_files(folder: Path) -> dict[str, str]:
    """Return the checksums listed in a folder's SHA256SUMS file, keyed by file name.

    Raises
    ------
    OSError
        If SHA256SUMS does not exist or cannot be read.
    ValueError
        If a line does not have the format that `write_sums` uses.
    """
    text = read_bytes(folder / SUMS_FILE, follow=False).decode("ascii")
    sums = {}
    for line in text.splitlines():
        digest, separator, name = line.partition("  ")
        if not separator or Path(name).name != name:
            raise ValueError(f"the line {line!r:.80} does not name a file in this folder")
        sums[name] = digest
    return sums


def changed_files(folder: Path, needed: Iterable[str]) -> dict[str, str]:
    """Compare files in a folder with SHA256SUMS, and return the differences, keyed by file name.

    Parameters
    ----------
    folder
        The folder.
    needed
        Names of files that must be listed in SHA256SUMS if they exist.
    """
    try:
        sums = listed_files(folder)
    except FileNotFoundError:
        return {SUMS_FILE: "is gone"}
    except (OSError, ValueError) as error:
        return {SUMS_FILE: f"cannot be read: {error}"}
    faults = {}
    for name, digest in sums.items():
        fault = _difference(folder / name, digest)
        if fault:
            faults[name] = fault
    for name in needed:
        if name not in sums and os.path.lexists(folder / name):
            faults[name] = f"is not listed in {SUMS_FILE}"
    return faults


def _difference(path: Path, digest: str) -> str:
    """Describe how a file differs from its checksum; return "" if the checksum matches."""
    try:
        if sha256(read_bytes(path, follow=False)) == digest:
            return ""
    except FileNotFoundError:
        return "is gone"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "has changed: its SHA-256 differs"


def write_sums(folder: Path, names: Iterable[str]) -> None:
    """Write the checksums of files in a folder to SHA256SUMS, for use with `sha256sum --check`.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    try:
        sums = {name: sha256(read_bytes(folder / name, follow=False)) for name in names}
    except OSError as error:
        raise RunError(f"the folder {folder} {explain_os_error(error)}") from error
    _write_sums(folder, sums)


def add_sums(folder: Path, names: Iterable[str]) -> None:
    """Add the checksums of files to a folder's SHA256SUMS.

    The checksums of other files do not change.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    try:
        sums = listed_files(folder)
    except (OSError, ValueError):
        sums = {}
    try:
        sums |= {name: sha256(read_bytes(folder / name, follow=False)) for name in names}
    except OSError as error:
        raise RunError(f"the folder {folder} {explain_os_error(error)}") from error
    _write_sums(folder, sums)


def replace_sum(path: Path) -> None:
    """Update a file's checksum in the SHA256SUMS of its folder, if SHA256SUMS exists.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    try:
        sums = listed_files(path.parent)
        sums[path.name] = sha256(read_bytes(path, follow=False))
    except (OSError, ValueError):
        return
    _write_sums(path.parent, sums)


def _write_sums(folder: Path, sums: Mapping[str, str]) -> None:
    lines = [f"{digest}  {name}\n" for name, digest in sums.items()]
    write_file(folder / SUMS_FILE, "".join(lines).encode())


def write_whole(files: Mapping[Path, bytes], incoming: Path | None = None) -> None:
    """Write files. After a power failure, each file contains either the old or the new data.

    askew first writes all files under temporary names and flushes them to disk. Then askew
    moves each file to its final path. The temporary files are in the folder `incoming`. By default,
    `incoming` is the folder of the first file.

    Raises
    ------
    OSError
        If a file cannot be written. No incomplete files remain.
    """
    if not files:
        return
    folder = incoming or next(iter(files)).parent
    token = secrets.token_hex(8)
    parts = [folder / f".{token}-{number}.part" for number in range(len(files))]
    try:
        _write_parts(parts, list(files.values()))
        for path, part in zip(files, parts, strict=True):
            _move(part, path)
    except BaseException:
        for part in parts:
            part.unlink(missing_ok=True)
        raise


def _write_parts(parts: Sequence[Path], contents: Sequence[bytes]) -> None:
    """Write several files, and flush them to disk in parallel."""
    for group in slices(list(zip(parts, contents, strict=True)), MOST_OPEN):
        with ExitStack() as stack:
            files = []
            for part, data in group:
                file = stack.enter_context(part.open("wb"))
                file.write(data)
                file.flush()
                files.append(file.fileno())
            _flush(files)


def _flush(files: Sequence[int]) -> None:
    """Flush open files, given by their descriptors, to disk."""
    pool = _flushers()
    try:
        others = [pool.submit(os.fsync, file) for file in files[1:]]
        os.fsync(files[0])
        for other in others:
            other.result()
    except BaseException:
        # an interrupt can leave a thread that the pool does not know
        _flushers.cache_clear()
        pool.shutdown(cancel_futures=True)
        raise


@lru_cache(maxsize=1)
def _flushers() -> ThreadPoolExecutor:
    """Return the threads that flush files to disk.

    They are reused, since starting threads costs CPU time.
    """
    return ThreadPoolExecutor(FLUSHERS, "askew-files")


# threads do not survive a fork
os.register_at_fork(after_in_child=_flushers.cache_clear)


def _move(part: Path, path: Path) -> None:
    """Move a file to its path, and create the path's folder if necessary."""
    try:
        os.replace(part, path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, path)


def write_stream(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file from its parts.

    After an interruption, the file contains either the old or the new data.

    Raises
    ------
    OSError
        If the file cannot be written. No incomplete file remains.
    """
    incomplete = path.parent / f".{secrets.token_hex(8)}.part"
    try:
        with incomplete.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(incomplete, path)
    except BaseException:
        incomplete.unlink(missing_ok=True)
        raise


def read_text(
    path: Path, title: str, error: type[UsageError] = UsageError, *, follow: bool = True
) -> str:
    """Return the text of a UTF-8 file.

    Parameters
    ----------
    path
        Path of the file.
    title
        Noun phrase for the file in error messages, such as "the plan".
    error
        Class of the exception to raise.
    follow
        Whether to follow links. Use False to refuse links, for example when reading another
        person's run folder.

    Raises
    ------
    UsageError
        If the file cannot be read. If the file is not UTF-8, the message states the line of the
        first invalid byte.
    """
    try:
        data = read_bytes(path, follow=follow)
        return data.decode("utf-8-sig")
    except OSError as fault:
        raise error(f"cannot read {title} {path}: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        place = f"{title} {path}, line {line}: byte {data[fault.start]:#04x}"
        raise error(f"{place} is not UTF-8. Save the file as UTF-8 text") from fault


def read_json(file: Path) -> dict[str, Any]:
    """Return the object stored in a JSON file; an empty dictionary if the file cannot be read."""
    try:
        content = json_value(read_bytes(file).decode("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
