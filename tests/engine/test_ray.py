"""The engine of Ray: equal results, failures, and workers that die."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import askew
from askew.engine.base import Failure
from askew.errors import ModelError, UnknownName
from askew.run.dispatch import Job

ray = pytest.importorskip("ray")

import askew.engine.ray  # noqa: E402
from askew.engine.ray import RayEngine  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1] / "run"))

from test_tasks import COMMANDS  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with RayEngine(2) as opened:
        yield opened


def square(item: int) -> int:
    if item < 0:
        raise UnknownName("number", str(item), ["1"])
    return item * item


def die_or_pass(job: Job[str]) -> str:
    """Pass a text; `always` kills the worker, and `once PATH` kills it unless the file exists."""
    name, _, path = job.content.partition(" ")
    if name == "always" or (name == "once" and not os.path.exists(path)):
        if path:
            Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return name


def test_results_and_failures_arrive(engine: RayEngine) -> None:
    results = dict(engine.map(square, [3, -1, 4]))
    failure = results.pop(-1)
    assert results == {3: 9, 4: 16}
    assert isinstance(failure, Failure)
    assert str(failure.error).startswith("unknown number '-1'")


def test_items_are_drawn_only_as_workers_need_them(engine: RayEngine) -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for item in range(20):
            drawn.append(item)
            yield item

    results = engine.map(square, items())
    next(results)
    assert len(drawn) <= 2 * 2 + 1
    results.close()


def test_items_of_a_dead_worker_are_done_by_others(engine: RayEngine, tmp_path: Path) -> None:
    texts = ["a", f"once {tmp_path / 'died'}", *"bcdefg"]
    jobs = [Job(number, text, f"images of {text!r}") for number, text in enumerate(texts)]
    results = {job.number: output for job, output in engine.map(die_or_pass, jobs)}
    assert [results[number] for number in range(len(texts))] == ["a", "once", *"bcdefg"]


def test_an_item_that_kills_three_workers_is_named(
    engine: RayEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    jobs = [Job(0, "a"), Job(1, "always", "images of 'a huge castle'"), Job(2, "b")]
    results = {job.number: output for job, output in engine.map(die_or_pass, jobs)}
    failure = results.pop(1)
    assert results == {0: "a", 2: "b"}
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, ModelError)
    message = str(failure.error)
    assert message.startswith("3 workers died while working on images of 'a huge castle'")
    assert "memory" in message
    assert "raylet" not in capfd.readouterr().out


def findings(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "results.json").read_text())
    del content["environment"]
    return content


def assert_equal_to_local(
    command: Callable[..., Any], engine: RayEngine | str, folder: Path
) -> None:
    for name, place in (("local", "local"), ("other", engine)):
        command(
            run=folder / name / "run",
            store=folder / name / "store",
            engine=place,
            bootstrap_samples=100,
        )
    assert findings(folder / "local" / "run") == findings(folder / "other" / "run")


def tiny_audit(**shared: Any) -> Any:
    """Audit two prompts, whose images are 2 slices."""
    return askew.audit(
        ["a photo of a nurse", "a photo of a doctor"],
        axes=["gender"],
        model="studio/planted",
        images=12,
        **shared,
    )


def test_an_audit_by_ray_equals_one_of_this_process(engine: RayEngine, tmp_path: Path) -> None:
    assert_equal_to_local(tiny_audit, engine, tmp_path)


def test_an_audit_in_threads_equals_one_of_this_process(tmp_path: Path) -> None:
    assert_equal_to_local(tiny_audit, "threads", tmp_path)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "audit"])
def test_other_commands_are_equal(command: str, engine: RayEngine, tmp_path: Path) -> None:
    assert_equal_to_local(COMMANDS[command], engine, tmp_path)


def test_killed_workers_change_nothing(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers are killed at random moments; each image is stored once."""
    # on a slow machine, chance may kill three workers at the same images
    monkeypatch.setattr(askew.engine.ray, "MOST_DEATHS", 21)
    rng = random.Random(7)
    ended = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while not ended.wait(rng.uniform(0.5, 2.0)) and len(killed) < 20:
            processes = engine.processes
            if processes:
                killed.append(rng.choice(processes))
                with suppress(ProcessLookupError):
                    os.kill(killed[-1], signal.SIGKILL)

    def audit(**shared: Any) -> Any:
        prompts = [f"a photo of a {word}" for word in "nurse doctor chef pilot".split()]
        return askew.audit(prompts, axes=["gender"], model="studio/planted", images=64, **shared)

    killer = threading.Thread(target=kill)
    killer.start()
    began = time.monotonic()
    try:
        assert_equal_to_local(audit, engine, tmp_path)
    finally:
        ended.set()
        killer.join()
    assert killed, time.monotonic() - began
    journal = (tmp_path / "other" / "store" / "journal.jsonl").read_text().splitlines()
    keys = []
    for line in journal:
        table, rows, *_ = json.loads(line.partition(" ")[2] or "[0, 0]")
        if table == "pictures":
            keys += [row[0] for row in rows]
    assert len(keys) == len(set(keys)) > 4 * 64
