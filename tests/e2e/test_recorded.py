"""The numbers of small runs of all commands equal the recorded ones.

To change or rename numbers on purpose, record them again; the diff shows which changed: pytest
tests/e2e/test_recorded.py -m "slow or not slow" --record
"""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recorded_runs import RUNS, Workplace

FOLDER = Path(__file__).with_name("recorded")
INPUTS = frozenset({"askew", "environment", "plan", "model", "models", "instruments"})
"""Parts that describe the inputs and the place of a run, not its findings. Seeds of images are left
out, too.
"""
OTHER_PIXELS = 0.01
"""Largest change of a number where another processor rounds pixels of a network otherwise."""
THRESHOLDED = ("average_face", 0.05)
"""Tolerance of average faces, which count pixels by thresholds: rounding errors of landmarks can
move an interval.
"""
SHOWN = 12
"""Number of differences of a run that are shown."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if run.is_slow else ())
        for name, run in RUNS.items()
    ],
)
def test_numbers_equal_the_recorded_ones(
    name: str, workplace: Workplace, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    content = json.loads(workplace.file(name).read_text(encoding="utf-8"))
    content_numbers: dict[str, Any] = {
        "pictures": pictures(content),
        "results": numbers(without_inputs(content)),
    }
    if RUNS[name].counted:
        content_numbers["work"] = workplace.work(name)
    path = FOLDER / f"{name}.json"
    if pytestconfig.getoption("--record"):
        write(content_numbers, path)
    was: dict[str, Any] = dict(flat(json.loads(path.read_text(encoding="utf-8"))))
    assert was, f"{path} holds no number"
    drawn_alike = was.pop("pictures") == content_numbers.pop("pictures")
    changes = differences(
        was, dict(flat(content_numbers)), RUNS[name].tolerance if drawn_alike else OTHER_PIXELS
    )
    shown = "\n".join(changes[:SHOWN])
    assert not changes, (
        f"{name}: {len(changes)} of {len(was)} recorded numbers are missing or differ:\n{shown}"
    )


LOADED = (
    "audit_embedder",
    "audit_planted",
    "interact_fair",
    "mine_color",
    "map_models",
    "edit_groups",
    "classify_groups",
)
"""Runs that are shown without a network."""


@pytest.mark.slow
def test_finished_runs_are_shown_without_loading_a_network(workplace: Workplace) -> None:
    commands = []
    for name in LOADED:
        folder = workplace.folder(name)
        options = RUNS[name].options
        arguments = options(workplace) if options else ["--plan", str(folder / "plan.toml")]
        commands.append(
            [RUNS[name].counted, *arguments, "--run", str(folder), "--store", str(workplace.store)]
        )
    files = [workplace.folder(name) / "results.json" for name in LOADED]
    written = [file.read_bytes() for file in files]
    code = (
        "import sys; from askew.cli import run; loaded = {'torch', 'transformers', 'diffusers', 'scipy.stats'}; "
        f"done = [(run(command), loaded & set(sys.modules)) for command in {commands!r}]; print(done)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == str([(0, set())] * len(commands)), done.stderr
    assert [file.read_bytes() for file in files] == written


def test_a_difference_is_reported_with_its_address() -> None:
    was = dict(
        flat(
            numbers(
                {
                    "tibet": [
                        {"axis": "age"},
                        {"mad": {"value": 0.5, "p": 0.01, "n": 12, "low": None}},
                    ]
                }
            )
        )
    )
    assert was == {"tibet.1.mad.value": 0.5, "tibet.1.mad.p": 0.01, "tibet.1.mad.n": 12}
    now = {"tibet.1.mad.value": 0.5 + 1e-8, "tibet.1.mad.n": 12, "tibet.1.mad.q": 0.1}
    assert differences(was, now, 1e-9) == [
        "  tibet.1.mad.value: 0.5 was recorded, now 0.50000001",
        "  tibet.1.mad.p: 0.01 was recorded, now nothing",
    ]
    assert len(differences(was, now, 1e-5)) == 1


def without_inputs(content: Any) -> Any:
    """Return the content of a file of results without the inputs of the run."""
    return (
        {k: v for k, v in content.items() if k not in INPUTS}
        if isinstance(content, dict)
        else content
    )


def numbers(node: Any) -> Any:
    """Return the same tree with only its numbers, to 12 digits, and null elsewhere in lists."""
    if isinstance(node, dict):
        children = {name: numbers(value) for name, value in node.items() if name != "seeds"}
        return {name: value for name, value in children.items() if value is not None} or None
    if isinstance(node, list):
        items = [numbers(value) for value in node]
        return items if any(value is not None for value in items) else None
    if isinstance(node, float):
        return float(f"{node:.12g}")
    return node if isinstance(node, int) else None


def pictures(content: Any) -> str:
    """Return a hash of all images in the results."""
    sets = content.get("sets", ()) if isinstance(content, dict) else ()
    return hashlib.sha256(json.dumps([entry["pictures"] for entry in sets]).encode()).hexdigest()[
        :16
    ]


def flat(node: Any, address: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each leaf with its address of names and list positions, such as tibet.0.mad.value."""
    if isinstance(node, dict | list):
        for name, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from flat(value, f"{address}.{name}" if address else str(name))
    elif node is not None:
        yield address, node


def differences(was: dict[str, float], now: dict[str, float], tolerance: float) -> list[str]:
    """Return a line for each recorded number that is missing or differs too much.

    Numbers that are not recorded are allowed.
    """

    def near(address: str, value: float) -> bool:
        allowed = max(tolerance, THRESHOLDED[1]) if THRESHOLDED[0] in address else tolerance
        return address in now and math.isclose(
            value, now[address], rel_tol=allowed, abs_tol=allowed
        )

    return [
        f"  {address}: {value} was recorded, now {now.get(address, 'nothing')}"
        for address, value in was.items()
        if not near(address, value)
    ]


def write(content: Any, path: Path) -> None:
    """Record a run's numbers."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
