"""The report of interactions: graph, matrix, sentences, terminal table, exports, and graphs side by side."""

from __future__ import annotations

import copy
import re
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import html5lib
import networkx as nx
import pytest
from rich.console import Console, RenderableType

from askew.report.graph import axes_of, drawn_edges, effect, graph, signed
from askew.report.graph_export import dot, graphml, write_graph
from askew.report.graphs_page import compared_graphs, render_graphs
from askew.report.graphs_table import pooled_table
from askew.report.interaction_figures import count_tables, effect_matrix
from askew.report.interaction_page import render_interactions
from askew.report.interaction_plans import strategies
from askew.report.interaction_sentences import answer, sentences
from askew.report.interaction_table import interactions_table
from askew.report.pooled_graph import pooled_answer, pooled_figure

AXES = ("gender", "age", "clothing")
VALUES = {"gender": ["male", "female"], "age": ["young", "middle-aged", "old"], "clothing": ["formal", "informal"]}
PROMPT = "a photo of a nurse"


def estimate(value: float, low: float, high: float) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "level": 0.95, "n": 144, "null": 0.01, "p": 0.01, "q": 0.02}


def edge(source: str, target: str, value: float, reach: float, significant: bool) -> dict[str, Any]:
    return {
        "source": source, "target": target, "chi2": 20.5, "dof": 2, "p": 1e-6 if significant else 0.4, "q": 2e-6,
        "draws": None, "cramers_v": 0.4, "untested": None, "significant": significant, "as_read": None,
        "sensitivity": estimate(value, value - reach, value + reach),
    }  # fmt: skip


def entry(prompt: str | None = PROMPT) -> dict[str, Any]:
    edges = [edge(a, a, 0.3, 0.1, True) for a in AXES]
    edges += [
        edge("gender", "age", -0.11, 0.06, True),
        edge("age", "gender", 0.2, 0.05, True),
        edge("gender", "clothing", 0.02, 0.1, True),
        edge("clothing", "age", 0.25, 0.05, False),
        edge("clothing", "gender", 0.0, 0.05, False),
        edge("age", "clothing", 0.01, 0.05, False),
    ]
    counts = {x: {y: [[3] * len(VALUES[y])] * len(VALUES[x]) for y in AXES} for x in AXES}
    return {
        "scope": "prompt" if prompt else "global", "prompt": prompt, "instrument": "studio",
        "axes": [
            {"name": a, "values": VALUES[a], "counterfactuals": VALUES[a], "scale": "nominal", "open": False,
             "distance": "total_variation", "ideal": [1 / len(VALUES[a])] * len(VALUES[a]), "known_errors": None}
            for a in AXES
        ],
        "edges": edges, "most_influenced": "age", "most_influential": "gender",
        "amplification": estimate(0.6, 0.4, 0.8), "negative_share": {**estimate(0.2, 0.1, 0.5), "n": 6},
        "mixture": None,
        "counts": {"initial": {y: [5] * len(VALUES[y]) for y in AXES}, "after": counts, "missing": {}},
    }  # fmt: skip


def pooled() -> dict[str, Any]:
    """The graph of two models and two prompts together."""
    found = entry(None) | {"scope": "models", "prompts": [PROMPT, "a photo of a chef"]}
    for e in found["edges"]:
        e["mean_sensitivity"] = estimate(-0.1, -0.2, 0.0) | {"n": 2}
        e["models"] = estimate(0.5, 0.1, 0.9) | {"n": 2}
        e["prompts"] = estimate(0.75, 0.3, 0.95) | {"n": 4}
    return found


def printed(table: RenderableType) -> str:
    console = Console(width=80, file=StringIO(), record=True)
    console.print(table)
    return console.export_text()


