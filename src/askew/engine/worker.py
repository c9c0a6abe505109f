"""The part of an engine that runs in worker processes, which may be on other machines.

Only the driver, which is the process that runs the command, has access to the store. If a worker
cannot open an item's images, the driver sends them with the item.
"""

import os
import pickle
import socket
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from askew.engine.base import Failure
from askew.errors import AskewError, ModelError, UsageError
from askew.messages import message_listener
from askew.types import Picture


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's reply that contains the result for an item.

    Attributes
    ----------
    output
        Result of the task, or a `Failure`.
    messages
        Messages that the model or the instrument reported during the task.
    """

    output: Any
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LackingFiles:
    """A worker's reply that contains no result, because the worker cannot open some images.

    The driver then sends the item a second time, together with these images.

    Attributes
    ----------
    paths
        Paths of the image files that the worker cannot open.
    """

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """A worker's machine and process, and its versions of Python and askew.

    Attributes
    ----------
    host
        Name of the machine.
    process
        Process id.
    python, askew
        Versions of Python and askew.
    threads
        Value of the environment variable OMP_NUM_THREADS.
    """

    host: str
    process: int
    python: str
    askew: str
    threads: str


class WorkerProcess:
    """A process that carries out tasks. Models and instruments stay loaded between tasks.

    Parameters
    ----------
    folder
        Working folder of the driver. If the folder exists on the worker's machine, relative paths
        are relative to this folder.
    """

    def __init__(self, folder: str) -> None:
        with suppress(OSError):
            os.chdir(folder)
        self._files: dict[str, str] = {}
        self._received = tempfile.TemporaryDirectory(prefix="askew-images-")

    def place(self) -> WorkerPlace:
        """Return the worker's machine and process, and its versions of Python and askew."""
        return WorkerPlace(
            host=socket.gethostname(),
            process=os.getpid(),
            python=python_version(),
            askew=version("askew"),
            threads=os.environ.get("OMP_NUM_THREADS", ""),
        )

    @staticmethod
    def versions() -> tuple[str, str]:
        """Return the version of Python (major and minor), and the version of askew."""
        return python_version().rpartition(".")[0], version("askew")

    def do(
        self, sent_task: bytes, sent_item: bytes, files: Mapping[str, bytes] | None = None
    ) -> Reply | LackingFiles:
        """Apply a task to an item.

        Return the result, or the paths of images that cannot be opened.
        """
        messages: list[str] = []
        try:
            task: Callable[[Any], Any] = pickle.loads(sent_task)
            item = pickle.loads(sent_item)
            self._receive(files or {})
            paths = set(picture_paths(item))
            lacking = tuple(path for path in sorted(paths) if not self._can_open(path))
            if lacking and files is None:
                return LackingFiles(lacking)
            moved = {path: self._files[path] for path in paths if path in self._files}
            with message_listener(messages.append):
                output = task(with_paths(item, moved) if moved else item)
        except Exception as error:
            output = Failure(portable(error))
        return Reply(output, tuple(messages))

    def _can_open(self, path: str) -> bool:
        return path in self._files or os.path.exists(path)

    def _receive(self, files: Mapping[str, bytes]) -> None:
        """Write the images from the driver to a temporary folder on the worker's machine."""
        for path, data in files.items():
            file = Path(self._received.name) / f"{len(self._files)}{Path(path).suffix}"
            file.write_bytes(data)
            self._files[path] = str(file)


def portable(error: Exception) -> Exception:
    """Return an exception that has the same message and that another process can unpickle."""
    if isinstance(error, AskewError):
        with suppress(Exception):
            copy = pickle.loads(pickle.dumps(error))
            if type(copy) is type(error) and str(copy) == str(error):
                return error
        kind = UsageError if isinstance(error, UsageError) else ModelError
        return kind(str(error))
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({Path(frame.filename).name}, line {frame.lineno})" for frame in last)
    return ModelError(f"a worker failed: {type(error).__name__}: {error}{where}")


def picture_paths(item: object) -> Iterator[str]:
    """Yield the paths of all images in an item. Items consist of nested records and sequences."""
    if isinstance(item, Picture):
        yield item.path
    elif isinstance(item, (list, tuple)):
        for part in item:
            yield from picture_paths(part)
    elif is_dataclass(item) and not isinstance(item, type):
        for field in fields(item):
            yield from picture_paths(getattr(item, field.name))


def with_paths(item: Any, paths: Mapping[str, str]) -> Any:
    """Return a copy of the item in which the given image paths are replaced.

    Parts of the item that contain no images are not copied.
    """
    if isinstance(item, Picture):
        return replace(item, path=paths.get(item.path, item.path))
    if next(picture_paths(item), None) is None:
        return item
    if isinstance(item, (list, tuple)):
        return type(item)([with_paths(part, paths) for part in item])
    names = [field.name for field in fields(item) if field.init]
    return replace(item, **{name: with_paths(getattr(item, name), paths) for name in names})
