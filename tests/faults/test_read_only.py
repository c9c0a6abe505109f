"""A finished run on a read-only disk is checked, shown, exported and counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from askew.cli import run
from askew.store.store import Store
from processes import SOURCE, fork_call

COMMAND = [
    "audit",
    "a nurse",
    "--model",
    "studio/planted",
    "--images",
    "4",
    "--axes",
    "gender",
    "--bootstrap-samples",
    "100",
]


def write_and_die() -> None:
    """Write to the store, and end without closing it."""
    Store("disk/.askew").put_vectors("e", {})
    os._exit(1)


@pytest.mark.slow
@pytest.mark.parametrize("left", ["closed", "killed"])
def test_commands_that_only_read_work(
    left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store may also hold rows of a killed writer beside the index."""
    monkeypatch.chdir(tmp_path)
    assert run([*COMMAND, "--run", "disk/run"]) == 0
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    if left == "killed":
        fork_call(write_and_die).communicate()
        assert (tmp_path / "disk" / ".askew" / "index.sqlite-wal").exists()
    again = [*COMMAND, "--run", "disk/run"]
    calls = [
        ["check", "disk/run"],
        ["report", "disk/run"],
        ["export", "disk/run"],
        [*again, "--dry-run"],
        again,
        ["check", "disk/.askew"],
    ]
    (tmp_path / "calls.py").write_text(
        f"from askew.cli import run\nfor call in {calls!r}:\n    assert run(call) == 0, call"
    )
    script = f"""
        mount --bind disk disk && mount -o remount,ro,bind disk || exit 77
        touch disk/x && exit 2
        {sys.executable} calls.py
    """
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], env=environment, capture_output=True, text=True
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this system lets nobody mount")
    assert done.returncode == 0, done.stdout + done.stderr
