"""Ways to mitigate several biases, each in as many fresh pictures, over prompts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from askew.methods.interact.findings import AS_IT_IS, THIS_MIXTURE, WORST_AXIS, Graph, Mixture, Strategy, Way
from askew.methods.interact.graph import graphs, tables
from askew.methods.interact.mitigation import measured, strategies
from askew.methods.interact.score import scoring_of
from askew.types import Estimate, Missing, Prompt
from planted_answers import INSTRUMENT, known, observed, planned, planted

NURSE = "a photo of a nurse"
PLAN = planned([NURSE], ("gender", "age", "clothing"), draws=100)
(BARE,) = graphs({None: tables(planted(PLAN, 4)[NURSE], PLAN.prompts[0].axes, INSTRUMENT)}, PLAN, scoring_of(PLAN))
NULL = 0.06


def graph(*left: float) -> Graph:
    """The graph of a prompt with two axes, whose ways leave these distances."""
    ways = [Way(name, 48, dict.fromkeys(("gender", "age"), Estimate(own, null=NULL)))
            for name, own in zip((AS_IT_IS, WORST_AXIS, THIS_MIXTURE), left, strict=False)]  # fmt: skip
    return replace(BARE, mixture=Mixture((), {}, {}, tuple(ways)))


GRAPHS = [BARE, graph(0.5, 0.3, 0.1), graph(0.4, 0.2, 0.2), graph(0.6, 0.4, 0.15), graph()]


def by_name(graphs: list[Graph]) -> dict[str, Strategy]:
    return {one.strategy: one for one in strategies(graphs, 0.95)}


def test_what_is_left_is_the_mean_over_prompts_less_what_few_pictures_show() -> None:
    found = by_name(GRAPHS)
    assert list(found) == [AS_IT_IS, WORST_AXIS, THIS_MIXTURE]
    final = np.array([0.3, 0.2, 0.4])
    bias = known(found[WORST_AXIS].final_bias)
    assert (bias.value, bias.n) == (pytest.approx(0.3 - NULL), 3)
    assert (bias.low, bias.high) == pytest.approx(stats.t.interval(0.95, 2, final.mean() - NULL, stats.sem(final)))


def test_ways_are_compared_with_the_mixture_prompt_by_prompt() -> None:
    found = by_name(GRAPHS)
    beyond, paired = known(found[WORST_AXIS].beyond_mixture), stats.ttest_1samp([0.2, 0.0, 0.25], 0)
    assert (beyond.value, beyond.p) == (pytest.approx(0.15), pytest.approx(paired.pvalue))
    assert found[THIS_MIXTURE].beyond_mixture is None


def test_nothing_is_compared_where_nothing_was_drawn_or_an_axis_could_not_be_read() -> None:
    assert strategies([BARE, graph(), replace(BARE, mixture=Missing("not_asked"))], 0.95) == ()
    (way, *others) = GRAPHS[1].mixture.ways  # type: ignore[union-attr]
    unread = replace(way, distances={"gender": Estimate(0.1), "age": Missing("no_person")})
    assert strategies([replace(BARE, mixture=Mixture((), {}, {}, (unread, *others)))], 0.95) == ()


def test_in_a_fair_world_no_way_leaves_a_bias_and_none_is_better() -> None:
    prompt, scoring = PLAN.prompts[0], scoring_of(PLAN)
    claimed = []
    for world in range(20):
        drawn = []
        for k in range(6):
            ways = [
                measured(name, prompt, observed(Prompt(NURSE), prompt.axes, 32, 0.0, seed=100 * world + 10 * k + j),
                         PLAN, scoring)
                for j, name in enumerate((AS_IT_IS, WORST_AXIS, THIS_MIXTURE))
            ]  # fmt: skip
            drawn.append(replace(BARE, mixture=Mixture((), {}, {}, tuple(ways))))
        found = by_name(drawn)
        left = [known(one.final_bias) for one in found.values()]
        more = [known(found[name].beyond_mixture) for name in (AS_IT_IS, WORST_AXIS)]
        claimed += [(e.low or 0) > 0 for e in left] + [(e.low or 0) > 0 or (e.high or 0) < 0 for e in more]
    assert np.mean(claimed) < 0.12