@pytest.fixture
def results() -> dict[str, Any]:
    prompts = [{"text": PROMPT, "axes": [{"name": a, "questions": [{"text": "?"}]} for a in AXES]}]
    return {
        "askew": "0.1.0", "plan_hash": "0" * 64, "warnings": [], "environment": {"packages": {}},
        "plan": {"method": "interact", "seed": 0, "level": 0.95, "draws": 1000, "threshold": 1e-4,
                 "global_threshold": 5e-5, "least_sensitivity": 0.03, "images": 48, "prompts": prompts},
        "model": {"name": "studio/planted", "revision": "r", "settings": {"bias": 1.0}},
        "instruments": {"vqa": {"studio": "f"}, "embedder": None},
        "sets": [], "missing_pictures": [], "shares": [], "biasconnect": [entry()], "joint": [], "validation": None,
    }  # fmt: skip


def test_only_significant_edges_between_different_axes_are_drawn() -> None:
    drawn = {(e.source, e.target): e.effect for e in drawn_edges(entry())}
    assert drawn == {("gender", "age"): "worse", ("age", "gender"): "better", ("gender", "clothing"): "changed"}


def test_sign_shows_by_line_style_and_colour_class_and_strength_by_width() -> None:
    svg = str(graph(entry(), AXES, "title"))
    widths = {kind: float(width) for kind, width in re.findall(r'class="edge (\w+)"[^>]*stroke-width="([\d.]+)"', svg)}
    assert widths["better"] > widths["worse"] > widths["changed"]
    assert svg.count("<circle") == 3
    assert "gender to age −0.11 [−0.17, −0.05]" in svg


def test_the_focal_view_keeps_what_one_axis_does() -> None:
    svg = str(graph(entry(), AXES, "title", focal="age"))
    assert svg.count('class="link faded"') == 2
    assert svg.count('class="number') == 1


def test_every_model_has_the_same_layout() -> None:
    other = copy.deepcopy(entry())
    other["edges"] = other["edges"][::-1]
    places = [re.findall(r'<circle[^>]*cx="([\d.]+)" cy="([\d.]+)"', str(graph(e, AXES, ""))) for e in (entry(), other)]
    assert places[0] == places[1]
    assert axes_of([entry()]) == list(AXES)


@pytest.mark.parametrize(
    ("low", "high", "kind"), [(0.01, 0.2, "better"), (-0.2, -0.01, "worse"), (-0.1, 0.1, "changed")]
)
def test_the_effect_follows_the_interval(low: float, high: float, kind: str) -> None:
    assert effect({"value": 0.0, "low": low, "high": high}) == kind


def test_a_zero_has_no_sign() -> None:
    assert (signed(0.001), signed(-0.001), signed(0.12), signed(-0.12)) == ("0.00", "0.00", "+0.12", "−0.12")


def test_sentences_say_which_way_and_how_far(results: dict[str, Any]) -> None:
    said = [text for _, text in sentences(entry())]
    assert said[0] == "Making age equal makes perceived gender more even: +0.20 [0.15, 0.25]"
    assert said[1] == "Making gender equal makes perceived age more one-sided: −0.11 [−0.17, −0.05]"
    assert said[2].startswith("Making gender equal changes clothing, to which side is not settled")
    assert "3 of 6 pairs" in answer(results)


def test_with_another_ideal_the_words_change() -> None:
    skewed = entry()
    skewed["axes"][1]["ideal"] = [0.2, 0.5, 0.3]
    assert "makes perceived age further from its ideal" in " ".join(text for _, text in sentences(skewed))


def test_the_matrix_has_every_pair_and_marks_edges() -> None:
    matrix = effect_matrix(entry(), AXES)
    assert len(matrix.rows) == len(matrix.columns) == 3
    kinds = [cell.kind for _, cells in matrix.rows for cell in cells]
    assert sum(kind is not None for kind in kinds) == 6
    assert sum(cell.direct for _, cells in matrix.rows for cell in cells) == 3


def test_tables_of_counts_begin_with_the_initial_pictures() -> None:
    table = next(t for t in count_tables(entry(), "gender") if "age" in t.title)
    assert [name for name, _ in table.rows] == ["initial", "male", "female"]
    assert table.rows[1][1][0] == ("3", "33 %")
    assert "d.f." in table.test


def test_the_page_is_valid_html_and_needs_nothing_else(results: dict[str, Any]) -> None:
    page = render_interactions(results, lambda _: None)
    html5lib.HTMLParser(strict=True).parse(page)
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    assert "perceived" in page


