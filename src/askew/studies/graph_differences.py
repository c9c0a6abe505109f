"""Compute the differences between the interaction graphs of several models.

Images that have the same seed are slightly correlated across runs, but askew computes intervals as
if the runs were independent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askew.findings import Identity
from askew.methods.interact.findings import Edge, Graph, GraphAxis, InteractionFindings
from askew.stats.contingency import association_change_p
from askew.stats.intervals import benjamini_hochberg, ends, mover, simultaneous
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.store.keys import derived_seed
from askew.types import Estimate, record

Runs = Mapping[str, InteractionFindings]
"""Runs, keyed by name."""


@record
class EdgeChange:
    """Change in the sensitivity of a pair of axes from the first run to a later run.

    Attributes
    ----------
    run : str
        Name of the later run.
    prompt : str or None
        Prompt whose graphs are compared. None for the graphs over all prompts.
    source, target : str
        Names of two different axes.
    difference : Estimate
        Sensitivity in the later run minus sensitivity in the first run.
    simultaneous : tuple of (float, float)
        Simultaneous confidence interval for the difference, corrected for the number of changes.
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
class AssociationChange:
    """Change in the association of two axes from the first run to a later run.

    Unlike the sensitivities, associations do not depend on the reference.

    Attributes
    ----------
    run : str
        Name of the later run.
    prompt : str or None
        Prompt whose graphs are compared. None for the graphs over all prompts.
    source, target : str
        Names of the two axes.
    first_edge, later_edge : bool
        Whether the pair is an edge in the first run, and whether it is an edge in the later run.
        The chi-squared test and the first run's edge rule determine which pairs are edges.
    first_v, later_v : float
        Cramér's V in the first run and in the later run, in [0, 1].
    p, q : float
        p-value and q-value of a permutation test of the hypothesis that V is equal in both runs.
        The test randomly swaps images between the runs. The tests of all changes form one family.
    """

    run: str
    prompt: str | None
    source: str
    target: str
    first_edge: bool
    later_edge: bool
    first_v: float
    later_v: float
    p: float
    q: float

    @property
    def is_significant(self) -> bool:
        """Check whether the associations differ significantly."""
        return self.q < SIGNIFICANCE_LEVEL


@record
class ComparedGraph:
    """A run, and the reasons, if any, why it cannot be compared with the first run.

    Attributes
    ----------
    model : Identity
        Model of the run.
    plan_hash, askew : str
        Hash of the run's plan, and version of askew.
    differs : str or None
        Reason why the run's sensitivities cannot be compared with those of the first run; None if
        they can.
    labels_differ : str or None
        Reason why the run's associations cannot be compared with those of the first run; None if
        they can.
    """

    model: Identity
    plan_hash: str
    askew: str
    differs: str | None
    labels_differ: str | None


@record
class ModelGraphs:
    """Content of graphs.json.

    Attributes
    ----------
    runs : mapping of str to ComparedGraph
        Runs, keyed by name.
    changes : tuple of EdgeChange
        Changes in sensitivity from the first run to each later run, for each pair of axes.
    associations : tuple of AssociationChange
        Changes in association from the first run to each later run, for each pair of axes.
    """

    runs: Mapping[str, ComparedGraph]
    changes: tuple[EdgeChange, ...]
    associations: tuple[AssociationChange, ...]

    def of_run(self, run: str) -> list[AssociationChange]:
        """Return the changes in association from the first run to this run."""
        return [change for change in self.associations if change.run == run]


def shared_prompts(runs: Runs) -> list[str | None]:
    """Return the prompts that have a graph in all runs. A prompt of None stands for all prompts."""
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
        Runs, keyed by name.

    Returns
    -------
    ModelGraphs
        All runs, and the changes in the sensitivities and associations that can be compared.
    """
    first, *others = runs
    compared = {name: _compared_graph(runs[first], run) for name, run in runs.items()}
    changes: list[EdgeChange] = []
    pairs: list[GraphPair] = []
    for name in others:
        for prompt in shared_prompts(runs):
            graphs = (runs[first].graph(prompt), runs[name].graph(prompt))
            if compared[name].differs is None:
                changes += _changes(name, *graphs)
            if compared[name].labels_differ is None:
                pairs += _compared_pairs(name, *graphs)
    return ModelGraphs(
        runs=compared,
        changes=tuple(
            replace(change, simultaneous=simultaneous(change.difference, len(changes)))
            for change in changes
        ),
        associations=_association_changes(pairs),
    )


def _compared_graph(first: InteractionFindings, run: InteractionFindings) -> ComparedGraph:
    return ComparedGraph(
        model=run.model,
        plan_hash=run.plan_hash,
        askew=run.askew,
        differs=differs(first, run),
        labels_differ=labels_differ(first, run),
    )


def _changes(name: str, first: Graph, later: Graph) -> Iterator[EdgeChange]:
    """Yield the change in sensitivity of each pair whose sensitivity is known in both graphs."""
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


@dataclass(frozen=True, slots=True)
class GraphPair:
    """A pair of different axes whose association is tested in both runs.

    Attributes
    ----------
    run : str
        Name of the later run.
    first, later : Edge
        The pair in the first run and in the later run.
    graph : Graph
        Graph of the first run. The rule of this graph decides whether a pair is an edge.
    tables : tuple of array, (K, m)
        Contingency tables of the first run and of the later run. Both contingency tables have the
        same row values and the same column values.
    """

    run: str
    first: Edge
    later: Edge
    graph: Graph
    tables: tuple[NDArray[np.int64], NDArray[np.int64]]


def _compared_pairs(name: str, first: Graph, later: Graph) -> Iterator[GraphPair]:
    """Yield the pairs of different axes whose association is tested in both graphs."""
    for edge in first.edges:
        other = later.edge(edge.source, edge.target)
        if edge.direct or other is None or edge.untested or other.untested:
            continue
        yield GraphPair(
            run=name,
            first=edge,
            later=other,
            graph=first,
            tables=_aligned_tables(first, later, edge),
        )


def _aligned_tables(
    first: Graph, later: Graph, edge: Edge
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a pair's contingency tables in both graphs, with the same columns.

    Open answers may contain values that occur in only one of the graphs. If a value does not occur
    in a graph, its count in this graph is 0.
    """
    values = list(dict.fromkeys((*first.axis(edge.target).values, *later.axis(edge.target).values)))
    tables = []
    for graph in (first, later):
        rows = np.asarray(graph.counts.after[edge.source][edge.target], dtype=np.int64)
        table = np.zeros((len(rows), len(values)), dtype=np.int64)
        columns = [values.index(value) for value in graph.axis(edge.target).values]
        table[:, columns] = rows
        tables.append(table)
    return tables[0], tables[1]


