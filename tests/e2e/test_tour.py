"""The notebook of examples/ runs, and prints the outputs that it stores."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tools.tour import TOUR, execute, texts

pytestmark = pytest.mark.slow


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.usefixtures("one_thread")
def test_the_tour_runs_and_prints_what_it_stores(tmp_path: Path) -> None:
    stored = nbformat.read(TOUR, as_version=4)
    executed = execute(TOUR, tmp_path)
    assert texts(executed) == texts(stored)
    reports = ["<h1" in _html(cell) for cell in executed.cells if cell.cell_type == "code"]
    assert reports.count(True) == 3


def _html(cell: nbformat.NotebookNode) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
