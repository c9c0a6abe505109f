"""A foreign package adds a model, a statistic and a method that work like askew's."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

# pip installs the example, which takes several seconds
pytestmark = pytest.mark.slow

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


SCRIPT = """
import contextlib, io, json, sys
import askew
from askew.cli import run

outcomes = []
for command in json.loads(sys.argv[1]):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = run(command)
    outcomes.append({"code": code, "text": text.getvalue()})
result = askew.variety("a flag", images=12, model_args={"redness": 0.5}, run="run")
outcomes.append({"code": 0, "text": str(result.findings.effective_colors.n)})
print(json.dumps(outcomes))
"""
"""Runs commands in a single interpreter, and then the function of the method in Python."""

FLAG = ["variety", "a flag", "-M", "redness=0.5"]
COMMANDS = {
    "overview": ["--help"],
    "help": ["variety", "--help"],
    "run": [*FLAG, "--images", "12", "--run", "run"],
    "dry run": [*FLAG, "--images", "24", "--dry-run", "--store", ".askew", "--run", "other"],
    "report": ["report", "run"],
    "export": ["export", "run", "--format", "csv"],
    "condition": [
        *[*FLAG, "--images", "12", "--run", "run"],
        *["--fail-if", "effective_colors.value < 4"],
    ],
}


@dataclass(frozen=True)
class Outcome:
    """Exit code and standard output of a command."""

    code: int
    text: str


@dataclass(frozen=True)
class Session:
    """Outcomes of the commands, by name, in the folder that contains the run."""

    folder: Path
    outcomes: dict[str, Outcome]

    def text(self, name: str, code: int = 0) -> str:
        assert self.outcomes[name].code == code
        return self.outcomes[name].text


@pytest.fixture(scope="module")
def session(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("run")
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(list(COMMANDS.values()))],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    outcomes = [Outcome(**outcome) for outcome in json.loads(done.stdout.splitlines()[-1])]
    return Session(folder, dict(zip([*COMMANDS, "python"], outcomes, strict=True)))


def test_it_has_a_command_with_help(session: Session) -> None:
    assert "variety" in session.text("overview")
    shown = session.text("help")
    assert "--images" in shown
    assert "--dry-run" in shown


def test_it_runs(session: Session) -> None:
    shown = session.text("run")
    assert "12 images by stripes" in shown
    assert shown.strip().endswith("report.html")


def test_it_has_a_dry_run(session: Session) -> None:
    assert "images      24 (12 stored, 12 left)" in session.text("dry run").splitlines()


def test_it_has_findings_that_are_read_back(session: Session) -> None:
    results = json.loads((session.folder / "run" / "results.json").read_text(encoding="utf-8"))
    assert 1 <= results["effective_colors"]["value"] <= 3
    assert sum(share["value"] for share in results["shares"].values()) == pytest.approx(1)


def test_it_has_a_page(session: Session) -> None:
    html = (session.folder / "run" / "report.html").read_text(encoding="utf-8")
    assert "as diverse as" in html
    assert session.text("report").strip().endswith("report.html")


def test_it_has_an_export(session: Session) -> None:
    rows = list(csv.DictReader(io.StringIO(session.text("export"))))
    assert [row["score"] for row in rows] == ["shares", "shares", "shares", "effective_colors"]
    assert [row["of"] for row in rows[:3]] == ["red", "green", "blue"]


def test_a_condition_on_its_score_holds(session: Session) -> None:
    session.text("condition", code=3)


def test_it_has_a_function_in_python(session: Session) -> None:
    assert session.text("python") == "12"
