"""One graph for several models (BiasConnect, appendix A.8): the tables of all their prompts added up (Eq. 9-11).

Beside the pooled graph stands how far the models agree on each edge: the mean of their own sensitivities, and in how
many models, and in how many graphs of single prompts, the edge is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.methods.biasconnect import biasconnect, edges
from askew.methods.interaction_counts import CountedAxis, Tables, pooled, recorded_tables
from askew.parts.scoring import Scoring
from askew.plans.interactions import InteractionPlan
from askew.plans.reading import make_plan
from askew.stats.clustered import clustered_rate
from askew.stats.interaction_graph import AxisPair, Edge, mean_sensitivity
from askew.stats.shares import share_intervals
from askew.types import Estimate, Missing

Record = Mapping[str, Any]
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a finished run of interactions has recorded.

    graphs  the entries of `biasconnect` of its prompts
    """

    plan: InteractionPlan
    graphs: Mapping[str, Record]

    @classmethod
    def of(cls, results: Record) -> Recorded:
        """From the run's results.json."""
        plan = make_plan(dict(results["plan"]))
        if not isinstance(plan, InteractionPlan):
            raise TypeError(f"a plan of {plan.method!r} is no plan of interactions")
        return cls(plan, {g["prompt"]: g for g in results["biasconnect"] if g["prompt"] is not None})

    @property
    def instrument(self) -> str:
        """Whose answers the graphs are made from."""
        return str(next(iter(self.graphs.values()))["instrument"])

    def tables(self, prompts: Sequence[str]) -> list[Tables]:
        """The tables of some of the prompts."""
        return [recorded_tables(self.graphs[prompt]) for prompt in prompts]


def pooled_graph(runs: Mapping[str, Record]) -> Entry | Missing:
    """The graph of several models together, as an entry of `biasconnect` of scope "models".

    Edges have three fields more: `mean_sensitivity`, of the models' own sensitivities; `models`, the share of models
    whose own graph has the edge; `prompts`, the share of graphs of single prompts that have it. Every model, and every
    prompt that all of them have, counts alike. The order of the runs changes nothing beyond rounding.

    Args:
        runs: by name the results of finished runs of interactions.

    Returns:
        Missing where the runs share no prompt, or differ in what their numbers mean.
    """
    recorded = [Recorded.of(results) for results in runs.values()]
    prompts = [text for text in recorded[0].graphs if all(text in run.graphs for run in recorded)]
    try:
        together = _pooled_tables(recorded, prompts)
    except NotEnoughData as difference:
        return Missing("not_asked", str(difference))
    plan, scoring = recorded[0].plan, _scoring(recorded)
    entry = biasconnect(together, plan, scoring, None)
    own = [_own_edges(run, prompts) for run in recorded]
    entry["edges"] = [edge | _agreement(edge, own, recorded, prompts, scoring.level) for edge in entry["edges"]]
    return entry | {"scope": "models", "prompts": prompts}


def _pooled_tables(runs: Sequence[Recorded], prompts: Sequence[str]) -> Tables:
    """The tables of all runs together. Raises NotEnoughData where adding them up would mean nothing."""
    _check_alike(runs, prompts)
    together = pooled([tables for run in runs for tables in run.tables(prompts)])
    recorded = [axis for run in runs for prompt in prompts for axis in run.graphs[prompt]["axes"]]
    return replace(together, axes=tuple(replace(a, known_errors=_known_errors(a, recorded)) for a in together.axes))


def _check_alike(runs: Sequence[Recorded], prompts: Sequence[str]) -> None:
    """Raises NotEnoughData with what the runs differ in."""
    if not prompts:
        raise NotEnoughData("these runs share no prompt")
    if len({run.instrument for run in runs}) > 1:
        raise NotEnoughData("these runs were read by different instruments")
    choices = {(p.distance, p.global_threshold, p.open_threshold, p.least_sensitivity) for p in (r.plan for r in runs)}
    if len(choices) > 1:
        raise NotEnoughData("these runs measure distances, or draw edges over all prompts, by different rules")
    for prompt in prompts:
        ideals: dict[tuple[str, ...], list[float]] = {}
        for axis in (axis for run in runs for axis in run.graphs[prompt]["axes"] if not axis["open"]):
            ideal = ideals.setdefault((axis["name"], *axis["values"]), axis["ideal"])
            if not np.allclose(ideal, axis["ideal"]):
                raise NotEnoughData(f"these runs hold {axis['name']} against different shares")


