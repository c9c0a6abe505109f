"""Do the estimates hold once an axis is really mitigated (BiasConnect, Eq. 5-8, Table 1, appendix A.5 and A.7)?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askew.errors import UsageError
from askew.methods.interact.findings import Graph, ValidatedEdge, ValidatedPrompt, Validation
from askew.methods.interact.graph import pair
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.tables import Counts, Tables, tables
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.shares import SetShares
from askew.plan import PromptPlan
from askew.stats.interaction_graph import AxisPair, Edge, correlation, mean_correlation, negative_share
from askew.stats.sensitivity import interactions
from askew.types import Estimate, Missing


@dataclass(frozen=True, slots=True)
class Mitigation:
    """What is seen in the pictures of a prompt once one axis is mitigated.

    counts   by target: (1, m) counts of the answers
    missing  by target: pictures without an answer
    """

    counts: Mapping[str, Counts]
    missing: Mapping[str, int]


Mitigated = Mapping[str, Mitigation]
"""By mitigated axis."""


def of_pictures(observed: ObservedSet, prompt: PromptPlan, instrument: str) -> Mitigation:
    """A mitigation whose pictures were drawn and read in this run."""
    own = tables([observed], prompt.axes, instrument)
    return Mitigation(own.initial, own.missing)


def of_run(name: str, found: Iterable[SetShares], prompt: PromptPlan, instrument: str) -> Mitigation | None:
    """A mitigation from the initial pictures of another run; None if it has none of this prompt.

    Raises UsageError where that run read them with another instrument, or other values.
    """
    initial = [one for one in found if (one.prompt, one.set) == (prompt.text, "initial")]
    own = {one.axis: one for one in initial if one.instrument == instrument}
    if initial and not own:
        others = ", ".join(sorted({one.instrument for one in initial}))
        raise UsageError(f"the pictures of the run {name} were read by {others}; {instrument} is needed to compare")
    for axis in prompt.axes:
        if axis.name in own and set(own[axis.name].counts) != set(axis.values):
            listed = ", ".join(own[axis.name].counts)
            raise UsageError(f"{name} has the values {listed} of {axis.name}; here they are {', '.join(axis.values)}")
    shared = {axis.name: axis.values for axis in prompt.axes if axis.name in own}
    counts = {axis: np.array([[own[axis].counts[value] for value in shared[axis]]]) for axis in shared}
    return Mitigation(counts, {axis: sum(own[axis].missing.values()) for axis in shared}) if shared else None


def validation(
    counted: Mapping[str, Tables],
    graphs: Sequence[Graph],
    mitigated: Mapping[str, Mitigated],
    plan: InteractionPlan,
    scoring: Scoring,
) -> Validation:
    """Estimates against what mitigation did, over the edges between different axes, of each prompt and of all.

    The share of pairs that mitigation made worse is over all pairs of different axes, whether they are edges or not.
    """
    by_prompt = {graph.prompt: graph for graph in graphs}
    after = {text: _after(counted[text], text, sets, plan, scoring) for text, sets in mitigated.items()}
    prompts = tuple(_prompt(by_prompt[text], found, scoring) for text, found in after.items())
    pairs = [
        Edge(x, y, Missing("not_asked"), None, effect, False)
        for found in after.values()
        for (x, y), effect in found.items()
    ]
    return Validation(
        mitigated=dict(plan.mitigated),
        settings=dict(plan.mitigated_args),
        prompts=prompts,
        mean_correlation=mean_correlation([one.correlation for one in prompts], level=scoring.level),
        overall_correlation=_correlation([edge for one in prompts for edge in one.edges], scoring, "all prompts"),
        made_worse=negative_share(pairs),
    )


def _after(
    counted: Tables, prompt: str, mitigated: Mitigated, plan: InteractionPlan, scoring: Scoring
) -> dict[AxisPair, Estimate | Missing]:
    """IS with the mitigated pictures in the place of the counterfactual ones (Eq. 8)."""
    found: dict[AxisPair, Estimate | Missing] = {}
    for source, own in mitigated.items():
        targets = [axis.name for axis in counted.axes if (source, axis.name) in counted.after]
        targets = [name for name in targets if name in own.counts]
        asked = [
            replace(pair(counted, plan, source, y), counterfactual=own.counts[y], missing=own.missing[y])
            for y in targets
        ]
        rng = scoring.rng(prompt, source, scoring.instrument, "mitigated")
        effects = interactions(asked, rng=rng, level=scoring.level, draws=scoring.draws)
        found |= {(source, y): effect for y, effect in zip(targets, effects, strict=True)}
    return found


def _prompt(graph: Graph, after: Mapping[AxisPair, Estimate | Missing], scoring: Scoring) -> ValidatedPrompt:
    edges = tuple(
        ValidatedEdge(one.source, one.target, estimated=one.sensitivity, measured=after[one.source, one.target])
        for one in graph.edges
        if one.significant and not one.direct and (one.source, one.target) in after
    )
    prompt = str(graph.prompt)
    return ValidatedPrompt(prompt, edges, _correlation(edges, scoring, prompt))


def _correlation(edges: Sequence[ValidatedEdge], scoring: Scoring, name: str) -> Estimate | Missing:
    known = [
        (one.estimated.value, one.measured.value)
        for one in edges
        if isinstance(one.estimated, Estimate) and isinstance(one.measured, Estimate)
    ]
    estimated, measured = np.array(known, dtype=float).reshape(-1, 2).T
    rng = scoring.rng(name, scoring.instrument, "validation")
    return correlation(estimated, measured, rng=rng, draws=scoring.draws, level=scoring.level)
