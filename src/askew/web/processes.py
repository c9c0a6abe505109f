"""Processes of jobs: identities that survive the server, and signals to a process group."""

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
"""Positions in /proc/PID/stat after the name: state, and time of the start."""

ENDED_STATES = ("Z", "X")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process. Its number alone could be that of a later process.

    Attributes
    ----------
    pid
        Its number, which is also that of its process group.
    started
        Time of its start as the system writes it; empty if unknown.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity":
        """Return the identity of a running process."""
        return cls(pid=pid, started=_start_of(pid) or "")

    @property
    def is_alive(self) -> bool:
        """True if the process is running."""
        started = _start_of(self.pid)
        return started is not None and started == self.started

    def interrupt(self) -> None:
        """Send the signal of Ctrl-C to the process, if it is running."""
        if self.is_alive:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGINT)


def _start_of(pid: int) -> str | None:
    """Return the time of the start of a process; None if there is no such process."""
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
    """Start `askew ARGUMENTS` in its own session, so that it survives the server.

    Parameters
    ----------
    arguments
        The arguments. No shell reads them.
    output, errors
        Files for its standard output and its standard error. Progress goes to the latter.
    """
    with output.open("wb") as out, errors.open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "askew", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
