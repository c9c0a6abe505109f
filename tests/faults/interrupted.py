"""Interrupt commands of housekeeping at chosen system calls, and describe what they left.

Usage, under LD_PRELOAD=shim.so: python -m faults.interrupted FOLDER KILLS CUTS COMMANDS. For each of COMMANDS
("gc", "rm", "rebuild"), separated by commas, the process is killed at KILLS calls and the power
fails after CUTS calls, spread evenly over the command. For each state it prints a JSON line.

FOLDER/runs contains the runs `kept`, `extra` and `removed` on one store. No command may lose an
image of `kept`.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from faults.failing import COUNT, child, shim
from faults.power_cut import Disk, read_record, spread, write_state
from faults.worker import main as make_run

KILL = 4
KEPT = 3
shim.shim_record.argtypes = [ctypes.c_char_p]


class Housekeeping:
    """A command of housekeeping on a store that is restored before each interruption.

    Parameters
    ----------
    folder
        Folder of the test.
    command
        "gc", "rm" or "rebuild".
    """

    def __init__(self, folder: Path, command: str) -> None:
        self.folder = folder
        self.command = command
        self.original = folder / f"original-{command}"
        self.place = folder / "place"
        self.runs = self.place / "runs"
        self.store = self.runs / ".askew"
        self.arguments = {
            "gc": ["store", "gc", str(self.store), "--yes"],
            "rm": ["runs", "rm", str(self.runs / "extra"), "--yes"],
            "rebuild": ["check", str(self.store), "--rebuild"],
        }[command]
        self._prepare()
        self.restore()
        record = folder / f"{command}.record"
        shim.shim_record(str(record).encode())
        code, self.calls, words = child(self.arguments, self.place, COUNT)
        shim.shim_record(os.devnull.encode())
        assert code == 0, words
        self.record = read_record(record)
        self.wanted = contents(self.store)

    def _prepare(self) -> None:
        """Make three runs, forget one, and damage what only `rebuild` mends."""
        for name, images in (("kept", KEPT), ("extra", 2 * KEPT), ("removed", 3 * KEPT)):
            self.make(name, images)
        assert child(["runs", "rm", str(self.runs / "removed"), "--yes"], self.place)[0] == 0
        if self.command == "rebuild":
            journal = self.store / "journal.jsonl"
            lines = journal.read_bytes().split(b"\n")
            journal.write_bytes(b"\n".join([*lines[:1], b"x" + lines[1], *lines[3:]]))
        self.place.rename(self.original)

    def make(self, name: str, images: int) -> int:
        """Make a run, and return the number of images that the model was asked for."""
        self.runs.mkdir(parents=True, exist_ok=True)
        log = self.folder / "log"
        log.write_text("")
        make_run(str(self.runs / name), str(self.store), str(log), str(images), "0")
        return len(log.read_text().split())

    def restore(self) -> None:
        if self.place.exists():
            shutil.rmtree(self.place)
        shutil.copytree(self.original, self.place)

    def kill(self, at: int) -> dict[str, object]:
        """Kill the command at a call, and describe what it left."""
        self.restore()
        code, _, _ = child(self.arguments, self.place, KILL, 0, at)
        return {"fault": "killed", "at": at, "of": self.calls, "code": code, **self.state()}

    def cut(self, at: int) -> dict[str, object]:
        """Let the power fail after a call, and describe what it left."""
        self.restore()
        disk = Disk(self.place)
        for call in self.record[:at]:
            disk.repeat(call)
        state = disk.fail(random.Random(at))
        shutil.rmtree(self.place)
        self.place.mkdir()
        write_state(state)
        of = len(self.record)
        return {"fault": "power cut", "at": at, "of": of, "code": -9, **self.state()}

    def state(self) -> dict[str, object]:
        """Check the store, follow the advice, repeat the command, and make the run `kept` anew."""
        check, _, advice = child(["check", str(self.store)], self.place)
        mended = 0
        if check:
            mended, _, _ = child(["check", str(self.store), "--rebuild"], self.place)
        again, _, words = child(self.arguments, self.place)
        last, _, faults = child(["check", str(self.store)], self.place)
        results = (self.runs / "kept" / "results.json").read_bytes()
        try:
            images = self.make("anew", KEPT)
        except Exception as error:
            images = repr(error)
        anew = self.runs / "anew" / "results.json"
        return {
            "command": self.command,
            "check": check,
            "advice": advice,
            "mended": mended,
            "again": again,
            "words": words,
            "last": last,
            "faults": faults,
            "differences": differences(self.wanted, contents(self.store)),
            "images": images,
            "results": anew.exists() and anew.read_bytes() == results,
        }


def contents(store: Path) -> dict[str, object]:
    """Return the images in a store, and the rows of its index except vectors."""
    files = sorted(path.name for path in (store / "pictures").glob("*/*"))
    rows: dict[str, object] = {"files": files}
    with closing(sqlite3.connect(store / "index.sqlite")) as index:
        for table in ("pictures", "answers", "planned"):
            rows[table] = [list(map(str, row)) for row in index.execute(f"SELECT * FROM {table}")]
    return rows


def differences(wanted: dict[str, object], here: dict[str, object]) -> list[str]:
    return [name for name in wanted if wanted[name] != here[name]]


def main(place: str, kills: str, cuts: str, commands: str) -> None:
    for command in commands.split(","):
        housekeeping = Housekeeping(Path(place), command)
        for at in spread(int(kills), housekeeping.calls):
            print(json.dumps(housekeeping.kill(at)), flush=True)
        for at in spread(int(cuts), len(housekeeping.record)):
            print(json.dumps(housekeeping.cut(at)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
