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

import made_graphs as made
from askew import findings as findings_of
from askew.methods.interact.findings import Edge, GraphAxis, InteractionFindings
from askew.pages import html, terminal
from askew.studies.graphs import ModelGraphs, differs, model_graphs, page, shared_prompts

PAIRS = 6
"""Ordered pairs of three axes."""


def with_edges(change: Callable[[Edge], Edge]) -> InteractionFindings:
    own = made.graph()
    return made.findings(replace(own, edges=tuple(map(change, own.edges))))


def turned(one: Edge) -> Edge:
    """Age → gender helps in the first run, and harms here."""
    moved = made.estimate(-0.1, -0.15, -0.05)
    return replace(one, sensitivity=moved) if (one.source, one.target) == ("age", "gender") else one


def rendered(runs: dict[str, InteractionFindings]) -> str:
    text = html.page(page(runs, model_graphs(runs)))
    html5lib.HTMLParser(strict=True).parse(text)
    return text


def printed(runs: dict[str, InteractionFindings]) -> list[str]:
    console = Console(width=80, file=StringIO(), record=True)
    console.print(terminal.screen(page(runs, model_graphs(runs))))
    return console.export_text().splitlines()


def test_what_differs_has_an_interval_of_its_own_and_one_that_holds_with_all_others() -> None:
    found = model_graphs({"a": made.findings(), "b": with_edges(turned)}).changes
    assert len(found) == PAIRS  # an axis on itself is told apart by construction
    (clear,) = [one for one in found if one.clear]
    assert (clear.run, clear.prompt, clear.source, clear.target) == (
        "b",
        made.PROMPT,
        "age",
        "gender",
    )
    reach = np.hypot(0.05, 0.05)
    ends = (clear.difference.value, clear.difference.low, clear.difference.high)
    assert ends == pytest.approx((-0.3, -0.3 - reach, -0.3 + reach))
    wide = reach * norm.isf(0.025 / PAIRS) / norm.isf(0.025)
    assert clear.simultaneous == pytest.approx((-0.3 - wide, -0.3 + wide))


def test_the_page_says_how_many_differ_and_shows_edges_of_either_run() -> None:
    runs = {"a": made.findings(), "b": with_edges(turned)}
    text = "The sensitivity (IS) of 1 of 6 pairs of axes differs significantly between b and a."
    assert text in page(runs, model_graphs(runs)).answer
    alike = {
        "a": made.findings(),
        "b": with_edges(lambda one: replace(one, significant=one.direct)),
    }
    answer = page(alike, model_graphs(alike)).answer
    assert (
        "a has 3 edges and b has 0 edges. The sensitivity (IS) of none of 6 pairs of axes differs"
        in answer
    )
    assert shared_prompts(alike) == [made.PROMPT]
    assert rendered(alike).count("Gender → age") > 1
    assert "Clothing → age" not in " ".join(printed(alike))  # an edge in neither


def test_a_pair_without_an_edge_that_surely_differs_is_called_no_edge() -> None:
    bare = [
        with_edges(lambda one, k=k: replace(turned(one) if k else one, significant=one.direct))
        for k in (0, 1)
    ]
    text = " ".join(" ".join(printed(dict(zip("ab", bare, strict=True)))).split())
    assert "a has 0 edges and b has 0 edges. The sensitivity (IS) of " in text
    assert "of pairs that have an edge in either run or surely differ;" in text
    assert "Pair change" in text


def axes_with(change: Callable[[GraphAxis], GraphAxis]) -> InteractionFindings:
    own = made.graph()
    return made.findings(replace(own, axes=(change(own.axes[0]), *own.axes[1:])))


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("reference", (0.3, 0.7), "gender is held against other shares"),
        ("distance", "values", "gender is held against other shares, or by another distance"),
        ("values", ("men", "women"), "gender has other values"),
        ("known_errors", ((90, 10), (20, 80)), "gender are corrected in one of them alone"),
    ],
)
def test_runs_whose_numbers_mean_different_things_are_not_compared(
    part: str, value: Any, reason: str
) -> None:
    runs = {
        "a": made.findings(),
        "b": axes_with(lambda axis: replace(axis, **{part: value})),
        "c": made.findings(),
    }
    found = model_graphs(runs)
    assert reason in (found.runs["b"].differs or "")
    assert {one.run for one in found.changes} == {"c"}
    assert f"b is not held against a: {found.runs['b'].differs}." in page(runs, found).answer
    assert "b is not held against a" in " ".join(" ".join(printed(runs)).split())


def test_another_instrument_reads_otherwise() -> None:
    assert differs(made.findings(), made.findings(replace(made.graph(), instrument="clip"))) == (
        "its pictures were read by another instrument"
    )


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    found = model_graphs({"a": made.findings(), "b": with_edges(turned)})
    path = findings_of.write(found, tmp_path / "graphs.json")
    assert findings_of.adapter(ModelGraphs).validate_json(path.read_bytes()) == found


def test_the_terminal_fits_80_columns_and_shows_what_differs() -> None:
    lines = printed({"a": made.findings(), "b": with_edges(turned)})
    assert max(map(len, lines)) <= 80
    assert any("Age → gender" in line for line in lines)
