"""Claims about interactions in worlds whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from askew.methods.interact.charts import summary
from askew.methods.interact.counts import GraphCounts, count_answers
from askew.methods.interact.findings import Graph, GraphAxis
from askew.methods.interact.graph import graphs, over_prompts
from askew.methods.interact.sentences import answer, answer_over_prompts, associated_pairs
from askew.pages.phrases import format_phrase
from askew.parts.scoring import Scoring
from askew.plan import AxisPlan
from askew.stats.distance import distance_for
from askew.stats.interaction_graph import correlation
from askew.stats.sensitivity import debiased_value
from askew.studies.graph_differences import model_graphs
from askew.studies.graphs_page import difference_sentences
from askew.types import Estimate
from planted_answers import INSTRUMENT, observed, planned
from planted_graphs import findings
from truth.summary import Summary

AXES = ("gender", "age", "clothing", "environment", "emotion")
PROMPTS = [f"a photo of a {occupation}" for occupation in ("nurse", "firefighter", "chef")]
PLAN = planned(PROMPTS, AXES, bootstrap_samples=100)
NURSE = PROMPTS[0]
PAIRS = f"{len(AXES) * (len(AXES) - 1)} pairs"


def fair_counts(rng: np.random.Generator, images: int = 48) -> GraphCounts:
    """Return the counts of a prompt in a world where all axes are uniform and independent."""
    axes = [_fair_axis(axis) for axis in PLAN.prompts[0].axes]
    after = {}
    for source in axes:
        for target in axes:
            after[source.name, target.name] = _fair_table(source, target, images, rng)
    initial = {axis.name: rng.multinomial(images, axis.reference)[None] for axis in axes}
    return GraphCounts(
        axes=tuple(axes), initial=initial, after=after, missing=dict.fromkeys(initial, 0)
    )


def _fair_axis(axis: AxisPlan) -> GraphAxis:
    return GraphAxis(
        name=axis.name,
        values=axis.values,
        counterfactuals=axis.values,
        scale=axis.scale,
        open=False,
        distance=distance_for("auto", axis.scale),
        reference=(1 / len(axis.values),) * len(axis.values),
        known_errors=None,
    )


def _fair_table(
    source: GraphAxis, target: GraphAxis, images: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return counts (1, K, m) of the target in the counterfactual sets of the source."""
    rows = []
    for k in range(len(source.values)):
        is_direct = source is target
        shares = np.eye(len(target.values))[k] if is_direct else target.reference
        rows.append(rng.multinomial(images, shares))
    return np.array([rows])


@cache
def single_graph(seed: int, bias: float = 0.0, prompt: int = 0) -> Graph:
    """Return the graph of a prompt in the planted world, or at bias 0 in a fair world for all
    prompts.
    """
    planned_prompt = PLAN.prompts[prompt]
    axes = planned_prompt.axes
    if bias:
        sets = [observed(text, axes, 48, bias, seed=seed) for text in planned_prompt.prompts()]
        counts = count_answers(sets, axes, INSTRUMENT)
    else:
        counts = fair_counts(np.random.default_rng(seed))
    return graphs({planned_prompt.text: counts}, PLAN, Scoring.of(PLAN))[0]


def graph_claims(seed: int) -> bool:
    no_claim = format_phrase("no_association", where=f"For “{NURSE}”", pairs=PAIRS)
    facts = dict(summary(single_graph(seed)).terms)
    if answer(single_graph(seed)) != no_claim:
        return True
    return not facts["Determined directions"].startswith("0 increase and 0 decrease")


def sum_claims(seed: int) -> bool:
    facts = dict(summary(single_graph(seed)).terms)
    return "not significantly above chance" not in facts["Amplification, Σ |IS| minus chance"]


def planted_edges_are_found(seed: int) -> bool:
    """Check whether the planted edges gender → age and clothing → emotion are found."""
    edges = {(edge.source, edge.target) for edge in single_graph(seed, 1.0).drawn}
    return edges >= {("gender", "age"), ("clothing", "emotion")}


def prompts_claim(seed: int) -> bool:
    of_prompts = [
        replace(single_graph(3 * seed + k), prompt=prompt) for k, prompt in enumerate(PROMPTS)
    ]
    entries = over_prompts(of_prompts, 0.95)
    claims = bool(associated_pairs(entries))
    no_claim = f"Over 3 prompts, none of {PAIRS} of axes shows a significant association."
    assert (answer_over_prompts(entries) == no_claim) is not claims
    return claims


