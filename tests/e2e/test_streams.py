"""A run continues if its progress cannot be written; an unwritable answer is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from askew.cli import run
from processes import fork, start

if not Path("/dev/full").exists():
    pytest.skip("this system has no /dev/full", allow_module_level=True)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of 40 labeled images."""
    folder = tmp_path_factory.mktemp("pictures")
    rows = ["file,prompt,gender"]
    for k in range(40):
        Image.effect_noise((16, 16), 20 + k).convert("RGB").save(folder / f"{k}.png")
        rows.append(f"{k}.png,nurse,{'MF'[k % 3 == 0]}")
    (folder / "manifest.csv").write_text("\n".join(rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def audit(pictures: Path) -> list[str]:
    """Return an audit of these images that ran once: three batches, two stages, no network."""
    arguments = ["audit", "--model", f"folder/{pictures}", "--bootstrap-samples", "100", "--run"]
    assert run([*arguments, str(pictures.parent / "imported")]) == 0
    return arguments


@pytest.fixture
def command(audit: list[str], tmp_path: Path) -> list[str]:
    """Return this audit in a folder without a run."""
    return [*audit, str(tmp_path / "run")]


def whole(place: Path) -> bool:
    """Check whether a run was finished."""
    return all((place / "run" / name).exists() for name in ("results.json", "report.html"))


@pytest.fixture
def full() -> Iterator[int]:
    """Open a file that accepts no data, like a full disk."""
    descriptor = os.open("/dev/full", os.O_WRONLY)
    yield descriptor
    os.close(descriptor)


def test_progress_on_a_full_disk_is_dropped(command: list[str], full: int, tmp_path: Path) -> None:
    process = fork(command, stderr=full)
    output, _ = process.communicate()
    assert process.returncode == 0
    assert "report:" in output
    assert whole(tmp_path)


def test_an_answer_on_a_full_disk_is_an_error_of_one_sentence(
    command: list[str], full: int, tmp_path: Path
) -> None:
    process = fork(command, stdout=full)
    _, errors = process.communicate()
    assert process.returncode == 1
    assert (
        errors.splitlines()[-1] == "askew: cannot write to standard output: No space left on device"
    )
    assert "Traceback" not in errors
    assert whole(tmp_path)


@pytest.mark.parametrize("arguments", [["--help"], ["models"], ["--version"], ["audit", "--help"]])
def test_every_command_reports_a_full_disk(arguments: list[str], full: int) -> None:
    process = (start if arguments == ["--version"] else fork)(arguments, stdout=full)
    assert (
        process.communicate()[1]
        == "askew: cannot write to standard output: No space left on device\n"
    )
    assert process.returncode == 1


def test_answer_and_progress_on_a_full_disk(command: list[str], full: int, tmp_path: Path) -> None:
    process = fork(command, stdout=full, stderr=full)
    assert process.wait() == 1
    assert whole(tmp_path)


def test_a_condition_that_holds_sets_the_exit_code_nevertheless(
    command: list[str], full: int
) -> None:
    process = fork([*command, "--fail-if", "distance > 0"], stdout=full)
    _, errors = process.communicate()
    assert process.returncode == 3, errors


def test_a_reader_that_closes_after_a_line_does_not_end_the_run(
    command: list[str], tmp_path: Path
) -> None:
    """The reader is like that of `askew … 2>&1 | head -1`."""
    reading, writing = os.pipe()
    process = fork(command, stdout=writing, stderr=writing)
    os.close(writing)
    with os.fdopen(reading) as stream:
        assert '"started"' in stream.readline()
    assert process.wait() == 0
    assert whole(tmp_path)


def test_a_reader_that_closes_before_the_answer_is_not_an_error(
    command: list[str], tmp_path: Path
) -> None:
    """The reader is like that of `askew … | head -1`."""
    process = fork(command)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    assert process.wait() == 0, errors
    assert all(line.startswith("{") for line in errors.splitlines()), errors
    assert whole(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "closed",
    [
        *(pytest.param(text, marks=pytest.mark.slow) for text in ("<&-", ">&-", "2>&-")),
        "<&- >&- 2>&-",
    ],
)
def test_streams_that_are_closed(command: list[str], closed: str, tmp_path: Path) -> None:
    """A new interpreter has to find its streams closed."""
    line = f'"{sys.executable}" -m askew "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *command], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert whole(tmp_path)


def test_a_terminal_that_is_closed(command: list[str], tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = fork(command, stderr=theirs)
    os.close(theirs)
    assert os.read(ours, 1)
    os.close(ours)
    output, _ = process.communicate()
    assert process.returncode == 0
    assert "report:" in output
    assert whole(tmp_path)
