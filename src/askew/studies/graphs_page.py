"""The page of `askew graphs`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from askew.methods.interact.charts import axes_of, network, summary
from askew.methods.interact.findings import InteractionFindings
from askew.methods.interact.sentences import pair, title
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages.media import Media
from askew.pages.phrases import format_phrase
from askew.pages.skeleton import PERCEIVED
from askew.pages.words import listing, number, plural, probability, shorten
from askew.studies.graph_differences import (
    AssociationChange,
    EdgeChange,
    ModelGraphs,
    Runs,
    shared_prompts,
)
from askew.studies.graphs_first_screen import first_screen

READING = b.Paragraph(
    items=(
        "Each axis has the same position in all graphs. Arrows of the same width represent the "
        "same sensitivity.",
        "Edges show which pairs of axes are associated, and Cramér's V (V) measures how "
        "strongly. Neither edges nor V depend on the reference. If an edge is in only one of two "
        "graphs, the models do not necessarily differ. The test for a difference in V randomly "
        "swaps images between the runs. q is the p-value after correction for all pairs on this "
        "page (Benjamini and Hochberg). V tends to be larger if there are few images.",
        "Sensitivities depend on the reference. Differences in sensitivity are relative to the "
        "first run. The intervals for these differences combine the intervals of both runs as in "
        "Newcombe's method, and are simultaneous for all pairs on this page. The intervals "
        "ignore the slight correlation between runs that have the same seeds.",
        PERCEIVED,
    )
)


def page(runs: Runs, differences: ModelGraphs, media: Mapping[str, Media] | None = None) -> b.Page:
    """Return the page of a comparison, with graphs for each prompt that all runs share.

    Parameters
    ----------
    runs
        Runs by name.
    differences
        Differences between the runs.
    media
        Images of the runs, keyed by the run's name. By default, no images are shown.
    """
    axes = axes_of(graph for run in runs.values() for graph in run.biasconnect)
    first, *others = shared_prompts(runs)
    first_run = next(iter(runs))
    headline, *evidence = difference_sentences(runs, differences)
    sections = [
        b.Section(title(first, 120), tuple(_graphs(runs, first, axes)), screen=False),
        b.Section(
            f"Differences from {shorten(first_run, 50)}",
            tuple(_comparison(runs, differences, first)),
        ),
    ]
    if others:
        details = [_prompt_details(runs, differences, prompt, axes) for prompt in others]
        sections.append(b.Section("Each prompt", tuple(details), screen=False))
    sections.append(b.Section("How to read this", (READING,), screen=False))
    return b.Page(
        kicker=f"askew graphs: how bias axes affect each other in {plural(len(runs), 'run')}",
        title=shorten(listing(list(runs)), 120),
        answer=headline,
        detail=" ".join((*evidence, _edge_counts(runs, first))),
        meta=_meta(runs),
        first=first_screen(runs, differences.associations, first, media or {}),
        sections=tuple(sections),
        notes=(
            "The intervals are simultaneous for all pairs on this page. Bold: the interval excludes 0. "
            "Attributes are perceived.",
        ),
        version=runs[first_run].askew,
        limits=skeleton.HOLDS,
    )


def _meta(runs: Runs) -> str:
    """Return a line that states the number of images in each run."""
    counts = []
    for name, run in runs.items():
        images = sum(len(image_set.pictures) for image_set in run.sets)
        counts.append(f"{shorten(name, 50)}: {plural(images, 'image')}")
    return skeleton.meta_line(counts)


def _edge_counts(runs: Runs, prompt: str | None) -> str:
    """Return a sentence that states the number of edges in each run's graph."""
    counts = [
        f"{shorten(name, 50)} has {plural(run.graph(prompt).edge_count, 'edge')}"
        for name, run in runs.items()
    ]
    return f"{title(prompt, 120)}: {listing(counts)}."


def difference_sentences(runs: Runs, differences: ModelGraphs) -> Iterator[str]:
    """Yield sentences that state how many pairs of axes differ between the first and a later run.

    Parameters
    ----------
    runs
        Runs by name.
    differences
        Differences between the runs.

    Yields
    ------
    str
        A sentence. If a run cannot be compared, the sentence states the reason.
    """
    first, *others = runs
    first_name = shorten(first, 50)
    for name in others:
        short = shorten(name, 50)
        reason = differences.runs[name].labels_differ
        if reason:
            yield f"{short} is not compared with {first_name}: {reason}."
            continue
        yield from _association_sentences(short, first_name, differences.of_run(name))
        reason = differences.runs[name].differs
        if reason:
            yield (
                f"The sensitivities (IS) of {short} are not compared with {first_name}: {reason}."
            )
            continue
        changes = [change for change in differences.changes if change.run == name]
        determined = sum(change.determined for change in changes)
        yield format_phrase(
            "graph_difference" if determined else "no_graph_difference",
            run=short,
            first=first_name,
            count=f"{determined:,}",
            pairs=plural(len(changes), "pair"),
        )


