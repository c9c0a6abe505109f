"""One graph for several models, against the equations worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path
from typing import Any

import html5lib
import numpy as np
import pytest
from rich.console import Console
from scipy.stats import chi2_contingency

import made_graphs as made
from askew import findings as findings_of
from askew.methods.interact.findings import Edge, Graph, InteractionFindings
from askew.methods.interact.graph import CountedAxis, Tables, graphs, pooled, recorded_tables
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.score import scoring_of
from askew.pages import html, terminal
from askew.pages.blocks import Lanes
from askew.studies.graphs.page import changes, graphs_of, page, shared_prompts
from askew.studies.graphs.pooled import ModelGraphs, PooledEdge, PooledGraph, model_graphs, pooled_graph
from askew.types import Estimate, Missing
from planted_answers import INSTRUMENT, head, known, planned

NURSE, MECHANIC, CHEF = "a photo of a nurse", "a photo of a mechanic", "a photo of a chef"
PLAN = planned([NURSE, MECHANIC], ("gender", "age"))
AXES = (
    CountedAxis("gender", ("male", "female"), ("male", "female"), "nominal", np.array([0.5, 0.5])),
    CountedAxis("age", ("young", "middle-aged", "old"), ("young", "middle-aged", "old"), "ordinal", np.full(3, 1 / 3)),
)
OWN = {"gender": np.array([[9900, 100], [100, 9900]]), "age": np.eye(3, dtype=int) * 9700 + 100}

A_NURSE, A_MECHANIC = [[6000, 3000, 1000], [2000, 3000, 5000]], [[5000, 4000, 1000], [3000, 3000, 4000]]
B_NURSE, B_MECHANIC = [[3000, 4000, 3000], [3000, 4000, 3000]], [[7000, 2000, 1000], [4000, 4000, 2000]]
"""Ages in the pictures of men and women, so many that the correction for few pictures is next to nothing."""

A_INITIAL, B_INITIAL = [2500, 3000, 4500], [3000, 4000, 3000]


def tables(ages: list[list[int]], initial: list[int], genders: Sequence[int] = (2000, 8000)) -> Tables:
    """One prompt, its pictures' ages by gender as given, their genders by age alike."""
    alike = np.array([[5000, 5000]] * 3)
    after = {("gender", "age"): np.array(ages), ("age", "gender"): alike,
             **{(name, name): table for name, table in OWN.items()}}  # fmt: skip
    return Tables(
        AXES,
        {"gender": np.array([genders]), "age": np.array([initial])},
        {pair: table[None] for pair, table in after.items()},
        {"gender": 0, "age": 0},
    )


def found(by_prompt: dict[str, Tables], plan: InteractionPlan = PLAN) -> InteractionFindings:
    """What a run with these tables finds, of the parts that a pooled graph is made from."""
    together = {None: pooled(list(by_prompt.values()))} if len(by_prompt) > 1 else {}
    drawn = graphs({**together, **by_prompt}, plan, scoring_of(plan))
    return head(plan).into(
        InteractionFindings, missing_pictures=(), shares=(), confusion=(), biasconnect=tuple(drawn),
        over_prompts=(), joint=(),
        validation=None,
    )  # fmt: skip


def edge(graph: PooledGraph, source: str, target: str) -> PooledEdge:
    return next(e for e in graph.edges if (e.source, e.target) == (source, target))


def own_edge(graph: Graph, source: str, target: str) -> Edge:
    return next(e for e in graph.edges if (e.source, e.target) == (source, target))


@pytest.fixture(scope="module")
def runs() -> dict[str, InteractionFindings]:
    a = {NURSE: tables(A_NURSE, A_INITIAL), MECHANIC: tables(A_MECHANIC, A_INITIAL)}
    b = {NURSE: tables(B_NURSE, B_INITIAL), MECHANIC: tables(B_MECHANIC, B_INITIAL)}
    return {"a": found(a), "b": found(b)}


@pytest.fixture(scope="module")
def graph(runs: dict[str, InteractionFindings]) -> PooledGraph:
    return together(*runs.values())


