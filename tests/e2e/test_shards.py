"""The results of several jobs of --shard, merged, equal the results of one machine."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from test_sweep import COMMANDS, DRAWS, NURSE, PLANTED

from askew.cli import run
from processes import start

DOCTOR = "a photo of a doctor"
JOBS = 4
MOST_ROUNDS = 40
AUDIT = ["audit", NURSE, DOCTOR, *PLANTED, "--images", "16", "--axes", "gender", *DRAWS]
UNTIL = [text for text in AUDIT if text not in ("--images", "16")]
LONG = {
    **COMMANDS,
    "audit until decided": [*UNTIL, "--until", "decided", "--max-images", "64"],
    "audit of biased axes": [*AUDIT, "--counterfactuals", "significant"],
    "audit of the studio": ["audit", NURSE, "--images", "2", "--axes", "gender", *DRAWS],
    "edit resized": [*COMMANDS["edit"], "--resize", "64"],
    "mitigate by images": [*COMMANDS["mitigate"], "--technique", "prompts,intermit"],
    "mine skew": [*COMMANDS["mine"], "--objective", "skew", "--axes", "gender,age"],
    "rank": ["rank", NURSE, DOCTOR, *PLANTED, "--images", "4", "--axes", "gender", *DRAWS],
}


def results(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    content.pop("environment")
    return content


def sharded(
    command: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """Return the results of a command whose images are made by jobs in rounds."""
    packs = str(folder / "packs")
    rounds: list[int] = []
    for _ in range(MOST_ROUNDS):
        for number in range(JOBS):
            assert run([*command, "--shard", f"{number + 1}/{JOBS}", "--packs", packs]) == 0
            output = capsys.readouterr().out.replace("\n", " ")
            for words in re.findall(r"round (\d+) of at most (\d+)", output):
                rounds += map(int, words)
                assert rounds[-2] <= rounds[-1]
        if "Next: askew merge" in output:
            break
    assert len(set(rounds[1::2])) <= 1, rounds
    assert run(["merge", packs, "--store", str(folder / ".askew")]) == 0
    capsys.readouterr()
    assert run([*command, "--run", str(folder / "run")]) == 0
    log = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line[:1] == "{"]
    makers = {event["name"] for event in log if event.get("stage") == "pictures"}
    # everything was in the packs, except average faces, which are computed from landmarks
    assert makers <= {"average face"}
    return results(folder / "run")


def assert_equal(
    command: Sequence[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--run", str(tmp_path / "single" / "run")]) == 0
    assert sharded(command, tmp_path / "shards", capsys) == results(tmp_path / "single" / "run")


def test_an_audit_of_four_jobs_equals_one_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*COMMANDS["audit"], "--vqa", "studio", "--embedder", "none"]
    assert_equal(command, tmp_path, capsys)


@pytest.mark.slow
def test_killed_jobs_are_started_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job is killed after each new file, and then runs twice at once."""
    packs = tmp_path / "shards" / "packs"
    command = [*AUDIT, "--images", "32", "--embedder", "none"]
    job = [*command, "--shard", "1/1", "--packs", str(packs)]
    for count in range(3):
        process = start(job)
        while process.poll() is None and len(list(packs.rglob("*.tar"))) <= 2 * count:
            time.sleep(0.02)
        process.kill()
        process.communicate()
    pair = [start(job), start(job)]
    outputs = [process.communicate()[0] for process in pair]
    assert [process.returncode for process in pair] == [0, 0], outputs
    assert_equal(command, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_four_jobs_equal_one_machine(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_equal(LONG[name], tmp_path, capsys)
