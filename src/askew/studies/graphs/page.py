"""The page of `askew graphs`: graphs of several runs on one layout, what differs, and one graph of all together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from askew.methods.interact import figures
from askew.methods.interact.findings import Edge, Graph, InteractionFindings
from askew.pages import blocks as b
from askew.pages.common import PERCEIVED
from askew.pages.words import ABSENT, listing, plural, shorten, signed
from askew.stats.interaction_graph import difference
from askew.studies.graphs.pooled import PooledGraph
from askew.types import Estimate, Missing

READING = b.Text(items=(
    "Every axis stands at the same place in every graph, and equal lines mean equal sensitivities.",
    "An edge in one graph and none in another is not yet a difference of the models. What differs is told against the "
    "first run, with an interval for the change itself (both runs' intervals joined as in Newcombe's method).",
    "The graph of all models together adds up their counts over the prompts that all of them have; every model and "
    "prompt weighs alike. An edge there need not be one of every model, so the table says how many models, and how "
    "many graphs of single prompts, have it. The interval of the mean is about these models; the interval of the share "
    "of prompts takes the prompts as a sample, the models of one prompt as alike.",
    PERCEIVED,
))  # fmt: skip

Runs = Mapping[str, InteractionFindings]


@dataclass(frozen=True, slots=True)
class Change:
    """The sensitivity of a pair of axes in a later run, less that in the first."""

    edge: Edge
    run: str
    score: Estimate

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return (self.score.low or 0.0) > 0 or (self.score.high or 0.0) < 0


def page(runs: Runs, pooled: PooledGraph | Missing) -> b.Page:
    """What to show of several runs by name. Only graphs that every run has are shown."""
    axes = figures.axes_of(graph for found in runs.values() for graph in found.biasconnect)
    first, *others = shared_prompts(runs)
    counts = sorted(((len(graph.drawn), name) for name, graph in graphs_of(runs, first).items()),
                    key=lambda item: (-item[0], item[1]))  # fmt: skip
    told = listing([f"{shorten(name, 50)} has {plural(edges, 'edge')}" for edges, name in counts])
    more = (b.Fold(figures.title(prompt, 120), _side_by_side(graphs_of(runs, prompt), axes)) for prompt in others)
    return b.Page(
        kicker=f"askew graphs: how biases pull on each other in {plural(len(runs), 'run')}",
        title=shorten(listing(list(runs)), 120),
        answer=f"{figures.title(first, 120)}: {told}.",
        facts=(),
        sections=(
            b.Section(figures.title(first, 120), _side_by_side(graphs_of(runs, first), axes), screen=False),
            b.Section("All models together", tuple(_together(pooled, len(runs), axes))),
            *([b.Section("Each prompt", tuple(more), screen=False)] if others else []),
            b.Section("How to read this", (READING,), screen=False),
        ),
        notes=(
            f"IS: from the counts of all {len(runs)} models added up. Mean: of the models' own IS. Models, prompts: in "
            "how many models' graphs, and in how many graphs of single prompts, the edge is there. Attributes are "
            "perceived.",
        ),
        version=next(iter(runs.values())).askew,
    )  # fmt: skip


def shared_prompts(runs: Runs) -> list[str | None]:
    """What all runs have a graph of: all prompts together (None) where there is such a graph, then every prompt."""
    first, *others = ([graph.prompt for graph in found.biasconnect] for found in runs.values())
    return [prompt for prompt in first if all(prompt in prompts for prompts in others)]


def graphs_of(runs: Runs, prompt: str | None) -> dict[str, Graph]:
    """By run the graph of a prompt that all have."""
    return {name: next(graph for graph in found.biasconnect if graph.prompt == prompt) for name, found in runs.items()}


def changes(graphs: Mapping[str, Graph]) -> list[Change]:
    """Every edge of any run against the first run, clear changes first, large ones before small ones."""
    (_, first), *others = graphs.items()
    found = []
    for edge in any_edges(graphs):
        for name, graph in others:
            before, after = (own.edge(edge.source, edge.target) for own in (first, graph))
            scores = [one.sensitivity for one in (before, after) if one]
            known = [e for e in scores if isinstance(e, Estimate) and e.low is not None]
            if len(known) == 2:
                found.append(Change(edge, name, Estimate(*difference(*known))))
    return sorted(found, key=lambda one: (not one.clear, -abs(one.score.value)))


def any_edges(graphs: Mapping[str, Graph]) -> list[Edge]:
    """The edges of any run, the strongest of the first run first."""
    found: dict[tuple[str, str], Edge] = {}
    for one in (edge for graph in graphs.values() for edge in graph.drawn):
        found.setdefault((one.source, one.target), one)
    return list(found.values())


def _side_by_side(graphs: Mapping[str, Graph], axes: Sequence[str]) -> tuple[b.Block, ...]:
    """Every run's graph, and what differs from the first."""
    sides = b.Beside(tuple(
        b.Section(f"{shorten(name, 60)}: {plural(len(graph.drawn), 'edge')}",
                  (figures.network(graph, axes, f"{name}: {figures.title(graph.prompt)}"), figures.summary(graph)))
        for name, graph in graphs.items()
    ))  # fmt: skip
    edges, found = any_edges(graphs), changes(graphs)
    if not edges:
        return (sides,)
    first, *others = [shorten(name, 50) for name in graphs]
    settled = {name: [one.clear for one in found if one.run == name] for name in list(graphs)[1:]}
    told = [f"{sum(own):,} of {plural(len(own), 'edge')} in {shorten(name, 50)}" for name, own in settled.items()]
    rows = tuple(b.Lane(figures.pair(one.edge), one.score, note=one.run if len(others) > 1 else "", strong=one.clear)
                 for one in found)  # fmt: skip
    lanes = b.Lanes(
        f"Change of Intersectional Sensitivity against {first}; right of zero the axis is brought nearer to its ideal "
        "than there", "Edge", rows, "change", "signed", b.PLAIN, interval="interval of the change",
    )  # fmt: skip
    clear = b.Text(f"Clearly different from {first}: {listing(told)}.")
    return sides, b.Section(f"Against {first}", (clear, lanes))


