"""The command line as a separate process with real streams and real signals.

`start` starts an interpreter. `fork` copies this process, which has imported askew already.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Timer
from typing import IO, Any, NoReturn

import askew.types
from askew.__main__ import main

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
    _kill_in_time(process)
    return process


def fork(arguments: Sequence[str], **streams: int | IO[Any]) -> subprocess.Popen[str]:
    """Run `askew ARGUMENTS` in a copy of this process, with pipes as streams by default.

    A command that this process has run before needs no imports.
    """

    def command() -> None:
        sys.argv[1:] = arguments
        main()

    return fork_call(command, **streams)


def fork_call(function: Callable[[], None], **streams: int | IO[Any]) -> subprocess.Popen[str]:
    """Call a function in a copy of this process that ends with it. Streams are as in `start`."""
    process = subprocess.Popen(
        [sys.executable],  # never started: `_call` does not return
        text=True,
        preexec_fn=partial(_call, function),
        restore_signals=False,  # an interpreter ignores SIGPIPE and SIGXFSZ
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},  # type: ignore[call-overload]
    )
    _kill_in_time(process)
    return process


def _kill_in_time(process: subprocess.Popen[str]) -> None:
    """Kill a process that does not end."""
    killer = Timer(LONGEST, process.kill)
    killer.daemon = True
    killer.start()


def _call(function: Callable[[], None]) -> NoReturn:
    """Call a function with streams and signals as in a new interpreter, and end the process."""
    gc.freeze()  # files of the parent whose numbers are used again here are never closed
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # the parent waits for one of these to close
    _heed_interrupts()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = _stream(0, "r")
    sys.stdout = _stream(1, "w")
    sys.stderr = _stream(2, "w", buffering=1, errors="backslashreplace")
    code: Any = 1
    try:
        function()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _stream(number: int, mode: str, **options: Any) -> Any:
    """Open a standard stream as the interpreter does: None if it is closed."""
    try:
        return open(number, mode, closefd=False, **options)
    except OSError:
        return None


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
