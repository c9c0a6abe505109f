"""Runs that are killed, interrupted, parallel, or out of disk space lose and change nothing."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from askew.errors import StoreError
from askew.run.check import check
from askew.store.store import Store
from faults.worker import run as run_worker
from processes import SOURCE, fork_call

TESTS = Path(__file__).parents[1]
IMAGES = 16  # of each of three prompts: 12 batches of 4
BATCH = 4


def start(
    folder: Path, store: Path, log: Path, delay: float = 0.0, *more: object
) -> subprocess.Popen[str]:
    """Run the worker in a copy of this process, which has imported its modules."""
    arguments = [str(part) for part in (folder, store, log, IMAGES, delay, *more)]
    return fork_call(partial(run_worker, arguments))


def wait_for_batches(log: Path, batches: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if log.exists() and len(log.read_text().split()) >= batches * BATCH:
            return
        time.sleep(0.005)
    raise AssertionError("the run made no pictures")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the results of a run that was not interrupted."""
    place = tmp_path_factory.mktemp("uninterrupted")
    worker = start(place / "run", place / "store", place / "log")
    assert worker.wait(60) == 0, worker.communicate()
    return (place / "run" / "results.json").read_bytes()


@pytest.mark.parametrize("batches", [1, 8])
def test_a_killed_run_continues_to_the_same_result(
    tmp_path: Path, uninterrupted: bytes, batches: int
) -> None:
    run = tmp_path / "run"
    store = tmp_path / "store"
    log = tmp_path / "log"
    worker = start(run, store, log, 0.03)
    wait_for_batches(log, batches)
    worker.send_signal(signal.SIGKILL)
    assert worker.wait() == -signal.SIGKILL
    made_before = len(log.read_text().split())
    assert not (run / "results.json").exists()

    assert start(run, store, log).wait(60) == 0
    assert (run / "results.json").read_bytes() == uninterrupted
    counts = Counter(log.read_text().split())
    assert len(counts) == 3 * IMAGES
    assert counts.total() - len(counts) <= BATCH  # at most the batch during which it was killed
    assert made_before < 3 * IMAGES
    with Store(store) as opened:
        assert check(run, opened).ok


def test_an_interrupt_ends_cleanly_and_states_how_to_continue(
    tmp_path: Path, uninterrupted: bytes
) -> None:
    run = tmp_path / "run"
    store = tmp_path / "store"
    log = tmp_path / "log"
    worker = start(run, store, log, 0.03)
    wait_for_batches(log, 3)
    worker.send_signal(signal.SIGINT)
    out, err = worker.communicate(timeout=30)
    document = json.loads(out)
    assert worker.returncode == 1
    assert document["error"] == "Interrupted"
    assert "Repeat the command to continue" in document["message"]
    last = json.loads(err.splitlines()[-1])
    assert last["kind"] == "stopped"
    with Store(store) as opened:
        report = check(run, opened)
    assert last["done"] > 0
    assert f"stored {last['done']}," in report.counts
    assert report.left == 3 * IMAGES - last["done"]
    assert not list((store / "incoming").iterdir())
    assert start(run, store, log).wait(60) == 0
    assert (run / "results.json").read_bytes() == uninterrupted


@pytest.mark.parametrize(
    "folders", [("run",) * 4, ("one", "two", "three", "four")], ids=["one run", "four runs"]
)
def test_four_processes_share_the_work(
    folders: tuple[str, ...], tmp_path: Path, uninterrupted: bytes
) -> None:
    """Four processes start at once on a store that does not exist yet; each image is generated
    once.
    """
    store = tmp_path / "store"
    log = tmp_path / "log"
    workers = [start(tmp_path / name, store, log, 0.05) for name in folders]
    for worker in workers:
        assert worker.wait(60) == 0, worker.communicate()
    for name in folders:
        assert (tmp_path / name / "results.json").read_bytes() == uninterrupted
        with Store(store) as opened:
            assert check(tmp_path / name, opened).ok
    assert set(Counter(log.read_text().split()).values()) == {1}


def test_no_room_for_a_file(tmp_path: Path, uninterrupted: bytes) -> None:
    """A limit on file sizes stops the writing midway, like a full disk."""
    run = tmp_path / "run"
    store = tmp_path / "store"
    log = tmp_path / "log"
    assert start(tmp_path / "first", store, log).wait(60) == 0  # the index exists already
    for path in (store / "pictures").glob("*/*.png"):
        path.unlink()
    worker = start(run, store, log, 0.0, 300)
    out, _ = worker.communicate(timeout=60)
    assert worker.returncode == 1
    assert json.loads(out)["error"] in ("StoreError", "RunError")
    assert not list((store / "incoming").iterdir())
    assert start(run, store, log).wait(60) == 0
    assert (run / "results.json").read_bytes() == uninterrupted


@pytest.mark.slow
def test_full_disk(tmp_path: Path) -> None:
    """A file system of half a megabyte fills up; with more space, the same command continues."""
    place = tmp_path / "small"
    log = tmp_path / "log"
    place.mkdir()
    command = f"{sys.executable} -m faults.worker {place}/run {place}/store {log} 120 0"
    script = f"""
        mount -t tmpfs -o size=512k tmpfs {place} || exit 77
        {command} && exit 1
        mount -o remount,size=100m {place}
        {command} || exit 2
        cp {place}/run/results.json {tmp_path}
    """
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{TESTS}"}
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], env=environment, capture_output=True, text=True
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this system lets nobody mount a small file system")
    assert done.returncode == 0, done.stdout + done.stderr[-500:]
    document = json.loads(done.stdout)
    assert document["error"] == "StoreError"
    assert "the disk is full" in document["message"]
    assert (tmp_path / "results.json").exists()


def test_a_locked_index_is_an_error(tmp_path: Path) -> None:
    Store(tmp_path).close()
    other = sqlite3.connect(tmp_path / "index.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with (
        Store(tmp_path, timeout=0.1) as store,
        pytest.raises(StoreError, match="written by another process"),
    ):
        store.plan_pictures("run", [])
    other.execute("ROLLBACK")
    with Store(tmp_path, timeout=0.1) as store:
        store.plan_pictures("run", [])
    other.close()


@pytest.mark.slow
def test_a_run_needs_at_most_64_open_files(tmp_path: Path) -> None:
    limit = [
        "-c",
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); "
        "sys.argv[0] = 'askew'; runpy.run_module('askew', run_name='__main__')",
    ]
    arguments = [
        "audit",
        "a photo of a nurse",
        "--model",
        "studio/planted",
        "--images",
        "22",
        "--axes",
        "gender",
        "--bootstrap-samples",
        "100",
        "--run",
        str(tmp_path / "run"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, *limit, *arguments], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
