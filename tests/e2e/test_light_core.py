"""An installation of askew without its extras, in a fresh environment.

Audits by labels, comparisons and exports work. Other commands name the package that they need.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
PIP = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an environment with only askew and its dependencies."""
    folder = tmp_path_factory.mktemp("core")
    venv.create(folder / "env")
    install = [
        *PIP,
        "--python",
        str(folder / "env"),
        "install",
        "--no-compile",
        "-c",
        str(ROOT / "constraints.txt"),
    ]
    if subprocess.run([*install, str(ROOT)], check=False).returncode:
        reach = [*PIP, "download", "--no-deps", "--dest", str(folder / "reached"), "hatchling"]
        if subprocess.run(reach, check=False).returncode:
            pytest.skip("pip reaches no package index, from which the core could be installed")
        pytest.fail("the core cannot be installed")
    return folder / "env"


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


def askew(core: Path, cwd: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    """Run the installed command and return its standard output and standard error."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    done = subprocess.run(
        [str(core / "bin" / "askew"), *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def runs(core: Path, pictures: Path) -> Path:
    """Return the folder of two finished runs, `one` and `two`."""
    for model in ("one", "two"):
        shown, _ = askew(
            core,
            pictures,
            "audit",
            "--model",
            f"folder/{pictures}",
            "--vqa",
            "labels",
            "--where",
            f"model={model}",
            "--label",
            "gender=gender",
            "--run",
            model,
        )
        assert "report.html" in shown
    return pictures


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


def test_help_and_lists(core: Path, tmp_path: Path) -> None:
    assert "audit" in askew(core, tmp_path, "--help")[0]
    shown, _ = askew(core, tmp_path, "models")
    assert "studio/planted" in shown
    assert "transformers" in shown, "what could be installed is listed too"


def test_audits_by_labels_are_compared(core: Path, runs: Path) -> None:
    shown, _ = askew(core, runs, "compare", "one", "two")
    assert (
        "two differs significantly from one" in shown
        or "one differs significantly from two" in shown
    )
    assert "female" in shown


def test_estimates_are_exported(core: Path, runs: Path) -> None:
    shown, _ = askew(core, runs, "export", "one", "--format", "csv")
    rows = list(csv.DictReader(shown.splitlines()))
    assert {row["method"] for row in rows} == {"audit"}
    assert {"distance", "shares"} <= {row["score"] for row in rows}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--model", "studio"), "the model 'studio'"),
        (("--model", "diffusers/some/model"), "the model 'diffusers/some/model'"),
        (("--model", "studio/planted", "--vqa", "studio"), "the vqa 'studio'"),
    ],
)
def test_errors_name_the_extra_to_install(
    arguments: tuple[str, ...], part: str, core: Path, tmp_path: Path
) -> None:
    _, errors = askew(
        core, tmp_path, "audit", "a photo of a nurse", "--images", "2", *arguments, code=2
    )
    assert (
        f"askew: {part} needs the package 'torch'. Install it with: pip install 'askew[models]'"
        in errors
    )
    assert "Traceback" not in errors
