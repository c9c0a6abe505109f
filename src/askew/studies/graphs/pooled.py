"""One graph for several models (BiasConnect, appendix A.8): the tables of all their prompts added up (Eq. 9-11).

Beside the pooled graph stands how far the models agree on each edge: the mean of their own sensitivities, and in how
many models, and in how many graphs of single prompts, the edge is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.findings import E, Identity
from askew.methods.interact.findings import Edge, Graph, GraphAxis, InteractionFindings
from askew.methods.interact.graph import CountedAxis, Tables, edges, graphs, pooled, recorded_tables
from askew.methods.interact.plan import InteractionPlan
from askew.parts.scoring import Scoring
from askew.stats import interaction_graph
from askew.stats.clustered import clustered_rate
from askew.stats.interaction_graph import AxisPair, mean_sensitivity
from askew.stats.shares import share_intervals
from askew.types import Estimate, Missing, record


@record
class PooledEdge(Edge):
    """An edge of several models together, and how far they agree on it.

    mean_sensitivity  of the models' own sensitivities
    models            share of models whose own graph has the edge
    prompts           share of graphs of single prompts that have it
    """

    mean_sensitivity: E
    models: E
    prompts: E


@record
class PooledGraph(Graph):
    """The graph of several models together, over the prompts that all of them have."""

    edges: tuple[PooledEdge, ...]
    prompts: tuple[str, ...]


@record
class ComparedRun:
    """A run that took part."""

    model: Identity
    plan_hash: str
    askew: str


@record
class ModelGraphs:
    """The content of graphs.json: by name the runs, and the graph of all of them together, or why there is none."""

    runs: Mapping[str, ComparedRun]
    pooled: PooledGraph | Missing


@dataclass(frozen=True, slots=True)
class Own:
    """What one run found: its plan, and by prompt its graph."""

    plan: InteractionPlan
    graphs: Mapping[str, Graph]

    @property
    def scoring(self) -> Scoring:
        """How its graphs were computed."""
        instrument = next(iter(self.graphs.values())).instrument
        return Scoring(instrument, self.plan.seed, self.plan.draws, self.plan.level, self.plan.variant)

    def tables(self, prompts: Sequence[str]) -> list[Tables]:
        """The tables of some of the prompts."""
        return [recorded_tables(self.graphs[prompt]) for prompt in prompts]


def model_graphs(runs: Mapping[str, InteractionFindings]) -> ModelGraphs:
    """The runs by name, and their pooled graph."""
    told = {name: ComparedRun(one.model, one.plan_hash, one.askew) for name, one in runs.items()}
    return ModelGraphs(told, pooled_graph(list(runs.values())))


def pooled_graph(runs: Sequence[InteractionFindings]) -> PooledGraph | Missing:
    """The graph of several models together, of scope "models".

    Every model, and every prompt that all of them have, counts alike. The order of the runs changes nothing beyond
    rounding. Missing where the runs share no prompt, or differ in what their numbers mean.
    """
    own = [Own(r.plan, {one.prompt: one for one in r.biasconnect if one.prompt is not None}) for r in runs]
    prompts = [text for text in own[0].graphs if all(text in one.graphs for one in own)]
    try:
        together = _pooled_tables(own, prompts)
    except NotEnoughData as difference:
        return Missing("not_asked", str(difference))
    plans = [one.plan for one in own]
    scoring = replace(own[0].scoring, seed=min(p.seed for p in plans), draws=max(p.draws for p in plans),
                      level=max(p.level for p in plans))  # fmt: skip
    (graph,) = graphs({None: together}, own[0].plan, scoring)
    agreeing = [_own_edges(one, prompts) for one in own]
    told = _fields(graph) | {"scope": "models", "prompts": tuple(prompts)}
    told["edges"] = tuple(_pooled_edge(edge, agreeing, own, prompts, scoring.level) for edge in graph.edges)
    return PooledGraph(**told)  # type: ignore[arg-type]


def _pooled_tables(runs: Sequence[Own], prompts: Sequence[str]) -> Tables:
    """The tables of all runs together. Raises NotEnoughData where adding them up would mean nothing."""
    _check_alike(runs, prompts)
    together = pooled([tables for run in runs for tables in run.tables(prompts)])
    recorded = [axis for run in runs for prompt in prompts for axis in run.graphs[prompt].axes]
    return replace(together, axes=tuple(replace(a, known_errors=_known_errors(a, recorded)) for a in together.axes))


def _check_alike(runs: Sequence[Own], prompts: Sequence[str]) -> None:
    """Raises NotEnoughData with what the runs differ in."""
    if not prompts:
        raise NotEnoughData("these runs share no prompt")
    if len({run.scoring.instrument for run in runs}) > 1:
        raise NotEnoughData("these runs were read by different instruments")
    choices = {(p.distance, p.global_threshold, p.open_threshold, p.least_sensitivity) for p in (r.plan for r in runs)}
    if len(choices) > 1:
        raise NotEnoughData("these runs measure distances, or draw edges over all prompts, by different rules")
    for prompt in prompts:
        ideals: dict[tuple[str, ...], tuple[float, ...]] = {}
        for axis in (axis for run in runs for axis in run.graphs[prompt].axes if not axis.open):
            ideal = ideals.setdefault((axis.name, *axis.values), axis.ideal)
            if not np.allclose(ideal, axis.ideal):
                raise NotEnoughData(f"these runs hold {axis.name} against different shares")


def _known_errors(pooled_axis: CountedAxis, recorded: Iterable[GraphAxis]) -> NDArray[np.int64] | None:
    """The instrument's errors on an axis: counts from different labelled pictures add up, the same ones count once.

    Raises NotEnoughData where they are known for some runs alone.
    """
    same = [axis for axis in recorded if (axis.name, axis.values) == (pooled_axis.name, pooled_axis.values)]
    different = list(dict.fromkeys(axis.known_errors for axis in same))
    if None not in different and different:
        return np.asarray(np.sum([np.array(counts) for counts in different], axis=0), dtype=np.int64)
    if len(different) > 1:
        raise NotEnoughData(f"errors of the instrument on {pooled_axis.name} are corrected in some of these runs alone")
    return None


def _own_edges(run: Own, prompts: Sequence[str]) -> dict[AxisPair, interaction_graph.Edge]:
    """The edges of a model's own graph over the shared prompts, by its own plan."""
    scope = prompts[0] if len(prompts) == 1 else None
    found = edges({scope: pooled(run.tables(prompts))}, run.plan, run.scoring)
    return {(edge.source, edge.target): edge for edge in found[scope]}


