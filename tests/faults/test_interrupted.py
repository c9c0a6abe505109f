"""Housekeeping is killed, or the power fails, at chosen system calls: no image is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faults.power_cut import BLOCK, Call, Disk
from processes import SOURCE

TESTS = Path(__file__).parents[1]


def interrupted(
    shim: Path, place: Path, kills: int, cuts: int, commands: str
) -> list[dict[str, Any]]:
    """Return the states after commands were killed, and after the power failed during them."""
    environment = {
        **os.environ,
        "LD_PRELOAD": str(shim),
        "PYTHONPATH": f"{SOURCE}{os.pathsep}{TESTS}",
        "OMP_NUM_THREADS": "1",
    }
    arguments = [sys.executable, "-m", "faults.interrupted", place, kills, cuts, commands]
    done = subprocess.run(
        list(map(str, arguments)), env=environment, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_nothing_is_lost(state: dict[str, Any]) -> None:
    """Assert that the store is intact or the advice mends it, and that no image is made again."""
    assert state["code"] == -9, state
    assert "Traceback" not in state["advice"] + state["words"] + state["faults"], state
    assert state["check"] in (0, 1), state
    assert not state["check"] or "--rebuild" in state["advice"], state
    assert (state["mended"], state["again"], state["last"]) == (0, 0, 0), state
    assert state["differences"] == [], state
    assert (state["images"], state["results"]) == (0, True), state


@pytest.mark.slow
def test_housekeeping_is_interrupted_at_some_calls(shim: Path, tmp_path: Path) -> None:
    """The index of a store has rows that its journal lacks, and is about to be replaced."""
    states = interrupted(shim, tmp_path, 3, 2, "rebuild")
    assert len(states) == 5
    for state in states:
        assert_nothing_is_lost(state)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["gc", "rm", "rebuild"])
def test_housekeeping_is_interrupted_at_many_calls(
    command: str, shim: Path, tmp_path: Path
) -> None:
    states = interrupted(shim, tmp_path, 14, 7, command)
    assert len(states) == 21
    for state in states:
        assert_nothing_is_lost(state)


def test_a_power_failure_drops_only_what_was_not_flushed(tmp_path: Path) -> None:
    old = tmp_path / "old"
    new = tmp_path / "new"
    old.write_bytes(b"old")
    calls = [
        Call("write", str(old), 3, b"+"),
        Call("create", str(new), 0, b""),
        Call("write", str(new), 0, b"x" * 2 * BLOCK),
        Call("sync", str(old), 0, b""),
        Call("rename", str(new), 0, str(old).encode()),
    ]
    states = []
    for seed in range(50):
        disk = Disk(tmp_path)
        for call in calls:
            disk.repeat(call)
        states.append(disk.fail(random.Random(seed)))
    assert {state[str(old)] for state in states if str(new) in state} == {b"old+"}
    renamed = {state[str(old)] for state in states if str(new) not in state}
    zeros = bytes(BLOCK)
    full = b"x" * BLOCK
    assert renamed == {b"", full, zeros + full, full + full}
