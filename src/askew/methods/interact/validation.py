"""Do the estimates hold once an axis is really mitigated (BiasConnect, Eq. 5-8, Table 1, appendix A.5 and A.7)?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askew.errors import UsageError
from askew.methods.biasconnect import pair
from askew.methods.interaction_counts import Counts, Tables, tables
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import PromptPlan
from askew.plans.interactions import InteractionPlan
from askew.stats.interaction_graph import Edge, correlation, mean_correlation, negative_share
from askew.stats.sensitivity import interactions
from askew.types import Estimate, Missing

Entry = dict[str, Any]


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


def of_run(name: str, results: Mapping[str, Any], prompt: PromptPlan, instrument: str) -> Mitigation | None:
    """A mitigation from the initial pictures of another run; None if it has none of this prompt.

    Raises UsageError where that run read them with another instrument, or other values.
    """
    entries = [e for e in results.get("shares") or () if e["set"] == "initial" and e["prompt"] == prompt.text]
    own = {e["axis"]: e for e in entries if e["instrument"] == instrument}
    if entries and not own:
        others = ", ".join(sorted({e["instrument"] for e in entries}))
        raise UsageError(f"the pictures of the run {name} were read by {others}; {instrument} is needed to compare")
    for axis in prompt.axes:
        if axis.name in own and set(own[axis.name]["counts"]) != set(axis.values):
            found = ", ".join(own[axis.name]["counts"])
            raise UsageError(f"{name} has the values {found} of {axis.name}; here they are {', '.join(axis.values)}")
    shared = {axis.name: axis.values for axis in prompt.axes if axis.name in own}
    counts = {axis: np.array([[own[axis]["counts"][value] for value in shared[axis]]]) for axis in shared}
    return Mitigation(counts, {axis: sum(own[axis]["missing"].values()) for axis in shared}) if shared else None


def validation(
    counted: Mapping[str, Tables],
    graphs: Mapping[str, Sequence[Entry]],
    mitigated: Mapping[str, Mitigated],
    plan: InteractionPlan,
    scoring: Scoring,
) -> Entry:
    """Estimates against what mitigation did, over the edges between different axes, of each prompt and of all.

    `graphs` are the edges of each prompt's entry of `biasconnect`. The share of pairs that mitigation made worse is
    over all pairs of different axes, whether they are edges or not (A.5).
    """
    after = {text: _after(counted[text], text, sets, plan, scoring) for text, sets in mitigated.items()}
    entries = [_prompt_entry(text, graphs[text], found, scoring) for text, found in after.items()]
    everything = [edge for entry in entries for edge in entry["edges"]]
    pairs = [
        Edge(x, y, Missing("not_asked"), None, effect, False)
        for found in after.values()
        for (x, y), effect in found.items()
    ]
    return {
        "mitigated": dict(plan.mitigated),
        "settings": dict(plan.mitigated_args),
        "prompts": entries,
        "mean_correlation": mean_correlation([entry["correlation"] for entry in entries], level=scoring.level),
        "overall_correlation": _correlation(everything, scoring, "all prompts"),
        "made_worse": negative_share(pairs),
    }


def _after(
    counted: Tables, prompt: str, mitigated: Mitigated, plan: InteractionPlan, scoring: Scoring
) -> dict[tuple[str, str], Estimate | Missing]:
    """IS with the mitigated pictures in the place of the counterfactual ones (Eq. 8)."""
    found: dict[tuple[str, str], Estimate | Missing] = {}
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


def _prompt_entry(
    prompt: str, edges: Sequence[Entry], after: Mapping[tuple[str, str], Estimate | Missing], scoring: Scoring
) -> Entry:
    found = [
        {"source": e["source"], "target": e["target"], "estimated": e["sensitivity"],
         "measured": after[e["source"], e["target"]]}
        for e in edges
        if e["significant"] and e["source"] != e["target"] and (e["source"], e["target"]) in after
    ]  # fmt: skip
    return {"prompt": prompt, "edges": found, "correlation": _correlation(found, scoring, prompt)}


def _correlation(edges: Sequence[Entry], scoring: Scoring, name: str) -> Estimate | Missing:
    known = [
        (e["estimated"].value, e["measured"].value)
        for e in edges
        if isinstance(e["estimated"], Estimate) and isinstance(e["measured"], Estimate)
    ]
    estimated, measured = np.array(known, dtype=float).reshape(-1, 2).T
    rng = scoring.rng(name, scoring.instrument, "validation")
    return correlation(estimated, measured, rng=rng, draws=scoring.draws, level=scoring.level)