def _known_errors(pooled_axis: CountedAxis, recorded: Sequence[Record]) -> NDArray[np.int64] | None:
    """The instrument's errors on an axis: counts from different labelled pictures add up, the same ones count once.

    Raises NotEnoughData where they are known for some runs alone.
    """
    same = [a for a in recorded if a["name"] == pooled_axis.name and tuple(a["values"]) == pooled_axis.values]
    different = list({str(axis["known_errors"]): axis["known_errors"] for axis in same}.values())
    if None not in different and different:
        return np.asarray(np.sum([np.array(counts) for counts in different], axis=0), dtype=np.int64)
    if len(different) > 1:
        raise NotEnoughData(f"errors of the instrument on {pooled_axis.name} are corrected in some of these runs alone")
    return None


def _scoring(runs: Sequence[Recorded]) -> Scoring:
    """Choices for the pooled graph: the same whatever the order of the runs."""
    plans = [run.plan for run in runs]
    seed, draws, level = (f(getattr(plan, name) for plan in plans) for f, name in
                          ((min, "seed"), (max, "draws"), (max, "level")))  # fmt: skip
    return Scoring(runs[0].instrument, seed, draws, level, plans[0].variant)


def _own_edges(run: Recorded, prompts: Sequence[str]) -> dict[AxisPair, Edge]:
    """The edges of a model's own graph over the shared prompts, by its own plan."""
    scoring = Scoring(run.instrument, run.plan.seed, run.plan.draws, run.plan.level, run.plan.variant)
    scope = prompts[0] if len(prompts) == 1 else None
    found = edges({scope: pooled(run.tables(prompts))}, run.plan, scoring)
    return {(edge.source, edge.target): edge for edge in found[scope]}


def _agreement(
    edge: Entry, own: Sequence[Mapping[AxisPair, Edge]], runs: Sequence[Recorded], prompts: Sequence[str], level: float
) -> Entry:
    """How far the models agree on one pair of axes."""
    pair = edge["source"], edge["target"]
    models = [graph[pair] for graph in own if pair in graph]
    return {
        "mean_sensitivity": mean_sensitivity([model.sensitivity for model in models], level=level),
        "models": _share_of_models(models, len(own), level),
        "prompts": _share_of_prompts(pair, runs, prompts, level),
    }


def _share_of_models(models: Sequence[Edge], of: int, level: float) -> Estimate | Missing:
    tested = [model.significant for model in models if not isinstance(model.test, Missing)]
    if not tested:
        return Missing("not_asked", "no model's graph could test this pair of axes")
    return share_intervals([sum(tested), len(tested) - sum(tested)], level=level, missing=of - len(tested))[0]


def _share_of_prompts(
    pair: AxisPair, runs: Sequence[Recorded], prompts: Sequence[str], level: float
) -> Estimate | Missing:
    """Graphs of one prompt in several models are alike, so that prompts, not graphs, are what was sampled."""
    seen = np.array([[_has_edge(run.graphs[prompt], pair) for run in runs] for prompt in prompts])
    if np.isnan(seen).all():
        return Missing("not_asked", "no prompt's graph could test this pair of axes")
    return clustered_rate(seen, level=level)


def _has_edge(graph: Record, pair: AxisPair) -> float:
    """1 if a graph has an edge, 0 if not, NaN where it was not tested."""
    edge = next((e for e in graph["edges"] if (e["source"], e["target"]) == pair), None)
    return float("nan") if edge is None or edge["p"] is None else float(edge["significant"])
