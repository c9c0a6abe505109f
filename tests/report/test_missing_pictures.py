"""The page and the terminal say where a model hides some groups more often than others."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from askew.report.html import render
from askew.report.sentences import missing_lines
from askew.report.table import terminal_table

Results = dict[str, Any]
SAID = "are missing more often for female (14 of 48) than for male (1 of 48)"


@pytest.fixture
def results(results_of: Callable[[str], Results]) -> Results:
    made = results_of("one axis")
    made["sets"][0]["missing"] = {"blank_image": 15}
    counts = {"male": {"missing": 1, "planned": 48}, "female": {"missing": 14, "planned": 48}}
    made["missing_pictures"] = [{"prompt": "a photo of a nurse", "axis": "gender", "counts": counts, "q": 0.001}]
    return made


def written(results: Results) -> tuple[str, str]:
    console = Console(width=400, record=True, file=StringIO())
    console.print(terminal_table(results))
    return render(results, lambda picture: None), console.export_text()


def test_the_terminal_says_it_of_interactions_and_of_edits(results: Results) -> None:
    assert any(SAID in line for line in missing_lines(results))
    results["missing_pictures"] = [results["missing_pictures"][0] | {"prompt": None, "targets": "high"}]
    assert "edits towards high" in missing_lines(results)[1]
    assert missing_lines({"sets": []}) == []


def test_both_say_it(results: Results) -> None:
    assert all(SAID in text for text in written(results))


def test_neither_says_it_of_a_difference_that_chance_would_make(results: Results) -> None:
    results["missing_pictures"][0]["q"] = 0.2
    assert not any(SAID in text for text in written(results))
