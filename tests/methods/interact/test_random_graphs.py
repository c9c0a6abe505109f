"""Random planted graphs: direct effects, and sentences about single prompts and all together."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from askew.methods.interact.findings import Edge, Graph, InteractionFindings
from askew.methods.interact.page import pooled_sentences
from askew.methods.interact.sentences import edge_sentence, pair
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan
from askew.types import Missing, Picture, Prompt
from planted_answers import INSTRUMENT, planned, scored

PROMPTS = ("a photo of a nurse", "a photo of a mechanic", "a photo of a chef")
AXES = ("gender", "age", "clothing")
PLAN = planned(PROMPTS, AXES, bootstrap_samples=100)
IMAGES = 48
WORLDS = (0, 1, 3, 5)


def drawn_set(
    prompt: Prompt, axes: tuple[AxisPlan, ...], shares: dict[str, np.ndarray], number: int
) -> ObservedSet:
    """Draw the labels of a set. The images follow the counterfactual of their axis."""
    rng = np.random.default_rng([number, len(prompt.text)])
    labels = {}
    for axis in axes:
        values = list(rng.choice(axis.values, IMAGES, p=shares[axis.name]))
        labels[axis.name] = tuple(map(str, values))
    if prompt.axis is not None:
        labels[prompt.axis] = (str(prompt.value),) * IMAGES
    return ObservedSet(
        prompt=prompt,
        pictures=tuple(Picture(f"{prompt.text} {k}", "", prompt.text) for k in range(IMAGES)),
        values={INSTRUMENT: labels},
        captions=(Missing("not_asked"),) * IMAGES,
    )


@cache
def world(seed: int) -> InteractionFindings:
    """Score three prompts, in which half of the pairs of axes have a random effect."""
    rng = np.random.default_rng(seed)
    sets = {}
    for number, prompt in enumerate(PLAN.prompts):
        initial = {axis.name: rng.dirichlet(np.ones(len(axis.values))) for axis in prompt.axes}
        of_prompt = [drawn_set(Prompt(prompt.text), prompt.axes, initial, 100 * seed + number)]
        for source in prompt.axes:
            changed = [target.name for target in prompt.axes if rng.random() < 0.5]
            for condition in source.prompts():
                shares = dict(initial)
                for name in changed:
                    shares[name] = rng.dirichlet(np.ones(len(initial[name])))
                of_prompt.append(drawn_set(condition, prompt.axes, shares, seed))
        sets[prompt.text] = of_prompt
    return scored(PLAN, sets)


def edges(graph: Graph, *, direct: bool) -> list[Edge]:
    return [edge for edge in graph.edges if edge.direct == direct]


@pytest.mark.parametrize("seed", WORLDS)
def test_a_direct_effect_is_not_negative_where_counterfactuals_are_followed(seed: int) -> None:
    graphs = world(seed).biasconnect
    assert len(graphs) == 1 + len(PROMPTS)
    for graph in graphs:
        for edge in edges(graph, direct=True):
            assert edge.plug_in is not None
            assert edge.plug_in >= -1e-12
            assert edge.effect != "worse"
            assert "increases the deviation" not in edge_sentence(graph, edge)


@pytest.mark.parametrize("seed", WORLDS)
def test_sentences_about_all_prompts_agree_with_sentences_about_each(seed: int) -> None:
    findings = world(seed)
    together, *single = findings.biasconnect
    for entry in findings.over_prompts:
        effects = []
        for graph in single:
            edge = graph.edge(entry.source, entry.target)
            assert edge is not None
            effects.append(edge.effect)
            verb = {"worse": "increases", "better": "decreases"}.get(
                edge.effect, "not significantly"
            )
            assert verb in edge_sentence(graph, edge)
        assert (entry.better, entry.worse) == (effects.count("better"), effects.count("worse"))
        assert entry.edges == sum(
            graph.edge(entry.source, entry.target).significant  # type: ignore[union-attr]
            for graph in single
        )
        pooled = together.edge(entry.source, entry.target)
        assert pooled is not None
        opposite = {"better": "worse", "worse": "better"}.get(pooled.effect)
        named = pair(entry.source, entry.target) in pooled_sentences(findings)
        assert named or opposite not in effects


def test_the_worlds_have_effects_in_both_directions_and_opposite_effects() -> None:
    effects = []
    for seed in WORLDS:
        for graph in world(seed).biasconnect:
            effects += [edge.effect for edge in edges(graph, direct=False)]
    assert min(effects.count("better"), effects.count("worse")) >= 3
    assert any("are opposite to the" in pooled_sentences(world(seed)) for seed in WORLDS)
