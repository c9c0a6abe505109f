"""A worker in another process: failures that travel, and images that it cannot open itself."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from askew.engine.base import Failure
from askew.engine.worker import LackingFiles, Reply, WorkerProcess, portable, with_paths
from askew.errors import ModelError, UnknownName, UsageError
from askew.messages import report_message
from askew.run.dispatch import Job
from askew.types import Picture


def size_of(job: Job[list[Picture]]) -> int:
    report_message("one image was opened")
    return len(Path(job.content[0].path).read_bytes())


def fail(job: object) -> None:
    raise UnknownName("vqa", "clop", ["clip"])


def crash(job: object) -> None:
    raise OSError("the disk is full")


def done(worker: WorkerProcess, task: Any, item: object, files: Any = None) -> Any:
    return worker.do(pickle.dumps(task), pickle.dumps(item), files)


@pytest.fixture(scope="module")
def worker() -> WorkerProcess:
    return WorkerProcess(".")


def test_images_that_a_worker_cannot_open_are_sent(worker: WorkerProcess, tmp_path: Path) -> None:
    path = str(tmp_path / "absent.png")
    job = Job(3, [Picture("ab", path, "a nurse")])
    assert done(worker, size_of, job) == LackingFiles((path,))
    expected = Reply(5, ("one image was opened",))
    assert done(worker, size_of, job, {path: b"12345"}) == expected
    assert done(worker, size_of, job) == expected


def test_paths_are_replaced_only_in_parts_with_images() -> None:
    text = ["a"]
    item = (text, [Picture("ab", "x.png", "a nurse")])
    changed = with_paths(item, {"x.png": "y.png"})
    assert changed[0] is text
    assert changed[1][0].path == "y.png"


def test_failures_arrive_with_their_message(worker: WorkerProcess) -> None:
    output = done(worker, fail, 1).output
    assert isinstance(output, Failure)
    assert isinstance(output.error, UsageError)
    assert str(pickle.loads(pickle.dumps(output)).error).startswith("unknown vqa 'clop'")
    crashed = done(worker, crash, 1).output.error
    assert isinstance(crashed, ModelError)
    assert "OSError: the disk is full (test_worker.py, line " in str(crashed)


def test_an_error_that_can_be_pickled_keeps_its_type() -> None:
    error = ModelError("no memory")
    assert portable(error) is error