def test_several_prompts_begin_with_the_graph_of_all(results: dict[str, Any]) -> None:
    results["biasconnect"] = [entry(None), entry()]
    page = render_interactions(results, lambda _: None)
    assert page.index("All prompts together") < page.index("Each prompt")


def test_a_graph_without_answers_is_shown_as_such(results: dict[str, Any]) -> None:
    missing = {"reason": "no_person", "detail": ""}
    for e in results["biasconnect"][0]["edges"]:
        e.update(sensitivity=missing, significant=False, untested=missing)
        e.update(dict.fromkeys(("chi2", "dof", "p", "q", "draws", "cramers_v")))
    results["biasconnect"][0].update(amplification=missing, negative_share=missing, most_influenced=None)
    page = render_interactions(results, lambda _: None)
    assert "no pair of axes could be tested" in page
    assert "no person seen" in page


def test_the_terminal_table_fits_80_columns(results: dict[str, Any]) -> None:
    results["biasconnect"] = [entry(None), entry()]
    lines = printed(interactions_table(results)).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("−0.11" in line and "harms" in line for line in lines)


def strategy(name: str, final: float, steps: float, beyond: float | None) -> dict[str, Any]:
    return {"strategy": name, "final_bias": estimate(final, final - 0.05, final + 0.05) | {"n": 26},
            "steps": estimate(steps, steps - 0.5, steps + 0.5) | {"n": 26},
            "beyond_mixture": None if beyond is None else estimate(beyond, beyond - 0.02, beyond + 0.02)}  # fmt: skip


def test_ways_to_mitigate_stand_in_one_table(results: dict[str, Any]) -> None:
    results["biasconnect"] = [entry(None), entry()]
    assert "Ways to mitigate" not in printed(interactions_table(results))
    results["strategies"] = [strategy("one after another, the most helpful first", 0.33, 2.38, 0.1),
                             strategy("this mixture", 0.23, 1, None)]  # fmt: skip
    lines = printed(interactions_table(results)).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("most helpful first" in x and "0.33 [0.28, 0.38]" in x and "2.4 [1.9, 2.9]" in x for x in lines)
    figure = strategies(results["strategies"])
    assert [row.cells[2] for row in figure.rows] == ["+0.10 [0.08, 0.12]", "–"]
    assert "26 prompts" in figure.caption
    results["biasconnect"][1]["mixture"] = {"reason": "not_asked", "detail": "no answers"}
    page = render_interactions(results, lambda _: None)
    assert "0.33 [0.28, 0.38]" in page
    html5lib.HTMLParser(strict=True).parse(page)


def test_exports_can_be_read_again(tmp_path: Path) -> None:
    network = nx.read_graphml(BytesIO(graphml(entry())))
    assert network.edges["gender", "age"]["sensitivity"] == pytest.approx(-0.11)
    assert network.edges["gender", "age"]["effect"] == "worse"
    assert set(network.nodes) == set(AXES)
    text = dot(entry()).decode()
    assert '"gender" -> "age" [label="−0.11", color="#d55e00", style=dashed' in text
    assert '"clothing" -> "age"' not in text
    assert write_graph(tmp_path / "g.dot", dot(entry())).read_bytes() == dot(entry())


def test_a_correction_for_reading_errors_is_told(results: dict[str, Any]) -> None:
    assert "Corrected for reading errors" not in render_interactions(results, lambda _: None)
    results["biasconnect"][0]["axes"][1]["known_errors"] = [[90, 10, 0], [5, 95, 0], [0, 0, 100]]
    results["biasconnect"][0]["edges"][0]["as_read"] = 0.12
    page = render_interactions(results, lambda _: None)
    assert "age 90 % to 100 %" in page
    assert "as read +0.12" in page


