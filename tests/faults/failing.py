"""Run commands of askew in child processes in which one chosen system call fails or ends them.

Usage, under LD_PRELOAD=shim.so: failing.py FOLDER FAULTS POINTS SEED ARGUMENTS. FAULTS is JSON: the
mode and the error of each fault by its name. For each of POINTS moments per fault, drawn by SEED,
it prints a JSON line: the exit codes of the disturbed command, of the same command repeated and of
`check`, the output of the first, and whether the results equal those of an undisturbed run.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import shutil
import signal
import sys
from contextlib import redirect_stdout
from itertools import product
from pathlib import Path

from askew.cli import run

COUNT = 1
shim = ctypes.CDLL(None)
shim.shim_arm.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_long]
shim.shim_count.restype = ctypes.c_long


def child(
    arguments: list[str], folder: Path, mode: int = 0, error: int = 0, at: int = 0
) -> tuple[int, int, str]:
    """Return the exit code, the number of counted calls, and the text on standard error."""
    words = folder.with_suffix(".said")
    count = folder.with_suffix(".count")
    count.write_text("0")
    process = os.fork()
    if process == 0:
        os.chdir(folder)
        for stream, path in ((1, os.devnull), (2, str(words))):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        code = 99
        try:
            shim.shim_arm(f"{folder}/".encode(), mode, error, at)
            code = run(arguments)
            calls = shim.shim_count()
            shim.shim_arm(b"/", 0, 0, 0)
            count.write_text(str(calls))
        except BaseException as failure:
            print(f"Traceback: {failure!r}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return code, int(count.read_text()), words.read_text(errors="replace")


def results(folder: Path) -> str | None:
    """Return results.json without its times."""
    path = folder / "runs" / "run" / "results.json"
    if not path.exists():
        return None
    document = json.loads(path.read_text())
    document.pop("environment")
    return re.sub(r"runs/run", "", json.dumps(document))


def main(place: str, faults: str, points: str, seed: str, *arguments: str) -> None:
    folder = Path(place)
    command = [*arguments, "--run", str(folder / "runs" / "run")]
    # load what all children need before they are forked
    with (
        open(os.devnull, "w") as nowhere,
        redirect_stdout(nowhere),
    ):
        assert run([*arguments, "--run", f"{place}-warm/run"]) == 0
    folder.mkdir()
    _, total, words = child(command, folder, COUNT)
    wanted = results(folder)
    assert wanted is not None, words
    moments = sorted(random.Random(seed).sample(range(1, total + 1), min(int(points), total)))
    for (fault, (mode, error)), at in product(json.loads(faults).items(), moments):
        shutil.rmtree(folder)
        folder.mkdir()
        first, _, words = child(command, folder, mode, error, at)
        again, _, lines = child(command, folder)
        check, _, _ = child(["check", str(folder / "runs" / "run")], folder)
        same = results(folder) == wanted
        print(
            json.dumps(
                {
                    "fault": fault,
                    "at": at,
                    "of": total,
                    "first": first,
                    "again": again,
                    "check": check,
                    "same": same,
                    "said": words[-600:],
                    "told": lines[-300:] if again else "",
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
