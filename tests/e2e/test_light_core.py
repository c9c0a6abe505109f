"""An installation of askew without its extras: linked from this environment, or by pip (slow).

Audits by labels, comparisons and exports work. Other commands name the package that they need.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from PIL import Image

import askew

ROOT = Path(__file__).parents[2]
SCRIPT = """
import contextlib, io, json, sys
from askew.cli import run

outcomes = []
for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(command)
    outcomes.append({"code": code, "out": out.getvalue(), "err": err.getvalue()})
print(json.dumps(outcomes))
"""
PIP = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(
    scope="module", params=["linked", pytest.param("installed", marks=pytest.mark.slow)]
)
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an environment with only askew and its dependencies."""
    environment = tmp_path_factory.mktemp("core") / "env"
    venv.create(environment)
    if request.param == "linked":
        link(environment)
    else:
        install(environment)
    return environment


def link(environment: Path) -> None:
    """Link askew and the distributions that it requires, which are installed here already."""
    library = next(environment.glob("lib/python*/site-packages"))
    (library / "askew").symlink_to(Path(askew.__file__).parent)
    for package in required("askew", {}).values():
        for name in {file.parts[0] for file in package.files or ()}:
            source = Path(str(package.locate_file(name)))
            if name != ".." and source.exists() and not (library / name).exists():
                (library / name).symlink_to(source)
    command = environment / "bin" / "askew"
    python = environment / "bin" / "python"
    command.write_text(f"#!{python}\nfrom askew.__main__ import main\n\nmain()\n")
    command.chmod(0o755)


def required(name: str, packages: dict[str, Distribution]) -> dict[str, Distribution]:
    """Add a distribution and all that it requires without extras to `packages`, by their names."""
    if name not in packages:
        packages[name] = distribution(name)
        for line in packages[name].requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                required(requirement.name, packages)
    return packages


def install(environment: Path) -> None:
    """Install askew and its dependencies from a package index."""
    order = [*PIP, "--python", str(environment), "install", "--no-compile"]
    limits = ["-c", str(ROOT / "constraints.txt")]
    if subprocess.run([*order, *limits, str(ROOT)], check=False).returncode:
        reach = [*PIP, "download", "--no-deps", "--dest", str(environment / "reached"), "hatchling"]
        if subprocess.run(reach, check=False).returncode:
            pytest.skip("pip reaches no package index, from which the core could be installed")
        pytest.fail("the core cannot be installed")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Draw plain images as if by two models, with labels: 3 of 12 women in one, 9 in the other."""
    folder = tmp_path_factory.mktemp("pictures")
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("file", "model", "prompt", "gender"))
        for model, women in (("one", 3), ("two", 9)):
            for k in range(12):
                name = f"{model}-{k}.png"
                Image.effect_noise((32, 32), 20 + 5 * k).convert("RGB").save(folder / name)
                rows.writerow(
                    (name, model, "a photo of a nurse", "female" if k < women else "male")
                )
    return folder


def execute(core: Path, cwd: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Execute a program of the environment."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    program, *arguments = command
    return subprocess.run(
        [str(core / "bin" / program), *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
    )


NEEDS_TORCH = {
    "the model 'studio'": ["--model", "studio"],
    "the model 'diffusers/some/model'": ["--model", "diffusers/some/model"],
    "the vqa 'studio'": ["--model", "studio/planted", "--vqa", "studio"],
}
"""Options that need the package torch, by the part that needs it."""


@pytest.fixture(scope="module")
def outcomes(core: Path, pictures: Path) -> dict[str, dict[str, Any]]:
    """Return the exit codes and outputs of commands in a single interpreter, by their names."""
    audit = [
        "audit",
        "--model",
        f"folder/{pictures}",
        "--vqa",
        "labels",
        "--label",
        "gender=gender",
    ]
    commands = {
        "models": ["models"],
        "audit of one": [*audit, "--where", "model=one", "--run", "one"],
        "audit of two": [*audit, "--where", "model=two", "--run", "two"],
        "compare": ["compare", "one", "two"],
        "export": ["export", "one", "--format", "csv"],
    }
    for part, options in NEEDS_TORCH.items():
        commands[part] = ["audit", "a photo of a nurse", "--images", "2", *options]
    done = execute(core, pictures, "python", "-c", SCRIPT, json.dumps(list(commands.values())))
    assert done.returncode == 0, done.stderr
    return dict(zip(commands, json.loads(done.stdout.splitlines()[-1]), strict=True))


def test_packages_of_networks_are_not_installed(core: Path) -> None:
    installed = {path.name for path in next(core.glob("lib/python*/site-packages")).iterdir()}
    assert "askew" in installed
    assert not installed & {
        "torch",
        "transformers",
        "diffusers",
        "safetensors",
        "huggingface_hub",
        "matplotlib",
    }


def test_help_and_lists(core: Path, outcomes: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    assert "audit" in execute(core, tmp_path, "askew", "--help").stdout
    shown = outcomes["models"]["out"]
    assert "studio/planted" in shown
    assert "transformers" in shown, "what could be installed is listed too"


def test_audits_by_labels_are_compared(outcomes: dict[str, dict[str, Any]]) -> None:
    for name in ("audit of one", "audit of two"):
        assert outcomes[name]["code"] == 0, outcomes[name]
        assert "report.html" in outcomes[name]["out"]
    shown = outcomes["compare"]["out"]
    assert (
        "two differs significantly from one" in shown
        or "one differs significantly from two" in shown
    )
    assert "female" in shown


def test_estimates_are_exported(outcomes: dict[str, dict[str, Any]]) -> None:
    rows = list(csv.DictReader(outcomes["export"]["out"].splitlines()))
    assert {row["method"] for row in rows} == {"audit"}
    assert {"distance", "shares"} <= {row["score"] for row in rows}


@pytest.mark.parametrize("part", NEEDS_TORCH)
def test_errors_name_the_extra_to_install(part: str, outcomes: dict[str, dict[str, Any]]) -> None:
    assert outcomes[part]["code"] == 2
    assert (
        f"askew: {part} needs the package 'torch'. Install it in a clone of askew's "
        "repository with: pip install '.[models]'" in outcomes[part]["err"]
    )
    assert "Traceback" not in outcomes[part]["err"]
