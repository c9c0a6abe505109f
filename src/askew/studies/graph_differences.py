"""Differences between the graphs of interactions of several models.

Runs that share seeds are slightly correlated. Intervals are computed as if runs were independent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from askew.findings import Identity
from askew.methods.interact.findings import Graph, GraphAxis, InteractionFindings
from askew.stats.intervals import ends, mover, simultaneous
from askew.types import Estimate, record

Runs = Mapping[str, InteractionFindings]
"""Runs by name."""


@record
class EdgeChange:
    """Comparison of a pair of different axes in a later run with the first run.

    Attributes
    ----------
    run : str
        Name of the later run.
    prompt : str or None
        Prompt of the graphs. None for all prompts together.
    source, target : str
        The pair.
    difference : Estimate
        Sensitivity in the later run minus the sensitivity in the first run.
    simultaneous : tuple of (float, float)
        Interval of the difference that holds simultaneously for all changes.
    """

    run: str
    prompt: str | None
    source: str
    target: str
    difference: Estimate
    simultaneous: tuple[float, float]

    @property
    def determined(self) -> bool:
        """Check whether the simultaneous interval excludes 0."""
        return self.simultaneous[0] > 0 or self.simultaneous[1] < 0


@record
class ComparedGraph:
    """A compared run.

    Attributes
    ----------
    model : Identity
        Model of the run.
    plan_hash, askew : str
        Hash of its plan, and version of askew.
    differs : str or None
        Reason why its sensitivities cannot be compared with the first run; None if they can.
    """

    model: Identity
    plan_hash: str
    askew: str
    differs: str | None


@record
class ModelGraphs:
    """Content of graphs.json.

    Attributes
    ----------
    runs : mapping of str to ComparedGraph
        Runs by name.
    changes : tuple of EdgeChange
        Each pair of axes in a later run and in the first run.
    """

    runs: Mapping[str, ComparedGraph]
    changes: tuple[EdgeChange, ...]


def shared_prompts(runs: Runs) -> list[str | None]:
    """Return the prompts with a graph in all runs; None stands for all prompts together."""
    first, *others = runs.values()
    shared = [graph.prompt for graph in first.biasconnect]
    for run in others:
        prompts = {graph.prompt for graph in run.biasconnect}
        shared = [prompt for prompt in shared if prompt in prompts]
    return shared


def model_graphs(runs: Runs) -> ModelGraphs:
    """Compare each later run with the first run.

    Parameters
    ----------
    runs
        Runs by name.

    Returns
    -------
    ModelGraphs
        All runs, and the changes in runs whose sensitivities can be compared.
    """
    first = next(iter(runs.values()))
    compared = {name: _compared_graph(first, run) for name, run in runs.items()}
    changes: list[EdgeChange] = []
    for name, run in list(runs.items())[1:]:
        if compared[name].differs is None:
            for prompt in shared_prompts(runs):
                changes += _changes(name, first.graph(prompt), run.graph(prompt))
    return ModelGraphs(
        runs=compared,
        changes=tuple(
            replace(change, simultaneous=simultaneous(change.difference, len(changes)))
            for change in changes
        ),
    )


def _compared_graph(first: InteractionFindings, run: InteractionFindings) -> ComparedGraph:
    return ComparedGraph(
        model=run.model,
        plan_hash=run.plan_hash,
        askew=run.askew,
        differs=differs(first, run),
    )


def _changes(name: str, first: Graph, later: Graph) -> Iterator[EdgeChange]:
    """Yield the changes of all pairs whose sensitivity is known in both graphs."""
    for edge in first.edges:
        other = later.edge(edge.source, edge.target)
        if edge.direct or other is None:
            continue
        before = edge.sensitivity
        after = other.sensitivity
        if isinstance(before, Estimate) and isinstance(after, Estimate):
            yield EdgeChange(
                run=name,
                prompt=first.prompt,
                source=edge.source,
                target=edge.target,
                difference=_difference(before, after),
                simultaneous=(0.0, 0.0),
            )


def _difference(before: Estimate, after: Estimate) -> Estimate:
    low, high = mover(after.value, before.value, ends(after), ends(before))
    return Estimate(
        value=after.value - before.value,
        low=low,
        high=high,
        level=before.level,
        interval="MOVER",
        n=(after.n or 0) + (before.n or 0),
    )


def differs(first: InteractionFindings, other: InteractionFindings) -> str | None:
    """Return the reason why the sensitivities of two runs cannot be compared, or None."""
    for prompt in shared_prompts({"first": first, "other": other}):
        graph = first.graph(prompt)
        other_graph = other.graph(prompt)
        if graph.instrument != other_graph.instrument:
            return "its images are labeled by another instrument"
        for axis in graph.axes:
            for other_axis in other_graph.axes:
                reason = _axis_difference(axis, other_axis)
                if reason:
                    return reason
    return None


def _axis_difference(axis: GraphAxis, other: GraphAxis) -> str | None:
    """Describe how the definitions of an axis differ; None for different axes and open answers."""
    if axis.name != other.name or axis.open or other.open:
        return None
    if (axis.values, axis.counterfactuals) != (other.values, other.counterfactuals):
        return f"{axis.name} has other values"
    if axis.distance != other.distance or not np.allclose(axis.reference, other.reference):
        return f"{axis.name} has another reference or another distance"
    if (axis.known_errors is None) != (other.known_errors is None):
        return f"labeling errors on {axis.name} are corrected in only one of the two runs"
    return None