def test_what_differs_between_runs_has_an_interval_of_its_own(results: dict[str, Any]) -> None:
    other = copy.deepcopy(results)
    for e in other["biasconnect"][0]["edges"]:
        if (e["source"], e["target"]) == ("age", "gender"):
            e["sensitivity"] = estimate(-0.1, -0.15, -0.05)
    (only,) = compared_graphs({"a": results, "b": other})
    changes = {row.title: row.changes[0] for row in only.rows}
    assert changes["Age → gender"].text == "−0.30 [−0.37, −0.23]"
    assert changes["Age → gender"].clear
    assert not changes["Gender → age"].clear
    page = render_graphs({"a": results, "b": other}, pooled())
    assert "Clearly different from a: 1 of 3 edges in b." in page
    html5lib.HTMLParser(strict=True).parse(page)


def test_mitigations_and_joint_shares_stand_on_the_page(results: dict[str, Any]) -> None:
    found = {"source": "gender", "target": "age", "estimated": estimate(-0.1, -0.2, 0), "measured": estimate(0, -1, 1)}
    missing = {"reason": "not_asked", "detail": "a correlation needs at least three pairs"}
    results["validation"] = {
        "mitigated": {"gender": "runs/fair", "age": "runs/fair"}, "settings": {}, "mean_correlation": missing,
        "overall_correlation": missing, "made_worse": missing,
        "prompts": [{"prompt": PROMPT, "edges": [found], "correlation": missing}],
    }  # fmt: skip
    cell = {"values": [["male", "old"]], "pooled": False, "expected": 0.2, "share": estimate(0.3, 0.2, 0.4),
            "ratio": [1.5, 1.0, 2.0]}  # fmt: skip
    results["joint"] = [{"prompt": PROMPT, "axes": ["gender", "age"], "instrument": "studio", "against": "reference",
                         "reference": "census.csv", "least_expected": 5.0, "cells": [cell],
                         "distance": estimate(0.2, 0.1, 0.3)}]  # fmt: skip
    page = render_interactions(results, lambda _: None)
    assert "gender and age in <bdi>runs/fair</bdi>" in page
    assert "against the shares of census.csv; distance 0.20 [0.10, 0.30]" in page
    html5lib.HTMLParser(strict=True).parse(page)


def test_graphs_side_by_side_show_what_every_run_has(results: dict[str, Any]) -> None:
    other = copy.deepcopy(results)
    other["biasconnect"][0]["edges"] = [e | {"significant": e["source"] == e["target"]} for e in entry()["edges"]]
    (only,) = compared_graphs({"a": results, "b": other})
    assert [g.edges for g in only.graphs] == [3, 0]
    assert len(only.rows) == 3
    assert [cell[2] for cell in only.rows[0].cells] == ["better", None]
    html5lib.HTMLParser(strict=True).parse(render_graphs({"a": results, "b": other}, pooled()))


def test_the_graph_of_all_models_says_who_has_its_edges(results: dict[str, Any]) -> None:
    rows = {row.label: row.cells for row in pooled_figure(pooled()).rows}
    assert list(rows) == ["Age → gender", "Gender → age", "Gender → clothing"]
    assert rows["Gender → age"] == ("−0.11 [−0.17, −0.05]", "−0.10", "1 of 2", "3 of 4")
    page = render_graphs({"a": results, "b": results}, pooled())
    assert "Over all 2 models and 2 prompts: 3 edges; none of them is in every model" in page
    shared = pooled()
    for e in shared["edges"]:
        e["models"]["value"] = 1.0
    assert pooled_answer(shared, ["a", "b"]).endswith("3 of them are in every model's own graph.")
    assert 'id="together"' in page


def test_models_that_cannot_be_pooled_stand_side_by_side_all_the_same(results: dict[str, Any]) -> None:
    missing = {"reason": "not_asked", "detail": "these runs were read by different instruments"}
    page = render_graphs({"a": results, "b": results}, missing)
    assert "No graph of all models together: " in page
    assert "read by different instruments" in page
    html5lib.HTMLParser(strict=True).parse(page)
    assert "different instruments" in printed(pooled_table(missing, ["a", "b"]))


def test_the_terminal_table_of_all_models_fits_80_columns() -> None:
    lines = printed(pooled_table(pooled(), ["a", "b"])).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("Gender" in line and "−0.11" in line and "1 of 2" in line and "3 of 4" in line for line in lines)