def _pooled_edge(
    edge: Edge, own: Sequence[Mapping[AxisPair, interaction_graph.Edge]], runs: Sequence[Own],
    prompts: Sequence[str], level: float,
) -> PooledEdge:  # fmt: skip
    """An edge with how far the models agree on it."""
    models = [graph[edge.source, edge.target] for graph in own if (edge.source, edge.target) in graph]
    return PooledEdge(
        **_fields(edge),  # type: ignore[arg-type]
        mean_sensitivity=mean_sensitivity([model.sensitivity for model in models], level=level),
        models=_share_of_models(models, len(own), level),
        prompts=_share_of_prompts(edge, runs, prompts, level),
    )


def _share_of_models(models: Sequence[interaction_graph.Edge], of: int, level: float) -> Estimate | Missing:
    tested = [model.significant for model in models if not isinstance(model.test, Missing)]
    if not tested:
        return Missing("not_asked", "no model's graph could test this pair of axes")
    return share_intervals([sum(tested), len(tested) - sum(tested)], level=level, missing=of - len(tested))[0]


def _share_of_prompts(edge: Edge, runs: Sequence[Own], prompts: Sequence[str], level: float) -> Estimate | Missing:
    """Graphs of one prompt in several models are alike, so that prompts, not graphs, are what was sampled."""
    singles = [[run.graphs[prompt].edge(edge.source, edge.target) for run in runs] for prompt in prompts]
    seen = np.array([[float("nan") if e is None or e.p is None else float(e.significant) for e in row]
                     for row in singles])  # fmt: skip
    if np.isnan(seen).all():
        return Missing("not_asked", "no prompt's graph could test this pair of axes")
    return clustered_rate(seen, level=level)


def _fields(one: Edge | Graph) -> dict[str, object]:
    return {field.name: getattr(one, field.name) for field in fields(one)}
