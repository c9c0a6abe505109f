"""Functions that start, stop and recognize the processes of jobs, even after the app restarts."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

START_FIELD = 19
STATE_FIELD = 0
"""Positions of the state and the start time in /proc/PID/stat, counted after the process name."""

ENDED_STATES = ("Z", "X")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Id and start time of a process.

    The start time is needed because a later process can get the same id.

    Attributes
    ----------
    pid
        Id of the process, which is also the id of its process group.
    started
        Start time of the process, in the system's format; empty if unknown.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity":
        """Return the identity of the running process that has this id."""
        return cls(pid=pid, started=_start_of(pid) or "")

    @property
    def is_alive(self) -> bool:
        """True if the process is running."""
        started = _start_of(self.pid)
        return started is not None and started == self.started

    def interrupt(self) -> None:
        """Send the same signal as Ctrl-C (SIGINT) to the process, if it is running."""
        if self.is_alive:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGINT)


def _start_of(pid: int) -> str | None:
    """Return the start time of a process; None if the process is not running."""
    if sys.platform.startswith("linux"):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        fields = stat.rpartition(")")[2].split()
        return None if fields[STATE_FIELD] in ENDED_STATES else fields[START_FIELD]
    done = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = done.stdout.strip().partition(" ")
    return None if not state or state[0] in ENDED_STATES else started.strip()


def start(arguments: Sequence[str], output: Path, errors: Path) -> "subprocess.Popen[bytes]":
    """Start `askew` with these arguments. The process continues when the server ends.

    Parameters
    ----------
    arguments
        Arguments for `askew`. No shell interprets them.
    output, errors
        Files for standard output and standard error. Progress is written to standard error.
    """
    with output.open("wb") as out, errors.open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "askew", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