def together(*runs: InteractionFindings) -> PooledGraph:
    pooled = pooled_graph(runs)
    assert isinstance(pooled, PooledGraph)
    return pooled


def distance(counts: np.ndarray) -> float:
    """W1 of ages from equal shares, over ranks, divided by its range."""
    return float(np.abs(np.cumsum(counts / counts.sum() - 1 / 3))[:2].sum() / 2)


def test_tables_come_back_as_they_were_recorded(runs: dict[str, InteractionFindings]) -> None:
    own, back = tables(A_NURSE, A_INITIAL), recorded_tables(runs["a"].biasconnect[1])
    assert back.after.keys() == own.after.keys()
    for pair, table in own.after.items():
        assert np.array_equal(back.after[pair], table)
    assert all(np.array_equal(back.initial[name], counts) for name, counts in own.initial.items())
    assert [axis.name for axis in back.axes] == ["gender", "age"]


def test_the_pooled_graph_adds_up_the_tables_of_all_models_and_prompts(graph: PooledGraph) -> None:
    added = np.sum([A_NURSE, A_MECHANIC, B_NURSE, B_MECHANIC], axis=0)
    assert np.array_equal(graph.counts.after["gender"]["age"], added)
    statistic = chi2_contingency(added, correction=False).statistic
    assert edge(graph, "gender", "age").chi2 == pytest.approx(statistic, rel=1e-12)
    assert (graph.scope, graph.prompts) == ("models", (NURSE, MECHANIC))


def test_the_pooled_sensitivity_is_that_of_equations_9_to_11(graph: PooledGraph) -> None:
    initial = np.sum([A_INITIAL, A_INITIAL, B_INITIAL, B_INITIAL], axis=0)
    after = np.sum([A_NURSE, A_MECHANIC, B_NURSE, B_MECHANIC], axis=(0, 1))
    pair = edge(graph, "gender", "age")
    assert known(pair.sensitivity).value == pytest.approx(distance(initial) - distance(after), abs=1e-3)
    assert pair.significant == (pair.size > PLAN.least_sensitivity)
    assert not edge(graph, "age", "gender").significant


def test_the_mean_over_models_joins_their_own_sensitivities(
    runs: dict[str, InteractionFindings], graph: PooledGraph
) -> None:
    own = [known(own_edge(run.biasconnect[0], "gender", "age").sensitivity) for run in runs.values()]
    joined = known(edge(graph, "gender", "age").mean_sensitivity)
    mean = (own[0].value + own[1].value) / 2
    assert joined.value == pytest.approx(mean, abs=1e-12)
    assert joined.low == pytest.approx(mean - np.hypot(*(e.value - e.low for e in own)) / 2)
    assert joined.high == pytest.approx(mean + np.hypot(*(e.high - e.value for e in own)) / 2)
    assert joined.n == 2


def test_shares_count_the_models_and_the_prompts_graphs_that_have_the_edge(
    runs: dict[str, InteractionFindings], graph: PooledGraph
) -> None:
    own = [own_edge(run.biasconnect[0], "gender", "age").significant for run in runs.values()]
    single = [own_edge(g, "gender", "age").significant for run in runs.values() for g in run.biasconnect[1:]]
    assert single == [True, True, False, True]  # in model b the nurses' ages are alike
    pair = edge(graph, "gender", "age")
    models, prompts = known(pair.models), known(pair.prompts)
    assert (models.value, models.n) == (np.mean(own), 2)
    assert (prompts.value, prompts.n) == (0.75, 4)
    assert prompts.low < 0.75 < prompts.high
    assert known(edge(graph, "age", "gender").prompts).value == 0


def test_the_same_run_twice_agrees_with_itself(runs: dict[str, InteractionFindings]) -> None:
    pair, alone = (edge(together(runs["a"], runs["a"]), "gender", "age"),
                   own_edge(runs["a"].biasconnect[0], "gender", "age"))  # fmt: skip
    assert known(pair.mean_sensitivity).value == known(alone.sensitivity).value
    assert pair.chi2 == pytest.approx(2 * (alone.chi2 or 0))


