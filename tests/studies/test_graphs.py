"""Graphs of several models side by side, and what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import html5lib
import numpy as np
import pytest
from rich.console import Console
from scipy.stats import norm

import planted_graphs
from askew import findings as findings_of
from askew.methods.interact.findings import Edge, GraphAxis, InteractionFindings
from askew.pages import html, terminal
from askew.studies.graph_differences import ModelGraphs, differs, model_graphs, shared_prompts
from askew.studies.graphs_page import page

PAIRS = 6
"""Ordered pairs of three axes."""


def with_edges(change: Callable[[Edge], Edge]) -> InteractionFindings:
    graph = planted_graphs.graph()
    return planted_graphs.findings(replace(graph, edges=tuple(map(change, graph.edges))))


def turned(edge: Edge) -> Edge:
    """Return an edge that decreases the deviation in the first run, and increases it here."""
    if (edge.source, edge.target) != ("age", "gender"):
        return edge
    return replace(edge, sensitivity=planted_graphs.estimate(-0.1, -0.15, -0.05))


def rendered(runs: dict[str, InteractionFindings]) -> str:
    text = html.page(page(runs, model_graphs(runs)))
    html5lib.HTMLParser(strict=True).parse(text)
    return text


def printed(runs: dict[str, InteractionFindings]) -> list[str]:
    console = Console(width=80, file=StringIO(), record=True)
    console.print(terminal.screen(page(runs, model_graphs(runs))))
    return console.export_text().splitlines()


def test_a_difference_has_a_single_and_a_simultaneous_interval() -> None:
    differences = model_graphs({"a": planted_graphs.findings(), "b": with_edges(turned)}).changes
    assert len(differences) == PAIRS  # an axis with itself is left out
    (change,) = [change for change in differences if change.determined]
    assert (change.run, change.prompt, change.source, change.target) == (
        "b",
        planted_graphs.PROMPT,
        "age",
        "gender",
    )
    reach = np.hypot(0.05, 0.05)
    ends = (change.difference.value, change.difference.low, change.difference.high)
    assert ends == pytest.approx((-0.3, -0.3 - reach, -0.3 + reach))
    wide = reach * norm.isf(0.025 / PAIRS) / norm.isf(0.025)
    assert change.simultaneous == pytest.approx((-0.3 - wide, -0.3 + wide))


def test_the_page_says_how_many_differ_and_shows_edges_of_either_run() -> None:
    runs = {"a": planted_graphs.findings(), "b": with_edges(turned)}
    text = "The sensitivity (IS) differs significantly between b and a for 1 of 6 pairs of axes."
    assert text in page(runs, model_graphs(runs)).answer
    alike = {
        "a": planted_graphs.findings(),
        "b": with_edges(lambda edge: replace(edge, significant=edge.direct)),
    }
    answer = page(alike, model_graphs(alike)).answer
    assert (
        "a has 3 edges and b has 0 edges. The sensitivity (IS) differs significantly between b and a "
        "for none of 6 pairs of axes." in answer
    )
    assert shared_prompts(alike) == [planted_graphs.PROMPT]
    assert rendered(alike).count("Gender → age") > 1
    assert "Clothing → age" not in " ".join(printed(alike))  # an edge in neither


def test_a_pair_that_differs_without_an_edge_is_not_called_an_edge() -> None:
    bare = [
        with_edges(lambda edge, k=k: replace(turned(edge) if k else edge, significant=edge.direct))
        for k in (0, 1)
    ]
    text = " ".join(" ".join(printed(dict(zip("ab", bare, strict=True)))).split())
    assert "a has 0 edges and b has 0 edges. The sensitivity (IS) differs " in text
    assert "of pairs that are an edge in either run or differ significantly. Positive:" in text
    assert "Pair difference" in text


def axes_with(change: Callable[[GraphAxis], GraphAxis]) -> InteractionFindings:
    graph = planted_graphs.graph()
    return planted_graphs.findings(replace(graph, axes=(change(graph.axes[0]), *graph.axes[1:])))


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("reference", (0.3, 0.7), "gender has another reference"),
        ("distance", "values", "gender has another reference or another distance"),
        ("values", ("men", "women"), "gender has other values"),
        ("known_errors", ((90, 10), (20, 80)), "gender are corrected in only one of the two runs"),
    ],
)
def test_runs_whose_numbers_mean_different_things_are_not_compared(
    part: str, value: Any, reason: str
) -> None:
    runs = {
        "a": planted_graphs.findings(),
        "b": axes_with(lambda axis: replace(axis, **{part: value})),
        "c": planted_graphs.findings(),
    }
    differences = model_graphs(runs)
    assert reason in (differences.runs["b"].differs or "")
    assert {change.run for change in differences.changes} == {"c"}
    answer = page(runs, differences).answer
    assert f"b is not compared with a: {differences.runs['b'].differs}." in answer
    assert "b is not compared with a" in " ".join(" ".join(printed(runs)).split())


def test_runs_labeled_by_other_instruments_are_not_compared() -> None:
    assert differs(
        planted_graphs.findings(),
        planted_graphs.findings(replace(planted_graphs.graph(), instrument="clip")),
    ) == ("its images are labeled by another instrument")


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    differences = model_graphs({"a": planted_graphs.findings(), "b": with_edges(turned)})
    path = findings_of.write(differences, tmp_path / "graphs.json")
    assert findings_of.adapter(ModelGraphs).validate_json(path.read_bytes()) == differences


def test_the_terminal_fits_80_columns_and_shows_what_differs() -> None:
    lines = printed({"a": planted_graphs.findings(), "b": with_edges(turned)})
    assert max(map(len, lines)) <= 80
    assert any("Age → gender" in line for line in lines)
