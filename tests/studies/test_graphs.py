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
from askew.methods.interact.findings import Edge, Graph, GraphAxis, InteractionFindings
from askew.pages import blocks, html, terminal
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


def unassociated(edge: Edge) -> Edge:
    return replace(edge, significant=edge.direct, p=0.4)


def rendered(runs: dict[str, InteractionFindings]) -> str:
    text = html.page(page(runs, model_graphs(runs)))
    html5lib.HTMLParser(strict=True).parse(text)
    return text


def sentences(runs: dict[str, InteractionFindings]) -> str:
    """Return the headline and the sentences below it."""
    shown = page(runs, model_graphs(runs))
    return f"{shown.answer} {shown.detail}"


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
    assert text in sentences(runs)
    alike = {
        "a": planted_graphs.findings(),
        "b": with_edges(unassociated),
    }
    answer = sentences(alike)
    assert (
        "The association (χ²) does not differ significantly between b and a for any of 6 pairs of "
        "axes. "
        "b and a have 0 of 3 edges in common. The sensitivity (IS) "
        "does not differ significantly between b and a for any of 6 pairs of axes." in answer
    )
    assert shared_prompts(alike) == [planted_graphs.PROMPT]
    assert rendered(alike).count("Gender → age") > 1


def test_a_pair_that_differs_without_an_edge_is_not_called_an_edge() -> None:
    bare = [with_edges(lambda edge, k=k: unassociated(turned(edge) if k else edge)) for k in (0, 1)]
    text = " ".join(" ".join(printed(dict(zip("ab", bare, strict=True)))).split())
    assert "a has 0 edges and b has 0 edges." in text
    assert "for pairs that are edges in either run or differ significantly. A positive" in text
    assert "Pair difference" in text


def more_associated(graph: Graph) -> Graph:
    """Return a graph in which the association of gender with age is stronger."""
    after = {**graph.counts.after["age"], "gender": ((45, 3), (24, 24), (3, 45))}
    counts = replace(graph.counts, after={**graph.counts.after, "age": after})
    edges = tuple(
        replace(edge, cramers_v=0.71) if (edge.source, edge.target) == ("age", "gender") else edge
        for edge in graph.edges
    )
    return replace(graph, counts=counts, edges=edges)


@pytest.mark.parametrize(("first", "sign", "word"), [("a", 1, "stronger"), ("b", -1, "weaker")])
def test_the_first_screen_shades_associations_that_differ(first: str, sign: int, word: str) -> None:
    graph = planted_graphs.graph()
    both = {"a": graph, "b": more_associated(graph)}
    runs = {name: planted_graphs.findings(both[name]) for name in sorted(both, key=first.__ne__)}
    screen = page(runs, model_graphs(runs)).first
    assert screen is not None
    (matrix,) = screen.chart
    assert isinstance(matrix, blocks.ScoreMatrix)
    assert matrix.columns == tuple(runs)
    levels = {row.label: row.cells[1].level for row in matrix.rows if row.cells[1]}
    assert [label for label, level in levels.items() if level] == ["Age → gender"]
    assert levels["Age → gender"] * sign > 0
    assert word in str(matrix.keys)


def other_reference(axis: GraphAxis) -> GraphAxis:
    return replace(axis, reference=(0.3, 0.7))


def test_associations_are_compared_whatever_the_reference() -> None:
    """The documented comparison with real images compared nothing: a run has the reference that
    the other run was counted for.
    """
    counted = {"age": {"gender": ((45, 3), (24, 24), (3, 45))}}
    changed = axes_with(other_reference).biasconnect[0]
    after = {**changed.counts.after, "age": {**changed.counts.after["age"], **counted["age"]}}
    changed = replace(changed, counts=replace(changed.counts, after=after))
    runs = {"real": planted_graphs.findings(), "b": planted_graphs.findings(changed)}
    differences = model_graphs(runs)
    assert not differences.changes
    assert len(differences.associations) == PAIRS
    significant = [change for change in differences.associations if change.is_significant]
    assert [(change.source, change.target) for change in significant] == [("age", "gender")]
    answer = sentences(runs)
    assert answer.startswith("The association (χ²) differs")
    assert "b and real have 3 of 3 edges in common." in answer
    assert "for 1 of 6 pairs of axes" in answer
    assert (
        "The sensitivities (IS) of b are not compared with real: gender has a different" in answer
    )
    assert "V in real" in rendered(runs)