def _association_changes(pairs: Sequence[GraphPair]) -> tuple[AssociationChange, ...]:
    """Test the change in association of each pair. All tests form one family."""
    threshold = SIGNIFICANCE_LEVEL / max(len(pairs), 1)
    p_values = []
    for pair in pairs:
        names = (pair.run, pair.graph.prompt or "", pair.first.source, pair.first.target)
        rng = np.random.default_rng(derived_seed(0, *names, "association"))
        p_values.append(association_change_p(*pair.tables, rng=rng, threshold=threshold))
    changes = []
    for pair, p, q in zip(pairs, p_values, benjamini_hochberg(p_values), strict=True):
        changes.append(
            AssociationChange(
                run=pair.run,
                prompt=pair.graph.prompt,
                source=pair.first.source,
                target=pair.first.target,
                first_edge=_passes(pair.first, pair.graph),
                later_edge=_passes(pair.later, pair.graph),
                first_v=pair.first.cramers_v or 0.0,
                later_v=pair.later.cramers_v or 0.0,
                p=p,
                q=float(q),
            )
        )
    return tuple(changes)


def _passes(edge: Edge, graph: Graph) -> bool:
    """Check whether a pair is an edge, using the chi-squared test and the graph's edge rule."""
    compared = edge.q if graph.edge_rule == "q" else edge.p
    return compared is not None and compared < graph.alpha


def differs(first: InteractionFindings, other: InteractionFindings) -> str | None:
    """Return the reason why the sensitivities in two runs cannot be compared; None if they can."""
    return labels_differ(first, other) or _first_reason(first, other, _deviation_difference)


def labels_differ(first: InteractionFindings, other: InteractionFindings) -> str | None:
    """Return the reason why the associations in two runs cannot be compared; None if they can."""
    for prompt in shared_prompts({"first": first, "other": other}):
        if first.graph(prompt).instrument != other.graph(prompt).instrument:
            return "its images are labeled by a different instrument"
    return _first_reason(first, other, _label_difference)


def _first_reason(
    first: InteractionFindings,
    other: InteractionFindings,
    difference: Callable[[GraphAxis, GraphAxis], str | None],
) -> str | None:
    """Return the first reason that `difference` finds on an axis of a shared prompt, if any."""
    for prompt in shared_prompts({"first": first, "other": other}):
        other_axes = {axis.name: axis for axis in other.graph(prompt).axes}
        for axis in first.graph(prompt).axes:
            if axis.name in other_axes:
                reason = difference(axis, other_axes[axis.name])
                if reason:
                    return reason
    return None


def _label_difference(axis: GraphAxis, other: GraphAxis) -> str | None:
    """Return the reason why an axis's values cannot be compared between two runs; None if they can.

    If an axis has no counterfactual prompts in one of the runs, the axis appears only as a target
    in the compared pairs. The runs can then be compared even if this axis's counterfactual prompts
    differ between them.
    """
    both_open = axis.open and other.open
    both_changed = axis.counterfactuals and other.counterfactuals
    same_values = both_open or axis.values == other.values
    if same_values and (not both_changed or axis.counterfactuals == other.counterfactuals):
        return None
    return f"{axis.name} has different values"


def _deviation_difference(axis: GraphAxis, other: GraphAxis) -> str | None:
    """Return the reason why an axis's deviations cannot be compared; None if they can."""
    if axis.open or other.open:
        return None
    if axis.distance != other.distance or not np.allclose(axis.reference, other.reference):
        return f"{axis.name} has a different reference or a different distance measure"
    if (axis.known_errors is None) != (other.known_errors is None):
        return f"labeling errors on {axis.name} are corrected in only one of the two runs"
    return None
