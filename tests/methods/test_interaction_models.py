"""One graph for several models, against the equations worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from askew.methods.biasconnect import biasconnect
from askew.methods.interaction_counts import CountedAxis, Tables, pooled, recorded_tables
from askew.methods.interaction_models import pooled_graph
from askew.plans.interactions import InteractionPlan
from askew.results.file import write_json
from askew.scoring.interactions import interaction_scoring
from askew.types import Estimate, Missing
from planted_answers import INSTRUMENT, planned

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


def results(folder: Path, by_prompt: dict[str, Tables], plan: InteractionPlan = PLAN) -> dict[str, Any]:
    """What a run with these tables writes, of the parts that a pooled graph is made from."""
    scoring = interaction_scoring(plan)
    graphs = [biasconnect(pooled(list(by_prompt.values())), plan, scoring, None)] if len(by_prompt) > 1 else []
    graphs += [biasconnect(own, plan, scoring, prompt) for prompt, own in by_prompt.items()]
    content = {"plan": plan.model_dump(), "biasconnect": graphs}
    found: dict[str, Any] = json.loads(write_json(folder / "results.json", content).read_text(encoding="utf-8"))
    return found


def edge(graph: Any, source: str, target: str) -> dict[str, Any]:
    found: dict[str, Any] = next(e for e in graph["edges"] if (e["source"], e["target"]) == (source, target))
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("models")
    a = {NURSE: tables(A_NURSE, A_INITIAL), MECHANIC: tables(A_MECHANIC, A_INITIAL)}
    b = {NURSE: tables(B_NURSE, B_INITIAL), MECHANIC: tables(B_MECHANIC, B_INITIAL)}
    return {"a": results(folder, a), "b": results(folder, b)}


@pytest.fixture(scope="module")
def graph(runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    found = pooled_graph(runs)
    assert isinstance(found, dict)
    return found


def distance(counts: np.ndarray) -> float:
    """W1 of ages from equal shares, over ranks, divided by its range."""
    return float(np.abs(np.cumsum(counts / counts.sum() - 1 / 3))[:2].sum() / 2)


def test_tables_come_back_as_they_were_recorded(runs: dict[str, dict[str, Any]]) -> None:
    own, found = tables(A_NURSE, A_INITIAL), recorded_tables(runs["a"]["biasconnect"][1])
    assert found.after.keys() == own.after.keys()
    for pair, table in own.after.items():
        assert np.array_equal(found.after[pair], table)
    assert all(np.array_equal(found.initial[name], counts) for name, counts in own.initial.items())
    assert [axis.name for axis in found.axes] == ["gender", "age"]


def test_the_pooled_graph_adds_up_the_tables_of_all_models_and_prompts(graph: dict[str, Any]) -> None:
    together = np.sum([A_NURSE, A_MECHANIC, B_NURSE, B_MECHANIC], axis=0)
    found = edge(graph, "gender", "age")
    assert graph["counts"]["after"]["gender"]["age"].tolist() == together.tolist()
    assert found["chi2"] == pytest.approx(chi2_contingency(together, correction=False).statistic, rel=1e-12)
    assert (graph["scope"], graph["prompts"]) == ("models", [NURSE, MECHANIC])


def test_the_pooled_sensitivity_is_that_of_equations_9_to_11(graph: dict[str, Any]) -> None:
    initial = np.sum([A_INITIAL, A_INITIAL, B_INITIAL, B_INITIAL], axis=0)
    after = np.sum([A_NURSE, A_MECHANIC, B_NURSE, B_MECHANIC], axis=(0, 1))
    found = edge(graph, "gender", "age")
    assert found["sensitivity"].value == pytest.approx(distance(initial) - distance(after), abs=1e-3)
    assert found["significant"] == (abs(found["sensitivity"].value) > PLAN.least_sensitivity)
    assert not edge(graph, "age", "gender")["significant"]


def test_the_mean_over_models_joins_their_own_sensitivities(
    runs: dict[str, dict[str, Any]], graph: dict[str, Any]
) -> None:
    own = [edge(run["biasconnect"][0], "gender", "age")["sensitivity"] for run in runs.values()]
    found = edge(graph, "gender", "age")["mean_sensitivity"]
    mean = (own[0]["value"] + own[1]["value"]) / 2
    assert found.value == pytest.approx(mean, abs=1e-12)
    assert found.low == pytest.approx(mean - np.hypot(*(e["value"] - e["low"] for e in own)) / 2)
    assert found.high == pytest.approx(mean + np.hypot(*(e["high"] - e["value"] for e in own)) / 2)
    assert found.n == 2


def test_shares_count_the_models_and_the_prompts_graphs_that_have_the_edge(
    runs: dict[str, dict[str, Any]], graph: dict[str, Any]
) -> None:
    own = [edge(run["biasconnect"][0], "gender", "age")["significant"] for run in runs.values()]
    single = [edge(g, "gender", "age")["significant"] for run in runs.values() for g in run["biasconnect"][1:]]
    assert single == [True, True, False, True]  # in model b the nurses' ages are alike
    found = edge(graph, "gender", "age")
    assert (found["models"].value, found["models"].n) == (np.mean(own), 2)
    assert (found["prompts"].value, found["prompts"].n) == (0.75, 4)
    assert found["prompts"].low < 0.75 < found["prompts"].high
    assert edge(graph, "age", "gender")["prompts"].value == 0


def test_the_same_run_twice_agrees_with_itself(runs: dict[str, dict[str, Any]]) -> None:
    twice = pooled_graph({"a": runs["a"], "again": runs["a"]})
    assert isinstance(twice, dict)
    recorded = edge(runs["a"]["biasconnect"][0], "gender", "age")
    found = edge(twice, "gender", "age")
    assert found["mean_sensitivity"].value == recorded["sensitivity"]["value"]
    assert found["chi2"] == pytest.approx(2 * recorded["chi2"])


def test_the_order_of_the_runs_changes_nothing(runs: dict[str, dict[str, Any]], graph: dict[str, Any]) -> None:
    other = pooled_graph(dict(reversed(runs.items())))
    for one in graph["edges"]:
        same = edge(other, one["source"], one["target"])
        assert same["chi2"] == pytest.approx(one["chi2"])
        for name in ("sensitivity", "mean_sensitivity", "models", "prompts"):
            ours, theirs = one[name], same[name]
            assert (theirs.value, theirs.low, theirs.high) == pytest.approx((ours.value, ours.low, ours.high))


def test_only_shared_prompts_count(tmp_path: Path, runs: dict[str, dict[str, Any]]) -> None:
    more = {NURSE: tables(B_NURSE, B_INITIAL), CHEF: tables(A_NURSE, A_INITIAL)}
    other = results(tmp_path, more, planned([NURSE, CHEF], ("gender", "age")))
    found = pooled_graph({"a": runs["a"], "other": other})
    assert isinstance(found, dict)
    assert found["prompts"] == [NURSE]
    assert found["counts"]["after"]["gender"]["age"].tolist() == np.add(A_NURSE, B_NURSE).tolist()
    alone = results(tmp_path, {CHEF: tables(A_NURSE, A_INITIAL)}, planned([CHEF], ("gender", "age")))
    assert pooled_graph({"a": runs["a"], "alone": alone}) == Missing("not_asked", "these runs share no prompt")


def test_a_pair_that_one_model_could_not_test_is_missing_there(tmp_path: Path, runs: dict[str, dict[str, Any]]) -> None:
    nobody = {p: tables([[0, 0, 0], [0, 0, 0]], A_INITIAL) for p in (NURSE, MECHANIC)}
    found = pooled_graph({"a": runs["a"], "nobody": results(tmp_path, nobody)})
    assert isinstance(found, dict)
    pair = edge(found, "gender", "age")
    assert (pair["models"].n, pair["models"].missing) == (1, 1)
    assert (pair["prompts"].n, pair["prompts"].missing) == (2, 2)
    assert (pair["mean_sensitivity"].n, pair["mean_sensitivity"].missing) == (1, 1)


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("instrument", "clip/other", "different instruments"),
        ("ideal", [0.3, 0.7], "gender against different shares"),
        ("known_errors", [[90, 10], [20, 80]], "gender are corrected in some of these runs alone"),
    ],
)
def test_runs_whose_numbers_mean_different_things_are_not_added_up(
    runs: dict[str, dict[str, Any]], part: str, value: Any, reason: str
) -> None:
    other = json.loads(json.dumps(runs["b"]))
    for one in other["biasconnect"]:
        (one if part == "instrument" else one["axes"][0])[part] = value
    found = pooled_graph({"a": runs["a"], "b": other})
    assert isinstance(found, Missing)
    assert reason in found.detail


def test_runs_with_other_rules_are_not_added_up(runs: dict[str, dict[str, Any]]) -> None:
    other = json.loads(json.dumps(runs["b"])) | {"plan": PLAN.model_copy(update={"distance": "nominal"}).model_dump()}
    found = pooled_graph({"a": runs["a"], "b": other})
    assert isinstance(found, Missing)
    assert "different rules" in found.detail


def test_labelled_pictures_of_both_models_tell_the_instruments_errors_together(tmp_path: Path) -> None:
    def run(counts: list[list[int]]) -> dict[str, Any]:
        read = tables(A_NURSE, A_INITIAL)
        axes = (replace(AXES[0], known_errors=np.array(counts)), AXES[1])
        return results(tmp_path, {NURSE: replace(read, axes=axes)}, planned([NURSE], ("gender", "age")))

    first, second = run([[90, 10], [20, 80]]), run([[45, 5], [15, 85]])
    found = pooled_graph({"a": first, "b": second})
    assert isinstance(found, dict)
    assert found["axes"][0]["known_errors"].tolist() == [[135, 15], [35, 165]]
    same = pooled_graph({"a": first, "b": first})
    assert isinstance(same, dict)
    assert same["axes"][0]["known_errors"].tolist() == [[90, 10], [20, 80]]
    assert isinstance(edge(same, "gender", "gender")["sensitivity"], Estimate)
    assert found["instrument"] == INSTRUMENT