def test_the_order_of_the_runs_changes_nothing(runs: dict[str, InteractionFindings], graph: PooledGraph) -> None:
    other = together(*reversed(runs.values()))
    for one in graph.edges:
        same = edge(other, one.source, one.target)
        assert same.chi2 == pytest.approx(one.chi2)
        for name in ("sensitivity", "mean_sensitivity", "models", "prompts"):
            ours, theirs = known(getattr(one, name)), known(getattr(same, name))
            assert (theirs.value, theirs.low, theirs.high) == pytest.approx((ours.value, ours.low, ours.high))


def test_only_shared_prompts_count(runs: dict[str, InteractionFindings]) -> None:
    more = {NURSE: tables(B_NURSE, B_INITIAL), CHEF: tables(A_NURSE, A_INITIAL)}
    shared = together(runs["a"], found(more, planned([NURSE, CHEF], ("gender", "age"))))
    assert shared.prompts == (NURSE,)
    assert np.array_equal(shared.counts.after["gender"]["age"], np.add(A_NURSE, B_NURSE))
    alone = found({CHEF: tables(A_NURSE, A_INITIAL)}, planned([CHEF], ("gender", "age")))
    assert pooled_graph([runs["a"], alone]) == Missing("not_asked", "these runs share no prompt")


def test_a_pair_that_one_model_could_not_test_is_missing_there(runs: dict[str, InteractionFindings]) -> None:
    nobody = {p: tables([[0, 0, 0], [0, 0, 0]], A_INITIAL) for p in (NURSE, MECHANIC)}
    pair = edge(together(runs["a"], found(nobody)), "gender", "age")
    lost = [(e.n, e.missing) for e in map(known, (pair.models, pair.prompts, pair.mean_sensitivity))]
    assert lost == [(1, 1), (2, 2), (1, 1)]


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("instrument", "clip/other", "different instruments"),
        ("ideal", (0.3, 0.7), "gender against different shares"),
        ("known_errors", ((90, 10), (20, 80)), "gender are corrected in some of these runs alone"),
    ],
)
def test_runs_whose_numbers_mean_different_things_are_not_added_up(
    runs: dict[str, InteractionFindings], part: str, value: Any, reason: str
) -> None:
    def changed(one: Graph) -> Graph:
        first, *others = one.axes
        told = {part: value}
        return replace(one, **told) if part == "instrument" else replace(one, axes=(replace(first, **told), *others))

    other = replace(runs["b"], biasconnect=tuple(map(changed, runs["b"].biasconnect)))
    none = pooled_graph([runs["a"], other])
    assert isinstance(none, Missing)
    assert reason in none.detail


def test_runs_with_other_rules_are_not_added_up(runs: dict[str, InteractionFindings]) -> None:
    other = replace(runs["b"], plan=PLAN.model_copy(update={"distance": "nominal"}))
    none = pooled_graph([runs["a"], other])
    assert isinstance(none, Missing)
    assert "different rules" in none.detail


def test_labelled_pictures_of_both_models_tell_the_instruments_errors_together() -> None:
    def run(counts: list[list[int]]) -> InteractionFindings:
        read = tables(A_NURSE, A_INITIAL)
        axes = (replace(AXES[0], known_errors=np.array(counts)), AXES[1])
        return found({NURSE: replace(read, axes=axes)}, planned([NURSE], ("gender", "age")))

    first, second = run([[90, 10], [20, 80]]), run([[45, 5], [15, 85]])
    both, same = together(first, second), together(first, first)
    assert both.axes[0].known_errors == ((135, 15), (35, 165))
    assert same.axes[0].known_errors == ((90, 10), (20, 80))
    assert isinstance(edge(same, "gender", "gender").sensitivity, Estimate)
    assert both.instrument == INSTRUMENT


def test_what_is_written_comes_back(tmp_path: Path, runs: dict[str, InteractionFindings]) -> None:
    made = model_graphs(runs)
    path = findings_of.write(made, tmp_path / "graphs.json")
    assert findings_of.adapter(ModelGraphs).validate_json(path.read_bytes()) == made


