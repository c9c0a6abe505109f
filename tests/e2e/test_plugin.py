"""A foreign package adds a model, a statistic and a method that work like askew's."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "stripes"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which the example is installed without the network."""
    folder = tmp_path_factory.mktemp("site")
    source = folder / "source"
    for file in EXAMPLE.rglob("*"):
        if file.suffix in (".py", ".toml"):
            copy = source / file.relative_to(EXAMPLE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run(
        [*pip, "--target", str(folder / "site"), str(source)], check=True, capture_output=True
    )
    return folder / "site"


def askew(site: Path, *arguments: str, cwd: Path, code: int = 0) -> str:
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")]), *sys.path])
    command = [sys.executable, "-m", "askew", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    shown = askew(
        site, "variety", "a flag", "--images", "12", "-M", "redness=0.5", "--run", "run", cwd=folder
    )
    assert "12 images by stripes" in shown
    assert shown.strip().endswith("report.html")
    return folder / "run"


def test_it_has_a_command_with_help(site: Path, tmp_path: Path) -> None:
    assert "variety" in askew(site, "--help", cwd=tmp_path)
    shown = askew(site, "variety", "--help", cwd=tmp_path)
    assert "--images" in shown
    assert "--dry-run" in shown


def test_it_has_a_dry_run(site: Path, run: Path, tmp_path: Path) -> None:
    counted = ["variety", "a flag", "--images", "24", "-M", "redness=0.5", "--dry-run", "--store"]
    lines = askew(site, *counted, str(run.parent / ".askew"), cwd=tmp_path).splitlines()
    assert "images      24 (12 stored, 12 left)" in lines


def test_it_has_findings_that_are_read_back(run: Path) -> None:
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    assert 1 <= results["effective_colors"]["value"] <= 3
    assert sum(share["value"] for share in results["shares"].values()) == pytest.approx(1)


def test_it_has_a_page(site: Path, run: Path) -> None:
    html = (run / "report.html").read_text(encoding="utf-8")
    assert "as diverse as" in html
    (run / "report.html").unlink()
    askew(site, "report", str(run), cwd=run)
    assert (run / "report.html").read_text(encoding="utf-8") == html


def test_it_has_an_export(site: Path, run: Path) -> None:
    rows = list(
        csv.DictReader(io.StringIO(askew(site, "export", str(run), "--format", "csv", cwd=run)))
    )
    assert [row["score"] for row in rows] == ["shares", "shares", "shares", "effective_colors"]
    assert [row["of"] for row in rows[:3]] == ["red", "green", "blue"]


def test_a_condition_on_its_score_holds(site: Path, run: Path) -> None:
    again = [
        "variety",
        "a flag",
        "--images",
        "12",
        "-M",
        "redness=0.5",
        "--run",
        str(run),
        "--fail-if",
    ]
    askew(site, *again, "effective_colors.value < 4", cwd=run, code=3)


def test_it_has_a_function_in_python(site: Path, run: Path) -> None:
    code = (
        "import sys, askew; result = askew.variety('a flag', images=12, model_args={'redness': 0.5}, run=sys.argv[1]);"
        "print(result.findings.effective_colors.n)"
    )
    path = os.pathsep.join([str(site), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code, str(run)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.strip() == "12", done.stderr
