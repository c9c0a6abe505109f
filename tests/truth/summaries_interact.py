"""What interactions say of worlds whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from askew.methods.interact.charts import summary
from askew.methods.interact.counts import GraphCounts, count_answers
from askew.methods.interact.findings import Graph, GraphAxis
from askew.methods.interact.graph import graphs, over_prompts
from askew.methods.interact.sentences import answer, answer_over_prompts, associated_pairs
from askew.pages.phrases import format_phrase
from askew.parts.scoring import Scoring
from askew.stats.distance import distance_for
from askew.stats.interaction_graph import correlation
from askew.stats.sensitivity import debiased_value
from askew.studies.graph_differences import model_graphs
from askew.studies.graphs_page import difference_sentences
from askew.types import Estimate
from made_graphs import findings
from planted_answers import INSTRUMENT, observed, planned
from truth.summary import Summary

AXES = ("gender", "age", "clothing", "environment", "emotion")
PROMPTS = [f"a photo of a {one}" for one in ("nurse", "firefighter", "chef")]
PLAN = planned(PROMPTS, AXES, bootstrap_samples=100)
NURSE = PROMPTS[0]
PAIRS = f"{len(AXES) * (len(AXES) - 1)} pairs"


def fair(rng: np.random.Generator, images: int = 48) -> GraphCounts:
    """The tables of a prompt in a world where every axis is even, whatever the prompt says of the
    others.
    """
    axes = tuple(
        GraphAxis(
            a.name,
            a.values,
            a.values,
            a.scale,
            False,
            distance_for("auto", a.scale),
            (1 / len(a.values),) * len(a.values),
            None,
        )
        for a in PLAN.prompts[0].axes
    )
    after = {
        (x.name, y.name): np.array(
            [
                [
                    rng.multinomial(images, np.eye(len(y.values))[k] if x is y else y.reference)
                    for k in range(len(x.values))
                ]
            ]
        )
        for x in axes
        for y in axes
    }
    initial = {axis.name: rng.multinomial(images, axis.reference)[None] for axis in axes}
    return GraphCounts(axes, initial, after, dict.fromkeys(initial, 0))


@cache
def alone(seed: int, bias: float = 0.0, prompt: int = 0) -> Graph:
    """The graph of a prompt in the planted world; at bias 0 in a fair one, where all prompts are
    alike.
    """
    one = PLAN.prompts[prompt]
    sets = [observed(p, one.axes, 48, bias, seed=seed) for p in one.prompts()] if bias else []
    counted = (
        count_answers(sets, one.axes, INSTRUMENT) if bias else fair(np.random.default_rng(seed))
    )
    return graphs({one.text: counted}, PLAN, Scoring.of(PLAN))[0]


def claims_alone(seed: int) -> bool:
    none = format_phrase("no_association", where=f"For “{NURSE}”", pairs=PAIRS)
    told = dict(summary(alone(seed)).terms)
    return answer(alone(seed)) != none or not told["Determined directions"].startswith(
        "0 increase and 0 decrease"
    )


def sum_claims(seed: int) -> bool:
    told = dict(summary(alone(seed)).terms)["Amplification, Σ |IS| minus chance"]
    return "not significantly above chance" not in told


def named_alone(seed: int) -> bool:
    """Gender → age and clothing → emotion were planted."""
    found = {(one.source, one.target) for one in alone(seed, 1.0).drawn}
    return found >= {("gender", "age"), ("clothing", "emotion")}


def together_claims(seed: int) -> bool:
    found = over_prompts(
        [replace(alone(3 * seed + k), prompt=one) for k, one in enumerate(PROMPTS)], 0.95
    )
    assert (
        answer_over_prompts(found)
        == f"Over 3 prompts, none of {PAIRS} of axes is significantly associated."
    ) is (not associated_pairs(found))
    return bool(associated_pairs(found))


def named_together(seed: int) -> bool:
    found = associated_pairs(over_prompts([alone(seed, 1.0, k) for k in range(2)], 0.95))
    return {("gender", "age"), ("clothing", "emotion")} <= {
        (one.source, one.target) for one in found
    }


def graphs_claim(seed: int) -> bool:
    """Two runs of one model with other seeds."""
    runs = {"a": findings(alone(2 * seed)), "b": findings(alone(2 * seed + 1))}
    found = model_graphs(runs)
    none = format_phrase("no_graph_difference", pairs=PAIRS, run="b", first="a")
    assert (list(difference_sentences(runs, found)) == [none]) is not any(
        one.determined for one in found.changes
    )
    return any(one.determined for one in found.changes)


def harm_claims(seed: int) -> bool:
    """As a mitigation that does nothing is measured: sets of the same world in the place of
    mitigated pictures.
    """
    found = alone(seed).negative_share
    return isinstance(found, Estimate) and (found.low or 0) > 0


def correlation_claims(seed: int) -> bool:
    """A mitigation that does nothing, each side with initial pictures of its own."""
    rng = np.random.default_rng(seed)
    sides = np.full((2, len(AXES), len(AXES)), np.nan)
    for side in sides:
        counted = fair(rng)
        for x, y in counted.pairs():
            if x != y:
                side[AXES.index(x), AXES.index(y)] = debiased_value(counted.pair(x, y))
    found = correlation(*sides, rng=rng, draws=99)
    return (getattr(found, "p", None) or 1) < 0.05


ROWS = [
    Summary(
        "A graph of interactions",
        ("no_association", "association", "effects", "no_effects"),
        "One prompt, five axes, 48 images per set. In a world without bias all axes are uniform and independent.",
        claims_alone,
        named_alone,
        0.9,
        runs=60,
        named_runs=10,
    ),
    Summary(
        "The sum of sensitivities",
        ("no_amplification", "amplification"),
        "The same graphs.",
        sum_claims,
        runs=60,
    ),
    Summary(
        "Interactions over several prompts",
        (
            "no_association_over_prompts",
            "association_over_prompts",
            "prompt_disagreement",
        ),
        "Three prompts in a world without bias. A nurse and a firefighter with planted associations.",
        together_claims,
        named_together,
        0.9,
        runs=25,
        named_runs=5,
    ),
    Summary(
        "Graphs of two models",
        ("graph_difference", "no_graph_difference"),
        "Two runs of one model with different seeds, in a world without bias.",
        graphs_claim,
        runs=60,
    ),
    Summary(
        "Estimated and measured effects",
        ("correlation", "no_correlation"),
        "A mitigation without effect, in a world without bias.",
        correlation_claims,
        runs=60,
    ),
    Summary(
        "Axes that a mitigation makes worse",
        ("worsening",),
        "A mitigation without effect, in the graph of a world without bias.",
        harm_claims,
        runs=60,
    ),
]
