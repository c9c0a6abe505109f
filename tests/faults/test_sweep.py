"""A system call fails, or ends the process, at random moments: nothing is lost, nothing differs."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from processes import SOURCE

HERE = Path(__file__).parent
FAIL = 2
FAIL_ON = 3
KILL = 4
TERM = 5
NURSE = "a photo of a nurse"
PLANTED = ("--model", "studio/planted")
DRAWS = ("--bootstrap-samples", "100")
COMMANDS = {
    "audit": ["audit", NURSE, *PLANTED, "--images", "3", "--axes", "gender", *DRAWS],
    "interact": ["interact", NURSE, *PLANTED, "--images", "3", "--axes", "gender,clothing", *DRAWS],
    "mine": [
        "mine",
        *PLANTED,
        "--iterations",
        "2",
        "--population",
        "3",
        "--selected",
        "1",
        "--mutations",
        "1",
        "--images",
        "3",
        "--variations",
        "3",
        "--top",
        "1",
        *DRAWS,
    ],
    "map": ["map", NURSE, "--concept", "gender", "--against", "nurse", "--images", "2", *DRAWS],
    "edit": [
        "edit",
        "caucasian man",
        "--sources",
        "studio/planted",
        "--images",
        "2",
        "--strengths",
        "0.5",
        *DRAWS,
    ],
    "mitigate": [
        "mitigate",
        NURSE,
        *PLANTED,
        "--axes",
        "gender",
        "--images",
        "6",
        "--eval-images",
        "8",
        *DRAWS,
    ],
    "classify": [
        "classify",
        "caucasian man",
        "--sources",
        "studio/planted",
        "--images",
        "2",
        "--samples",
        "1",
        *DRAWS,
    ],
}
FAULTS = {
    "killed": (KILL, 0, {-9}),
    "told to end": (TERM, 0, {0, 130}),
    "a full disk": (FAIL_ON, errno.ENOSPC, {0, 1}),
    "an error of the disk": (FAIL, errno.EIO, {0, 1}),
}


def disturbed(
    shim: Path, place: Path, faults: Iterable[str], points: int, seed: int, command: str
) -> list[dict[str, Any]]:
    """Return the outcomes of a command that is disturbed at each of `points` moments."""
    how = json.dumps({fault: FAULTS[fault][:2] for fault in faults})
    arguments = [
        sys.executable,
        HERE / "failing.py",
        place / "work",
        how,
        points,
        seed,
        *COMMANDS[command],
    ]
    environment = {
        **os.environ,
        "LD_PRELOAD": str(shim),
        "PYTHONPATH": str(SOURCE),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        list(map(str, arguments)), env=environment, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_promises(results: list[dict[str, Any]], faults: Iterable[str]) -> None:
    """Assert the exit codes, messages and results of disturbed commands."""
    assert {entry["fault"] for entry in results} == set(faults)
    for entry in results:
        assert entry["first"] in FAULTS[entry["fault"]][2], entry
        assert "Traceback" not in entry["said"], entry
        assert (entry["again"], entry["check"], entry["same"]) == (0, 0, True), entry


@pytest.mark.slow
def test_an_audit_disturbed_at_some_moments(shim: Path, tmp_path: Path) -> None:
    assert_promises(disturbed(shim, tmp_path, FAULTS, 2, 0, "audit"), FAULTS)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_command_disturbed_at_many_moments(
    fault: str, command: str, shim: Path, tmp_path: Path
) -> None:
    assert_promises(disturbed(shim, tmp_path, [fault], 17, 1, command), [fault])


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["a full disk", "an error of the disk"])
def test_an_audit_disturbed_at_every_call(fault: str, shim: Path, tmp_path: Path) -> None:
    assert_promises(disturbed(shim, tmp_path, [fault], sys.maxsize, 0, "audit"), [fault])