def rendered(runs: dict[str, InteractionFindings], pooled: PooledGraph | Missing) -> str:
    text = html.page(page(runs, pooled))
    html5lib.HTMLParser(strict=True).parse(text)
    return text


def printed(runs: dict[str, InteractionFindings], pooled: PooledGraph | Missing) -> list[str]:
    console = Console(width=80, file=StringIO(), record=True)
    console.print(terminal.screen(page(runs, pooled)))
    return console.export_text().splitlines()


def made_pooled(**changes: Any) -> PooledGraph:
    """The graph of two models and two prompts together."""
    own = made.graph(None)
    parts = {field.name: getattr(own, field.name) for field in fields(own)}
    told = {"mean_sensitivity": made.estimate(-0.1, -0.2, 0.0, 2), "models": made.estimate(0.5, 0.1, 0.9, 2),
            "prompts": made.estimate(0.75, 0.3, 0.95, 4)} | changes  # fmt: skip
    edges = [PooledEdge(**{field.name: getattr(e, field.name) for field in fields(e)}, **told) for e in own.edges]
    more = {"scope": "models", "edges": tuple(edges), "prompts": (NURSE, CHEF)}
    return PooledGraph(**{**parts, **more})


def with_edges(change: Callable[[Edge], Edge]) -> InteractionFindings:
    own = made.graph()
    return made.findings(replace(own, edges=tuple(map(change, own.edges))))


def test_what_differs_between_runs_has_an_interval_of_its_own() -> None:
    def other(one: Edge) -> Edge:
        moved = made.estimate(-0.1, -0.15, -0.05)
        return replace(one, sensitivity=moved) if (one.source, one.target) == ("age", "gender") else one

    runs = {"a": made.findings(), "b": with_edges(other)}
    clear, *others = changes(graphs_of(runs, made.PROMPT))
    assert ((clear.edge.source, clear.edge.target), clear.clear) == (("age", "gender"), True)
    ends = (clear.score.value, clear.score.low, clear.score.high)
    assert ends == pytest.approx((-0.3, -0.3 - np.hypot(0.05, 0.05), -0.3 + np.hypot(0.05, 0.05)))
    assert not any(one.clear for one in others)
    assert "Clearly different from a: 1 of 3 edges in b." in rendered(runs, made_pooled())


def test_graphs_side_by_side_show_what_every_run_has() -> None:
    other = with_edges(lambda one: replace(one, significant=one.direct))
    runs = {"a": made.findings(), "b": other}
    assert shared_prompts(runs) == [made.PROMPT]
    assert page(runs, made_pooled()).answer.endswith("a has 3 edges and b has 0 edges.")
    assert rendered(runs, made_pooled()).count("Gender → age") > 1


def test_the_graph_of_all_models_says_who_has_its_edges() -> None:
    both = {"a": made.findings(), "b": made.findings()}
    (section,) = [one for one in page(both, made_pooled()).sections if one.title == "All models together"]
    (lanes,) = [block for block in section.blocks if isinstance(block, Lanes)]
    rows = {row.label: row.more for row in lanes.rows}
    assert rows["Gender → age"] == ("−0.10", "1 of 2", "3 of 4")
    assert rows.keys() == {"Age → gender", "Gender → age", "Gender → clothing"}
    assert "Over all 2 models and 2 prompts: 3 edges; none of them is in every model" in rendered(both, made_pooled())
    shared = made_pooled(models=made.estimate(1.0, 0.2, 1.0, 2))
    assert "3 of them are in every model&#x27;s own graph." in rendered(both, shared)


def test_models_that_cannot_be_pooled_stand_side_by_side_all_the_same() -> None:
    both = {"a": made.findings(), "b": made.findings()}
    missing = Missing("not_asked", "these runs were read by different instruments")
    assert "No graph of all models together: these runs were read by different instruments." in rendered(both, missing)
    assert any("different instruments" in line for line in printed(both, missing))


def test_the_terminal_fits_80_columns() -> None:
    lines = printed({"a": made.findings(), "b": made.findings()}, made_pooled())
    assert max(map(len, lines)) <= 80
    assert any("Gender" in line and "−0.11" in line and "1 of 2" in line and "3 of 4" in line for line in lines)