def planted_pairs_are_found(seed: int) -> bool:
    of_prompts = [single_graph(seed, 1.0, k) for k in range(2)]
    pairs = {
        (entry.source, entry.target) for entry in associated_pairs(over_prompts(of_prompts, 0.95))
    }
    return pairs >= {("gender", "age"), ("clothing", "emotion")}


def model_graphs_claim(seed: int) -> bool:
    """Check for claims about two runs of one model with different seeds."""
    runs = {
        "a": findings(single_graph(2 * seed)),
        "b": findings(single_graph(2 * seed + 1)),
    }
    differences = model_graphs(runs)
    claims = any(change.determined for change in differences.changes)
    no_claim = format_phrase("no_graph_difference", pairs=PAIRS, run="b", first="a")
    assert (no_claim in difference_sentences(runs, differences)) is not claims
    return claims


def associations_claim(seed: int, bias: float = 0.0) -> bool:
    """Check for claims about the associations in a run and in a run without bias."""
    runs = {
        "a": findings(single_graph(2 * seed)),
        "b": findings(single_graph(2 * seed + 1, bias)),
    }
    differences = model_graphs(runs)
    claims = any(change.is_significant for change in differences.associations)
    no_claim = format_phrase("no_association_difference", pairs=PAIRS, run="b", first="a")
    assert (no_claim in difference_sentences(runs, differences)) is not claims
    return claims


def associations_are_found(seed: int) -> bool:
    return associations_claim(seed, 1.0)


def worsening_claims(seed: int) -> bool:
    """Check for claims about a mitigation without effect, with sets of the same world as its
    images.
    """
    share = single_graph(seed).negative_share
    return isinstance(share, Estimate) and (share.low or 0) > 0


def correlation_claims(seed: int) -> bool:
    """Check for claims about a mitigation without effect, with separate baseline images on each
    side.
    """
    rng = np.random.default_rng(seed)
    sides = np.full((2, len(AXES), len(AXES)), np.nan)
    for side in sides:
        counts = fair_counts(rng)
        for source, target in counts.pairs():
            if source != target:
                value = debiased_value(counts.pair(source, target))
                side[AXES.index(source), AXES.index(target)] = value
    estimate = correlation(*sides, rng=rng, draws=99)
    return (getattr(estimate, "p", None) or 1) < 0.05


ROWS = [
    Summary(
        "A graph of interactions",
        (
            "no_association",
            "association",
            "effects",
            "no_effects",
            "strongest_effect",
            "effect_headline",
        ),
        "Each run computes a graph for one prompt and five axes, with 48 images per set. In a "
        "world without bias, all axes are uniform and independent, so any reported association "
        "or effect is an error. With planted bias 1, the report should name two associations: "
        "gender with age, and clothing with emotion.",
        graph_claims,
        planted_edges_are_found,
        0.9,
        runs=60,
        named_runs=10,
    ),
    Summary(
        "The sum of sensitivities",
        ("no_amplification", "amplification"),
        "Each run computes the graph of a world without bias, as above. It is an error if the sum "
        "of the sensitivities is significant.",
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
        "Each run has three prompts. In a world without bias, any reported association is an "
        "error. For a nurse and a firefighter with planted associations, the report should name "
        "two associations: gender with age, and clothing with emotion.",
        prompts_claim,
        planted_pairs_are_found,
        0.9,
        runs=25,
        named_runs=5,
    ),
    Summary(
        "Graphs of two models",
        ("graph_difference", "no_graph_difference"),
        "Two runs use the same model, which has no bias, with different seeds. Any reported "
        "difference between the graphs is an error.",
        model_graphs_claim,
        runs=60,
    ),
    Summary(
        "Associations in two models",
        ("association_difference", "no_association_difference"),
        "If two runs use the same model, which has no bias, with different seeds, any reported "
        "difference is an error. If only one of the two runs has planted associations, the "
        "report should state that there is a difference.",
        associations_claim,
        associations_are_found,
        0.9,
        runs=60,
        named_runs=10,
    ),
    Summary(
        "Estimated and measured effects",
        ("correlation", "no_correlation"),
        "In a world without bias, a mitigation has no effect. Therefore a significant "
        "correlation between estimated and measured effects is an error.",
        correlation_claims,
        runs=60,
    ),
    Summary(
        "Axes that a mitigation makes worse",
        ("worsening",),
        "In a world without bias, a mitigation has no effect. Therefore any reported increase in"
        " the deviation of an axis is an error.",
        worsening_claims,
        runs=60,
    ),
]
