"""Ways to mitigate several biases, over prompts, against means worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from askew.methods.interaction_strategies import MEASURED, compared_strategies
from askew.types import Estimate, Missing

IN_TURN = "one after another, the worst first"


def graph(totals: tuple[float, float, float], in_turn: list[str], measured: float | None = None) -> dict[str, Any]:
    """The graph of a prompt with two axes and the plan of its mixture."""
    axes = ("gender", "age")
    return {"mixture": {
        "before": dict.fromkeys(axes, Estimate(0.5)),
        "totals": dict(zip(("as it is", IN_TURN, "this mixture"), totals, strict=True)),
        "steps": {IN_TURN: in_turn},
        "measured": None if measured is None else dict.fromkeys(axes, Estimate(measured)),
    }}  # fmt: skip


GRAPHS = [
    {"mixture": None},  # of all prompts together
    graph((1.0, 0.6, 0.2), ["gender", "age"], 0.15),
    graph((0.8, 0.4, 0.4), ["age"], 0.21),
    graph((1.2, 0.8, 0.3), ["gender", "age"]),
    {"mixture": Missing("not_asked", "a prompt lacks answers")},
]


def by_name(graphs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["strategy"]: one for one in compared_strategies(graphs, 0.95)}


def test_means_over_prompts_are_those_of_a_t_test() -> None:
    found = by_name(GRAPHS)
    assert list(found) == ["as it is", IN_TURN, "this mixture", MEASURED]
    final = np.array([0.3, 0.2, 0.4])  # the totals of one after another, per axis
    low, high = stats.t.interval(0.95, 2, final.mean(), stats.sem(final))
    bias = found[IN_TURN]["final_bias"]
    assert (bias.value, bias.high, bias.n) == (pytest.approx(0.3), pytest.approx(high), 3)
    assert bias.low == pytest.approx(max(low, 0.0))
    assert found[IN_TURN]["steps"].value == pytest.approx(5 / 3)
    assert [found[name]["steps"].value for name in ("as it is", "this mixture", MEASURED)] == [0, 1, 1]


def test_what_is_left_beyond_the_mixture_is_compared_prompt_by_prompt() -> None:
    found = by_name(GRAPHS)
    beyond, paired = found[IN_TURN]["beyond_mixture"], stats.ttest_1samp([0.2, 0.0, 0.25], 0)
    assert (beyond.value, beyond.p) == (pytest.approx(0.15), pytest.approx(paired.pvalue))
    assert found["this mixture"]["beyond_mixture"] is None


def test_mixtures_that_were_drawn_are_told_apart_from_those_predicted() -> None:
    measured = by_name(GRAPHS)[MEASURED]
    assert (measured["final_bias"].value, measured["final_bias"].n) == (pytest.approx(0.18), 2)
    assert measured["beyond_mixture"].value == pytest.approx(np.mean([0.15 - 0.1, 0.21 - 0.2]))


def test_a_single_prompt_has_no_interval_and_no_mixture_no_table() -> None:
    assert by_name(GRAPHS[1:2])[IN_TURN]["final_bias"].low is None
    assert compared_strategies([GRAPHS[0], GRAPHS[-1]], 0.95) == []


def test_an_axis_without_answers_in_the_mixture_leaves_it_unmeasured() -> None:
    broken = graph((1.0, 0.6, 0.2), ["gender"], 0.15)
    broken["mixture"]["measured"]["age"] = Missing("no_person")
    assert MEASURED not in by_name([broken])
