"""A plan decides all results: commands that take a plan refuse options that repeat it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from askew.cli import application, commands, run

OTHER = {
    "audit": [["a photo of a nurse"], ["--images", "8"], ["--seed", "1"]],
    "classify": [
        ["--groups", "old man"],
        ["--images", "8"],
        ["--preset", "sd15-clip"],
        ["--seed", "0"],
    ],
    "edit": [
        ["--groups", "old man"],
        ["--images", "8"],
        ["-M", "num_inference_steps=3"],
        ["--seed", "0"],
    ],
    "mine": [["--images", "8"], ["--seed", "1"]],
    "mitigate": [
        ["a photo of a nurse"],
        ["--axes", "gender"],
        ["--eval-images", "8"],
        ["--seed", "1"],
    ],
    "interact": [
        ["a photo of a nurse"],
        ["--occupations"],
        ["--no-error-correction"],
        ["--seed", "1"],
    ],
    "map": [
        ["a photo of a nurse"],
        ["--concept", "woman"],
        ["--images", "8"],
        ["--seed", "1"],
    ],
    "rank": [
        ["a photo of a nurse"],
        ["--objective", "eq1"],
        ["--images", "8"],
        ["--seed", "1"],
    ],
}


def test_every_command_with_a_plan_is_tested() -> None:
    with_a_plan = set()
    for name in {name for name, _ in commands() if " " not in name}:
        options = application()[name].assemble_argument_collection()
        if any("--plan" in option.names for option in options):
            with_a_plan.add(name)
    assert with_a_plan == set(OTHER)


@pytest.mark.parametrize(
    ("command", "extra"), [(name, extra) for name, extras in OTHER.items() for extra in extras]
)
def test_options_with_a_plan_are_refused(
    command: str, extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "--plan", "plan.toml", *extra]) == 2
    assert "--plan contains everything that determines the results" in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.parametrize("command", OTHER)
def test_options_that_affect_no_results_are_accepted(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        run(
            [
                command,
                "--plan",
                "nowhere.toml",
                "--run",
                "here",
                "--store",
                "there",
                "--budget",
                "3",
            ]
        )
        == 2
    )
    assert "nowhere.toml" in capsys.readouterr().err
