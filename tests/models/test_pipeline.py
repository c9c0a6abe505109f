"""Pipelines that stay closed: a finished run is shown from facts that were stored when it ran."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from askew import registry
from askew.cli import run
from askew.errors import UsageError
from askew.models.facts import remember_facts

HEAVY = {"torch", "transformers", "diffusers", "scipy.stats"}
MODEL = ["-M", "num_inference_steps=2", "--images", "2", "--model"]
COMMANDS = {
    "audit": ["a photo of a nurse", "--axes", "gender", "--bootstrap-samples", "100"],
    "map": [
        "a photo of a nurse",
        "--concept",
        "sex",
        "--against",
        "nurse",
        "--bootstrap-samples",
        "100",
    ],
    "edit": [
        "--edit-prompts",
        "job=nurse,pilot",
        "--groups",
        "man,woman",
        "--edit-arg",
        "num_inference_steps=4",
        "--bootstrap-samples",
        "100",
        "--embedder",
        "none",
        "--landmarks",
        "none",
        "--strengths",
        "0.5",
    ],
    "classify": [
        "--targets",
        "a=nurse,maid",
        "--targets",
        "b=pilot,chef",
        "--groups",
        "man,woman",
        "--samples",
        "1",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_finished_run_is_shown_without_importing_heavy_packages(
    command: str, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    arguments = [
        command,
        *COMMANDS[command],
        *MODEL,
        f"diffusers/{tiny('stable-diffusion')}",
        "--run",
        str(tmp_path / "it"),
    ]
    assert run(arguments) == 0
    written = (tmp_path / "it" / "results.json").read_bytes()
    code = f"import sys; from askew.cli import run; print(run({arguments!r}), *sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0", done.stderr
    assert (tmp_path / "it" / "results.json").read_bytes() == written


def test_a_pipeline_is_opened_after_its_files_or_settings_changed(copy: Path) -> None:
    def opened(**settings: object) -> bool:
        with remember_facts(known):
            return "network" in vars(registry.model(f"diffusers/{copy}", **settings))

    known: dict[str, object] = {}
    assert [opened(), opened(), opened(guidance_scale=2.0), opened(guidance_scale=2.0)] == [
        True,
        False,
        True,
        False,
    ]
    index = copy / "model_index.json"
    index.write_text(json.dumps(json.loads(index.read_text()), indent=3))
    assert [opened(), opened()] == [True, False]
    with pytest.raises(UsageError, match="nonsense"):
        opened(nonsense=1)
    assert "network" in vars(registry.model(f"diffusers/{copy}")), "where no run is looked at again"
