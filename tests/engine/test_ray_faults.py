"""A command on Ray is killed, interrupted or ends its budget, or a machine is lost: no result differs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import askew

ray = pytest.importorskip("ray")

from ray.cluster_utils import Cluster  # noqa: E402

from askew.engine.ray import AHEAD, RayEngine  # noqa: E402
from processes import SOURCE  # noqa: E402

pytestmark = pytest.mark.slow

PROMPTS = ["a photo of a nurse", "a photo of a chef"]
IMAGES = 128
WANTED = len(PROMPTS) * 3 * IMAGES
"""Number of images: those of each prompt, and of its two counterfactual prompts."""

BATCH = 64
WORKERS = 2
KILLS = 5
IN_FLIGHT = AHEAD * WORKERS * BATCH
"""Largest number of images in flight."""


def audit(folder: Path, **place: Any) -> dict[str, Any]:
    """Audit the prompts in this process, and return the findings."""
    askew.audit(
        PROMPTS,
        axes=["gender"],
        model="studio/planted",
        images=IMAGES,
        bootstrap_samples=100,
        run=folder / "run",
        store=folder / "store",
        **place,
    )
    return findings(folder)


def findings(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "run" / "results.json").read_text())
    del content["environment"]
    return content


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the findings of a run in one process."""
    return audit(tmp_path_factory.mktemp("local"))


def start(folder: Path, *more: str) -> subprocess.Popen[str]:
    """Start the audit on Ray as a command of its own session, as a shell does."""
    command = [
        *(sys.executable, "-m", "askew", "audit", *PROMPTS, "--axes", "gender"),
        *("--model", "studio/planted", "--images", str(IMAGES), "--bootstrap-samples", "100"),
        *("--run", str(folder / "run"), "--store", str(folder / "store")),
        *("--engine", "ray", "--workers", str(WORKERS), *more),
    ]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def stored(folder: Path) -> int:
    """Return the number of image files in the store."""
    return len(list((folder / "store" / "pictures").glob("*/*")))


def await_images(process: subprocess.Popen[str], folder: Path, more: int) -> None:
    """Wait until the command has stored more images."""
    before = stored(folder)
    while stored(folder) < before + more:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def stored_keys(folder: Path) -> list[str]:
    """Return the key of each image as often as the journal has it."""
    keys: list[str] = []
    for line in (folder / "store" / "journal.jsonl").read_text().splitlines():
        table, rows, *_ = json.loads(line.partition(" ")[2] or "[0, 0]")
        if table == "pictures":
            keys += [row[0] for row in rows]
    return keys


def completed(folder: Path) -> str:
    """Repeat the command until its end, and return what it wrote."""
    process = start(folder)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "raylet" not in output + errors
    return errors


def test_a_command_that_is_killed_five_times_continues(
    tmp_path: Path, local: dict[str, Any]
) -> None:
    """Ray's processes end with the command. At most the images in flight are made again."""
    for _ in range(KILLS):
        process = start(tmp_path)
        await_images(process, tmp_path, 1)
        process.kill()
        process.communicate()
    assert stored(tmp_path) < WANTED
    completed(tmp_path)
    assert findings(tmp_path) == local
    keys = stored_keys(tmp_path)
    assert len(set(keys)) == WANTED
    assert len(keys) <= WANTED + KILLS * IN_FLIGHT


def test_ctrl_c_and_the_end_of_a_budget_lose_nothing(tmp_path: Path, local: dict[str, Any]) -> None:
    limited = start(tmp_path, "--budget", str(2 * BATCH))
    _, errors = limited.communicate()
    assert limited.returncode == 1
    assert f"the budget of {2 * BATCH} images is used up" in errors
    assert stored(tmp_path) == 2 * BATCH
    interrupted = start(tmp_path)
    await_images(interrupted, tmp_path, 1)
    interrupted.send_signal(signal.SIGINT)
    _, errors = interrupted.communicate()
    assert interrupted.returncode == 130
    assert "Traceback" not in errors
    assert "waiting for the images that workers are generating" in errors
    completed(tmp_path)
    assert findings(tmp_path) == local
    keys = stored_keys(tmp_path)
    assert len(keys) == len(set(keys)) == WANTED


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Return a cluster of a head without room for workers, and two machines."""
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_lost_machine_changes_nothing(
    cluster: Cluster, tmp_path: Path, local: dict[str, Any]
) -> None:
    machines: Sequence[Any] = [cluster.add_node(num_cpus=1) for _ in range(WORKERS)]
    cluster.wait_for_nodes()
    lost: list[int] = []

    def lose() -> None:
        while not stored(tmp_path):
            time.sleep(0.02)
        lost.append(stored(tmp_path))
        cluster.remove_node(machines[0], allow_graceful=False)

    with RayEngine(WORKERS, cluster.address) as engine:
        loser = threading.Thread(target=lose, daemon=True)
        loser.start()
        results = audit(tmp_path, engine=engine)
        loser.join()
    assert lost[0] < WANTED
    assert results == local
    keys = stored_keys(tmp_path)
    assert len(keys) == len(set(keys)) == WANTED
