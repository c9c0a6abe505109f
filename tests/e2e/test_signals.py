"""After Ctrl-C at any moment a command prints one sentence, exits with 130, and can be resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from askew.__main__ import main
from askew.cli import run
from askew.studio.drawing import draw
from askew.studio.scene import Scene
from processes import fork, fork_call, start, wait_for_line

GOES_ON = "Repeat the command to continue"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write twelve labeled images into a folder, for an audit that needs no network."""
    folder = tmp_path_factory.mktemp("signals") / "pictures"
    folder.mkdir()
    rows = ["file,prompt,gender"]
    for k in range(12):
        draw(Scene(), k).save(folder / f"{k}.png")
        rows.append(f"{k}.png,nurse,{'MF'[k % 3 == 0]}")
    (folder / "manifest.csv").write_text("\n".join(rows), encoding="utf-8")
    return folder


@pytest.fixture
def of_labels(pictures: Path) -> list[str]:
    """Return an audit whose scoring takes a second or more."""
    return ["audit", "--model", f"folder/{pictures}", "--bootstrap-samples", "600000"]


def results(place: Path) -> dict[str, Any]:
    """Return the results of a run without the environment, which differs between runs."""
    content: dict[str, Any] = json.loads(
        (place / "run" / "results.json").read_text(encoding="utf-8")
    )
    del content["environment"]
    return content


def undisturbed(command: Sequence[str], place: Path) -> dict[str, Any]:
    """Return the results of a command that is not interrupted."""
    assert run([*command, "--run", str(place / "run")]) == 0
    return results(place)


def completed(command: Sequence[str], place: Path) -> dict[str, Any]:
    """Return the results of the same command when it resumes an interrupted run."""
    process = fork([*command, "--run", str(place / "run")])
    output = process.communicate()
    assert process.returncode == 0, output
    return results(place)


def interrupted(
    process: subprocess.Popen[str], times: int = 1, by: signal.Signals = signal.SIGINT
) -> str:
    """Interrupt a process and return the last line it prints."""
    for _ in range(times):
        process.send_signal(by)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    last = errors.splitlines()[-1]
    assert last.startswith("askew: stopped"), errors
    return last


def test_while_modules_are_imported(of_labels: list[str], tmp_path: Path) -> None:
    process = start([*of_labels, "--run", str(tmp_path / "run")], ["-X", "importtime"])
    wait_for_line(process, "| ", "rich")
    assert GOES_ON in interrupted(process)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_while_files_are_read_twice_in_a_row_and_while_scores_are_computed(
    of_labels: list[str], tmp_path: Path
) -> None:
    for times, line in (
        (1, ("started", "files")),
        (2, ("started", "files")),
        (1, ("finished", "answers")),
    ):
        process = start([*of_labels, "--run", str(tmp_path / "run")])
        wait_for_line(process, *line)
        assert GOES_ON in interrupted(process, times)
        assert not (tmp_path / "run" / "results.json").exists()
    assert completed(of_labels, tmp_path) == undisturbed(of_labels, tmp_path / "undisturbed")


@pytest.mark.slow
def test_while_images_are_made(tmp_path: Path) -> None:
    """A scheduler or a container sends SIGTERM; a closed terminal sends SIGHUP."""
    # 66 images in two batches
    command = [
        "audit",
        "a photo of a nurse",
        "--model",
        "studio/planted",
        "--embedder",
        "none",
        "--axes",
        "gender",
        "--images",
        "22",
        "--bootstrap-samples",
        "100",
    ]
    expected = undisturbed(command, tmp_path / "undisturbed")
    for by in (signal.SIGTERM, signal.SIGHUP):
        process = fork([*command, "--run", str(tmp_path / "run")])
        wait_for_line(process, "batch", "pictures")
        assert GOES_ON in interrupted(process, by=by)
    assert completed(command, tmp_path) == expected


STEPS = 60


def stepwise(command: Sequence[str]) -> None:
    """Run a command, and report each denoising step, which takes at least 20 ms."""
    from diffusers import DDIMScheduler

    step = DDIMScheduler.step

    def reported(self: Any, *arguments: Any, **more: Any) -> Any:
        print("denoising step", file=sys.stderr, flush=True)
        time.sleep(0.02)
        return step(self, *arguments, **more)

    DDIMScheduler.step = reported
    sys.argv[1:] = command
    main()


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_while_a_pipeline_denoises(
    by: signal.Signals, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    """The command ends within the step, and the images made before are in the store."""
    command = [
        "audit",
        "a photo of a nurse",
        "--model",
        f"diffusers/{tiny('stable-diffusion')}",
        "-M",
        f"num_inference_steps={STEPS}",
        "-M",
        "scheduler=DDIM",
        "-M",
        "batch_size=1",
        "--axes",
        "gender",
        "--embedder",
        "none",
        "--images",
        "2",
        "--vqa",
        "studio",
        "--store",
        str(tmp_path / "store"),
        "--run",
        str(tmp_path / "run"),
    ]
    process = fork_call(partial(stepwise, command))
    for _ in range(STEPS + 3):
        wait_for_line(process, "denoising step")
    process.send_signal(by)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert GOES_ON in errors.splitlines()[-1]
    assert errors.count("denoising step") < STEPS - 3, "the second image was completed"
    assert len(list((tmp_path / "store" / "pictures").rglob("*.png"))) == 1
