"""The scripts of the SLURM example run, with the variables that SLURM sets."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "slurm"
JOBS = 2


def test_the_array_has_a_job_for_each_share() -> None:
    script = (EXAMPLE / "array.sbatch").read_text()
    (last,) = re.findall(r"^#SBATCH --array=1-(\d+)$", script, re.MULTILINE)
    assert f"JOBS=${{JOBS:-{last}}}" in script


@pytest.mark.slow
def test_the_scripts_of_an_array_give_a_report(tmp_path: Path) -> None:
    for script in EXAMPLE.glob("*.sbatch"):
        shutil.copy(script, tmp_path)
    command = tmp_path / "bin" / "askew"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m askew "$@"\n')
    command.chmod(0o755)
    (tmp_path / "disk").mkdir()
    variables = {
        **os.environ,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "SLURM_TMPDIR": str(tmp_path / "disk"),
        "JOBS": str(JOBS),
    }

    def call(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments, cwd=tmp_path, env={**variables, **more}, capture_output=True, text=True
        )

    options = ["--model", "studio/planted", "--axes", "gender", "--output", "plan.toml"]
    call("askew", "plan", "a photo of a nurse", *options).check_returncode()
    plan = tmp_path / "plan.toml"
    text = re.sub(r"^images = \d+", "images = 100", plan.read_text(), flags=re.MULTILINE)
    plan.write_text(text)
    # a last job that starts too early names the jobs to start
    call("bash", "array.sbatch", SLURM_ARRAY_TASK_ID="1").check_returncode()
    early = call("bash", "finish.sbatch")
    assert early.returncode == 1
    assert "Start the jobs again" in early.stderr
    call("bash", "array.sbatch", SLURM_ARRAY_TASK_ID="2").check_returncode()
    finished = call("bash", "finish.sbatch")
    assert finished.returncode == 0, finished.stderr
    results = json.loads((tmp_path / "results" / "results.json").read_text())
    assert results["warnings"] is not None
    assert (tmp_path / "results" / "report.html").exists()