def test_edges_are_compared_by_the_rule_of_the_first_run() -> None:
    by_q = replace(planted_graphs.graph(), edge_rule="q", alpha=1e-6)
    runs = {"a": planted_graphs.findings(), "b": planted_graphs.findings(by_q)}
    assert [change.later_edge for change in model_graphs(runs).associations].count(True) == 3
    runs = {"b": planted_graphs.findings(by_q), "a": planted_graphs.findings()}
    assert not any(change.later_edge for change in model_graphs(runs).associations)


def test_an_axis_without_counterfactuals_leaves_the_other_pairs_comparable() -> None:
    """Real images often show the counterfactuals of few axes."""
    graph = planted_graphs.graph()
    edges = tuple(edge for edge in graph.edges if edge.source != "gender")
    axes = (replace(graph.axes[0], counterfactuals=()), *graph.axes[1:])
    runs = {
        "real": planted_graphs.findings(replace(graph, edges=edges, axes=axes)),
        "b": planted_graphs.findings(),
    }
    differences = model_graphs(runs)
    assert differences.runs["b"].differs is None
    assert len(differences.changes) == len(differences.associations) == 4


def test_open_answers_are_aligned_by_concept() -> None:
    def opened(values: tuple[str, ...], rows: tuple[tuple[int, ...], ...]) -> InteractionFindings:
        graph = planted_graphs.graph()
        axis = replace(
            graph.axes[0], open=True, values=values, reference=(1 / len(values),) * len(values)
        )
        after = {**graph.counts.after, "age": {**graph.counts.after["age"], "gender": rows}}
        return planted_graphs.findings(
            replace(
                graph,
                axes=(axis, *graph.axes[1:]),
                counts=replace(graph.counts, after={**after, "gender": {}, "clothing": {}}),
                edges=tuple(
                    edge for edge in graph.edges if (edge.source, edge.target) == ("age", "gender")
                ),
            )
        )

    runs = {
        "a": opened(("man", "woman"), ((20, 0), (0, 20), (20, 0))),
        "b": opened(("woman", "man", "nurse"), ((0, 20, 0), (20, 0, 0), (0, 20, 0))),
    }
    (change,) = model_graphs(runs).associations
    assert change.p == 1


def axes_with(change: Callable[[GraphAxis], GraphAxis]) -> InteractionFindings:
    graph = planted_graphs.graph()
    return planted_graphs.findings(replace(graph, axes=(change(graph.axes[0]), *graph.axes[1:])))


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("reference", (0.3, 0.7), "gender has a different reference"),
        ("distance", "values", "gender has a different reference or a different distance measure"),
        ("known_errors", ((90, 10), (20, 80)), "gender are corrected in only one of the two runs"),
        ("counterfactuals", ("female", "male"), "gender has different values"),
        ("values", ("men", "women"), "gender has different values"),
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
    answer = sentences(runs)
    without_labels = differences.runs["b"].labels_differ is not None
    assert without_labels is (part in ("counterfactuals", "values"))
    start = "b is" if without_labels else "The sensitivities (IS) of b are"
    sentence = f"{start} not compared with a: {differences.runs['b'].differs}."
    assert sentence in answer
    assert sentence in " ".join(" ".join(printed(runs)).split())
    compared = {change.run for change in differences.associations}
    assert compared == ({"c"} if without_labels else {"b", "c"})


def test_runs_labeled_by_other_instruments_are_not_compared() -> None:
    assert differs(
        planted_graphs.findings(),
        planted_graphs.findings(replace(planted_graphs.graph(), instrument="clip")),
    ) == ("its images are labeled by a different instrument")


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    differences = model_graphs({"a": planted_graphs.findings(), "b": with_edges(turned)})
    path = findings_of.write(differences, tmp_path / "graphs.json")
    assert findings_of.adapter(ModelGraphs).validate_json(path.read_bytes()) == differences


def test_the_terminal_fits_80_columns_and_shows_what_differs() -> None:
    lines = printed({"a": planted_graphs.findings(), "b": with_edges(turned)})
    assert max(map(len, lines)) <= 80
    assert any("Age → gender" in line for line in lines)
