"""The command line as a separate process with real streams and real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from typing import IO, Any

import askew.types

SOURCE = Path(askew.types.__file__).parents[1]
LONGEST = 120.0
"""Seconds after which a process that does not end is killed, and the test fails."""


def start(
    arguments: Sequence[str], python: Sequence[str] = (), **streams: int | IO[Any]
) -> subprocess.Popen[str]:
    """Start `askew ARGUMENTS` with pipes as streams, unless other streams are given."""
    process = subprocess.Popen(
        [sys.executable, *python, "-m", "askew", *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": ""},
        text=True,
        preexec_fn=_heed_interrupts,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},  # type: ignore[call-overload]
    )
    killer = Timer(LONGEST, process.kill)
    killer.daemon = True
    killer.start()
    return process


def wait_for_line(process: subprocess.Popen[str], *parts: str) -> None:
    """Read a process's standard error up to a line that contains all `parts`."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        if all(part in line for part in parts):
            return
        seen.append(line)
    raise AssertionError(f"no line with {parts} in:\n{''.join(seen)}")


def _heed_interrupts() -> None:
    """Reset signals that a process in the background of a shell, or under nohup, would ignore."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