def _association_sentences(
    run: str, first: str, associations: Sequence[AssociationChange]
) -> Iterator[str]:
    """Yield one sentence about the number of pairs that differ, and one about shared edges.

    If neither run has an edge, the sentence about shared edges is left out.
    """
    differing = sum(change.is_significant for change in associations)
    yield format_phrase(
        "association_difference" if differing else "no_association_difference",
        run=run,
        first=first,
        count=f"{differing:,}",
        pairs=plural(len(associations), "pair"),
    )
    both = sum(change.first_edge and change.later_edge for change in associations)
    either = sum(change.first_edge or change.later_edge for change in associations)
    if either:
        yield f"{run} and {first} have {both:,} of {plural(either, 'edge')} in common."


def _prompt_details(
    runs: Runs, differences: ModelGraphs, prompt: str | None, axes: Sequence[str]
) -> b.Details:
    blocks = (*_graphs(runs, prompt, axes), *_comparison(runs, differences, prompt))
    return b.Details(title(prompt, 120), blocks)


def _comparison(runs: Runs, differences: ModelGraphs, prompt: str | None) -> Iterator[b.Block]:
    """Yield tables and charts that compare associations and sensitivities with the first run."""
    others = list(runs)[1:]
    if any(differences.runs[name].labels_differ is None for name in others):
        yield _association_table(runs, differences, prompt)
    if any(differences.runs[name].differs is None for name in others):
        yield _difference_chart(runs, differences, prompt)


def _association_table(runs: Runs, differences: ModelGraphs, prompt: str | None) -> b.Block:
    """Return a table of the pairs that are edges in either run or whose association differs."""
    shown = []
    for change in differences.associations:
        is_edge = change.first_edge or change.later_edge
        if change.prompt == prompt and (change.is_significant or is_edge):
            shown.append(change)
    if not shown:
        return b.Paragraph(
            "No pair of axes is an edge in any compared run, and no pair differs significantly."
        )
    shown.sort(key=lambda change: (change.q, -abs(change.later_v - change.first_v)))
    first = shorten(next(iter(runs)), 50)
    several_runs = len(runs) > 2
    columns = ("Pair", *(("Run",) if several_runs else ()), f"V in {first}", "V in the run", "q")
    rows = []
    for change in shown:
        cells = [pair(change.source, change.target)]
        if several_runs:
            cells.append(shorten(change.run, 50))
        cells.append(_association(change.first_v, change.first_edge))
        cells.append(_association(change.later_v, change.later_edge))
        cells.append(probability(change.q))
        rows.append(tuple(cells))
    return b.Table(
        "Association between axes (Cramér's V), for pairs that are edges in either run or "
        "differ significantly (q < 0.05). The pairs with the smallest q come first",
        columns,
        tuple(rows),
        labels=2 if several_runs else 1,
    )


def _association(v: float, is_edge: bool) -> str:
    return f"{number(v)}, edge" if is_edge else number(v)


def _graphs(runs: Runs, prompt: str | None, axes: Sequence[str]) -> Iterator[b.Section]:
    """Yield a diagram of each run's graph."""
    for name, run in runs.items():
        graph = run.graph(prompt)
        diagram = network(graph, axes, f"{name}: {title(prompt)}")
        heading = f"{shorten(name, 60)}: {plural(graph.edge_count, 'edge')}"
        shown = (diagram,) if diagram.edges else ()
        yield b.Section(heading, (*shown, summary(graph)))


def _difference_chart(runs: Runs, differences: ModelGraphs, prompt: str | None) -> b.Block:
    """Return a chart of the pairs that are edges in either run or whose sensitivity differs."""
    shown = [
        change
        for change in differences.changes
        if change.prompt == prompt and (change.determined or _is_edge(runs, change))
    ]
    if not shown:
        return b.Paragraph(
            "No pair of axes differs significantly from the first run, and there is no edge whose "
            "sensitivities can be compared."
        )
    shown.sort(key=lambda change: (not change.determined, -abs(change.difference.value)))
    first = shorten(next(iter(runs)), 50)
    return b.IntervalChart(
        f"Difference in Intersectional Sensitivity from {first}, for pairs that are edges in "
        "either run or differ significantly. A positive difference means that the second axis "
        "comes closer to its reference than in the first run",
        "Pair",
        tuple(_difference_row(change, several_runs=len(runs) > 2) for change in shown),
        "difference",
        "signed",
        b.PLAIN,
        interval="simultaneous interval of the difference, for all pairs on this page",
    )


def _difference_row(change: EdgeChange, several_runs: bool) -> b.IntervalRow:
    low, high = change.simultaneous
    return b.IntervalRow(
        pair(change.source, change.target),
        replace(change.difference, low=low, high=high),
        note=change.run if several_runs else "",
        strong=change.determined,
    )


def _is_edge(runs: Runs, change: EdgeChange) -> bool:
    """Check whether a pair is an edge in the first run or in the later run."""
    first = next(iter(runs.values()))
    return any(_has_edge(run, change) for run in (first, runs[change.run]))


def _has_edge(run: InteractionFindings, change: EdgeChange) -> bool:
    edge = run.graph(change.prompt).edge(change.source, change.target)
    return edge is not None and edge.drawn
