"""Build the page of `askew interact`: shares in the baseline images, and effects between axes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from askew.methods.interact.charts import (
    associated_chart,
    axes_of,
    matrix,
    network,
    summary,
    validation_charts,
)
from askew.methods.interact.findings import Graph, InteractionFindings
from askew.methods.interact.first_screen import first_screen
from askew.methods.interact.guide import guide
from askew.methods.interact.sentences import (
    answer_over_prompts,
    associated_pairs,
    edge_sentence,
    effects_of,
    headline,
    is_heterogeneous,
    lead,
    mitigated_sentence,
    pair,
    pooled_disagreements,
    rules,
    title,
    validation_sentences,
)
from askew.pages import blocks as b
from askew.pages import skeleton, words
from askew.pages.media import Media, allowance, set_row
from askew.pages.words import axis_label, capital, listing, plural
from askew.parts.survey.blocks import gaps, seen, together
from askew.parts.survey.sentences import missing_sentences
from askew.types import Estimate

HETEROGENEOUS_PAIRS = 6
"""Maximum number of pairs listed in the note on differences between prompts."""


def page(findings: InteractionFindings, media: Media) -> b.Page:
    """Return the page for a run of `askew interact`."""
    prompts = [prompt.text for prompt in findings.plan.prompts]
    first = findings.biasconnect[0]
    text = headline(first)
    detail = lead(first)
    if findings.over_prompts:
        text, separator, detail = answer_over_prompts(findings.over_prompts).partition(". ")
        text += separator.strip()
    of_prompts = seen(findings.shares, lambda entry: f"{entry.prompt} {entry.axis}")
    baseline = [*together(findings.shares_over_prompts), *of_prompts]
    return skeleton.page(
        findings,
        skeleton.Heading(
            kicker="askew interact",
            title=f"“{prompts[0]}”" if len(prompts) == 1 else plural(len(prompts), "prompt"),
            answer=text,
            detail=detail,
            meta=(*skeleton.meta(findings), plural(len(first.axes), "axis", "axes")),
            first=first_screen(findings, media),
        ),
        sections=(
            *_graph_sections(findings, media),
            b.Section("Shares in the baseline images", baseline, screen=False),
            b.Section("Estimates compared with a real mitigation", _validation(findings)),
        ),
        reading=guide(findings),
        notes=(_note(findings), *skeleton.notes(findings)[1:]),
        gaps=gaps(findings.shares),
        uneven=missing_sentences(findings.missing_pictures),
    )


def _note(findings: InteractionFindings) -> str:
    return (
        "IS: decrease in the deviation of the second axis from its reference. The intervals are "
        f"simultaneous for all pairs on this page. Edges: {rules(findings)}. Bold: the interval "
        "for this single pair excludes 0. Attributes are perceived."
    )


def _graph_sections(findings: InteractionFindings, media: Media) -> Iterator[b.Section]:
    """Yield a section about the pooled prompts if there are several, then a section per prompt."""
    first, *single_prompts = findings.biasconnect
    if not single_prompts:
        yield b.Section("Effects between axes", _graph(findings, media, first))
        return
    pooled = b.Paragraph(pooled_sentences(findings), muted=True)
    yield b.Section("All prompts together", (pooled, *_graph(findings, media, first)))
    details = [_prompt_details(findings, media, graph) for graph in single_prompts]
    yield b.Section("Each prompt", tuple(details))


def pooled_sentences(findings: InteractionFindings) -> str:
    """Return sentences about the pooled graph, and about effects that may cancel out in it."""
    text = (
        "This is the paper's pooled graph (Eq. 9–11), computed from the summed counts of all "
        "prompts."
    )
    heterogeneous = [
        pair(entry.source, entry.target)
        for entry in associated_pairs(findings.over_prompts)
        if is_heterogeneous(entry)
    ]
    if heterogeneous:
        text += (
            f" The effects of {_some_pairs(heterogeneous)} differ significantly between prompts. In pooled counts, "
            "opposite effects may cancel out."
        )
    opposite = pooled_disagreements(findings.biasconnect[0], findings.over_prompts)
    if opposite:
        text += (
            f" The pooled effects of {listing(opposite)} are opposite to the effects in some "
            "prompts. Biases of single prompts may cancel out when shares are pooled. The "
            "deviation of the pooled shares can then increase although the deviation decreases in "
            "every prompt."
        )
    return text


def _some_pairs(pairs: Sequence[str]) -> str:
    """List the first pairs, and state how many more there are."""
    others = len(pairs) - HETEROGENEOUS_PAIRS
    if others <= 0:
        return listing(pairs)
    return listing([*pairs[:HETEROGENEOUS_PAIRS], plural(others, "other pair")])


def _prompt_details(findings: InteractionFindings, media: Media, graph: Graph) -> b.Details:
    heading = f"{title(graph.prompt)}: {plural(len(graph.drawn), 'edge')}"
    if graph.drawn:
        strongest = graph.drawn[0]
        heading += f"; strongest: {pair(strongest.source, strongest.target)}"
    return b.Details(heading, _graph(findings, media, graph), anchor=graph.prompt)


def _graph(findings: InteractionFindings, media: Media, graph: Graph) -> tuple[b.Block, ...]:
    """Return all blocks of the page that describe a graph."""
    axes = axes_of(findings.biasconnect)
    sources = dict.fromkeys(edge.source for edge in graph.edges)
    details = [_axis_details(findings, media, graph, axis) for axis in sources]
    determined = [edge for edge in graph.edges if edge.direct or edge.effect != "changed"]
    arrows = network(replace(graph, edges=tuple(determined)), axes, "Determined directions")
    return (
        associated_chart(graph),
        *((arrows,) if arrows.edges else ()),
        summary(graph),
        b.Section("All pairs of axes", (matrix(graph, axes),), screen=False),
        b.Section("Each equalized axis", tuple(details), screen=False),
    )


def _axis_details(
    findings: InteractionFindings, media: Media, graph: Graph, axis: str
) -> b.Details:
    """Return a collapsed block about an equalized axis: its effect on itself, and images."""
    blocks: list[b.Block] = []
    direct = graph.edge(axis, axis)
    if direct and isinstance(direct.sensitivity, Estimate):
        effect = capital(edge_sentence(graph, direct))
        blocks.append(b.Paragraph(f"{effect}. This is its direct effect."))
    most = allowance(0, len(findings.sets))[1]
    rows = tuple(
        set_row(media, image_set, most)
        for image_set in findings.sets
        if image_set.prompt == graph.prompt and image_set.axis in (None, axis)
    )
    if any(shot.image for row in rows for shot in row.shots):
        caption = f"Baseline images, and images for each value of {axis_label(axis)}"
        blocks.append(b.PictureGrid(caption, rows))
    heading = f"{capital(axis_label(axis))}: {effects_of(graph, axis)}"
    return b.Details(heading, blocks, f"{graph.prompt} {axis}")


def _validation(findings: InteractionFindings) -> Iterator[b.Block]:
    """Yield blocks that compare estimates with a real mitigation, if any axis was mitigated."""
    validation = findings.validation
    if validation is None:
        return
    yield b.Paragraph(" ".join(validation_sentences(validation)))
    mean = words.describe_score(validation.mean_correlation)
    yield b.Paragraph(
        f"{mitigated_sentence(findings)} Mean correlation over prompts: {mean}.", muted=True
    )
    yield from validation_charts(findings, validation)