def _together(pooled: PooledGraph | Missing, models: int, axes: Sequence[str]) -> Iterator[b.Block]:
    """The graph of all models: its edges, and how many models and prompts have each; or why there is none."""
    if isinstance(pooled, Missing):
        yield b.Text(f"No graph of all models together: {pooled.detail}.")
        return
    edges = sorted((one for one in pooled.edges if one.drawn), key=lambda one: -one.size)
    shared = sum(isinstance(one.models, Estimate) and one.models.value == 1 for one in edges)
    which = {0: "none of them is", 1: "one of them is"}.get(shared, f"{shared:,} of them are")
    yield b.Text(
        f"Over all {models} models and {plural(len(pooled.prompts), 'prompt')}: {plural(len(edges), 'edge')}; {which} "
        "in every model's own graph." if edges
        else f"Over all {models} models no pair of axes pulls on another beyond chance."
    )  # fmt: skip
    drawn = (figures.network(pooled, axes, "All models together"), figures.summary(pooled))
    yield b.Section("Graph", drawn, screen=False)
    rows = []
    for one in edges:
        mean = one.mean_sensitivity.value if isinstance(one.mean_sensitivity, Estimate) else None
        rows.append(b.Lane(figures.pair(one), one.sensitivity, (signed(mean), _of(one.models), _of(one.prompts)),
                           marks=() if mean is None else (b.Mark(mean, "mean"),), strong=False))  # fmt: skip
    if rows:
        yield b.Lanes(
            "Intersectional Sensitivity from the counts of all models added up (Eq. 9–11), the strongest first", "Edge",
            tuple(rows), "IS", "signed", b.PLAIN, ("mean", "models", "prompts’ graphs"),
            interval="interval for the true value",
        )  # fmt: skip


def _of(share: Estimate | Missing) -> str:
    """ "3 of 4"."""
    return f"{round(share.value * (share.n or 0))} of {share.n}" if isinstance(share, Estimate) else ABSENT
