"""A watch over what Python opens, changes and starts, by its audit events."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import askew

STARTS = (
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.system",
    "pty.spawn",
    "socket.connect",
    "subprocess.Popen",
    "webbrowser.open",
)
"""Events that start a process or a connection."""

READS = ("open", "os.listdir", "os.scandir", "sqlite3.connect")
CHANGES = ("os.chmod", "os.chown", "os.truncate", "os.utime", "shutil.copyfile")
"""Events that read or change the target of a link."""

RENAMES = ("os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink")
"""Events that change a link itself. Their first arguments are paths."""

SYSTEM = ("/dev/null", "/dev/urandom", "/etc", "/proc", "/sys", "/usr")


class Watch:
    """The events of a program since the watch began.

    Attributes
    ----------
    faults
        Files outside the allowed folders that were opened or changed, and processes that started.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._folders: list[str] | None = None
        sys.addaudithook(self._hear)

    @contextmanager
    def within(self, folders: Iterable[Path]) -> Iterator[None]:
        """Allow only files in these folders, of Python and of the system."""
        python = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *sys.path]
        source = Path(askew.__file__).parent
        self.faults.clear()
        self._folders = [
            os.path.realpath(path) for path in (*folders, *filter(None, python), source, *SYSTEM)
        ]
        try:
            yield
        finally:
            self._folders = None

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        folders = self._folders
        if folders is None:
            return
        if event in STARTS:
            self.faults.append(f"{event} {arguments!r:.200}")
        elif event in (*READS, *CHANGES, *RENAMES):
            follow = event not in RENAMES and not (event == "open" and _refuses_links(arguments))
            for path in arguments[: 1 if event in READS else 2]:
                is_path = isinstance(path, str | bytes | os.PathLike)
                if is_path and not self._is_allowed(path, follow):
                    self.faults.append(f"{event} {path!r}")

    def _is_allowed(self, path: str | bytes | os.PathLike[str], follow: bool) -> bool:
        """Check whether a path leads into an allowed folder, also through links.

        Unless `follow`, the last part of the path is not followed if it is a link.
        """
        text = os.fsdecode(path).removeprefix("file://").split("?")[0]
        if text == ":memory:":
            return True
        folder, name = os.path.split(text)
        place = os.path.realpath(text) if follow else os.path.join(os.path.realpath(folder), name)
        return any(
            place == folder or place.startswith(f"{folder}{os.sep}")
            for folder in self._folders or ()
        )


def _refuses_links(arguments: tuple[object, ...]) -> bool:
    """Check whether the flags of os.open refuse a link."""
    flags = arguments[2] if len(arguments) > 2 else 0
    return isinstance(flags, int) and bool(flags & getattr(os, "O_NOFOLLOW", 0))
