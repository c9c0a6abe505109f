"""Ways to mitigate several biases, over prompts, against means worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from askew.methods.interact.findings import Graph, MixedPrompt, Mixture, Strategy
from askew.methods.interact.graph import graphs, tables
from askew.methods.interact.mitigation import MEASURED, strategies
from askew.methods.interact.score import scoring_of
from askew.types import Estimate, Missing
from planted_answers import INSTRUMENT, known, planned, planted

IN_TURN = "one after another, the worst first"
PLAN = planned(["a photo of a nurse"], ("gender",), draws=100)
(BARE,) = graphs(
    {None: tables(planted(PLAN, 4)["a photo of a nurse"], PLAN.prompts[0].axes, INSTRUMENT)}, PLAN, scoring_of(PLAN)
)


def graph(totals: tuple[float, float, float], in_turn: list[str], measured: float | None = None) -> Graph:
    """The graph of a prompt with two axes and the plan of its mixture."""
    axes = ("gender", "age")
    mixture = Mixture(
        prompts=(MixedPrompt("a photo of a nurse", None, None, 1.0),),
        before=dict.fromkeys(axes, Estimate(0.5)),
        predicted=dict.fromkeys(axes, Estimate(0.1)),
        totals=dict(zip(("as it is", IN_TURN, "this mixture"), totals, strict=True)),
        steps={IN_TURN: tuple(in_turn)},
        measured=None if measured is None else dict.fromkeys(axes, Estimate(measured)),
    )
    return replace(BARE, mixture=mixture)


GRAPHS = [
    BARE,  # of all prompts together
    graph((1.0, 0.6, 0.2), ["gender", "age"], 0.15),
    graph((0.8, 0.4, 0.4), ["age"], 0.21),
    graph((1.2, 0.8, 0.3), ["gender", "age"]),
    replace(BARE, mixture=Missing("not_asked", "a prompt lacks answers")),
]


def by_name(graphs: list[Graph]) -> dict[str, Strategy]:
    return {one.strategy: one for one in strategies(graphs, 0.95)}


def test_means_over_prompts_are_those_of_a_t_test() -> None:
    found = by_name(GRAPHS)
    assert list(found) == ["as it is", IN_TURN, "this mixture", MEASURED]
    final = np.array([0.3, 0.2, 0.4])  # the totals of one after another, per axis
    low, high = stats.t.interval(0.95, 2, final.mean(), stats.sem(final))
    bias = known(found[IN_TURN].final_bias)
    assert (bias.value, bias.high, bias.n) == (pytest.approx(0.3), pytest.approx(high), 3)
    assert bias.low == pytest.approx(max(low, 0.0))
    assert known(found[IN_TURN].steps).value == pytest.approx(5 / 3)
    assert [known(found[name].steps).value for name in ("as it is", "this mixture", MEASURED)] == [0, 1, 1]


def test_what_is_left_beyond_the_mixture_is_compared_prompt_by_prompt() -> None:
    found = by_name(GRAPHS)
    beyond, paired = known(found[IN_TURN].beyond_mixture), stats.ttest_1samp([0.2, 0.0, 0.25], 0)
    assert (beyond.value, beyond.p) == (pytest.approx(0.15), pytest.approx(paired.pvalue))
    assert found["this mixture"].beyond_mixture is None


def test_mixtures_that_were_drawn_are_told_apart_from_those_predicted() -> None:
    measured = by_name(GRAPHS)[MEASURED]
    assert (known(measured.final_bias).value, known(measured.final_bias).n) == (pytest.approx(0.18), 2)
    assert known(measured.beyond_mixture).value == pytest.approx(np.mean([0.15 - 0.1, 0.21 - 0.2]))


def test_a_single_prompt_has_no_interval_and_no_mixture_no_table() -> None:
    assert known(by_name(GRAPHS[1:2])[IN_TURN].final_bias).low is None
    assert strategies([GRAPHS[0], GRAPHS[-1]], 0.95) == ()


def test_an_axis_without_answers_in_the_mixture_leaves_it_unmeasured() -> None:
    broken = graph((1.0, 0.6, 0.2), ["gender"], 0.15)
    assert isinstance(broken.mixture, Mixture)
    lacking = replace(broken.mixture, measured={"gender": Estimate(0.15), "age": Missing("no_person")})
    assert MEASURED not in by_name([replace(broken, mixture=lacking)])
