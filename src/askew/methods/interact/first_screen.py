"""Build the first screen of the page of `askew interact`: effects between axes, and images."""

from collections.abc import Iterator, Sequence

from askew.findings import PictureSet
from askew.methods.interact.charts import over_prompts
from askew.methods.interact.findings import Edge, Graph, InteractionFindings
from askew.pages import blocks as b
from askew.pages import words
from askew.pages.media import Media
from askew.pages.words import axis_label, capital, plural, shorten
from askew.parts.survey.first_screen import images_by_label, label_column, shots_by_label
from askew.stats.intervals import ends
from askew.types import Estimate

SHOWN = 24
"""Maximum number of images in each column."""

SINGLE_PAIR = 0.1
"""Shading strength of effects that are significant only if their pair is tested separately."""

DETERMINED = 0.8
"""Shading strength of effects whose direction is determined."""

KEYS = (
    ("under-4 framed", "closer to the reference: the direction is determined"),
    ("over-4 framed", "further from the reference: the direction is determined"),
    ("under-1", "closer: significant only for this single pair"),
    ("over-1", "further: significant only for this single pair"),
    ("none", "not determined"),
)


def first_screen(findings: InteractionFindings, media: Media) -> b.FirstScreen:
    """Return a heat map of the first graph, and images that illustrate its strongest effect.

    Parameters
    ----------
    findings
        Findings of the run.
    media
        Run that holds the images.

    Returns
    -------
    FirstScreen
        The first screen. If there are several prompts, the screen also contains a chart that
        summarizes each pair of axes over the prompts.
    """
    graph, *single_prompts = findings.biasconnect
    heat_map = effects_matrix(graph)
    if single_prompts:
        chart = over_prompts(findings.over_prompts, single_prompts)
        return b.FirstScreen((chart, heat_map), _as_generated(findings, media), layout="even")
    images = tuple(_before_and_after(findings, media, graph))
    return b.FirstScreen((heat_map,), images or _as_generated(findings, media), layout="even")


def _as_generated(findings: InteractionFindings, media: Media) -> tuple[b.SortedImages, ...]:
    """Return the baseline images of the first prompt, sorted by their label on the first axis."""
    for image_set in findings.sets:
        for entry in findings.shares:
            if (entry.prompt, entry.set) == (image_set.prompt, image_set.name):
                return (images_by_label(media, image_set, entry),)
    return ()


def effects_matrix(graph: Graph) -> b.ScoreMatrix:
    """Return a heat map of sensitivities: equalized axes as rows, affected axes as columns."""
    sources = list(dict.fromkeys(edge.source for edge in graph.edges))
    targets = list(dict.fromkeys(edge.target for edge in graph.edges))
    rows = []
    for source in sources:
        cells = [_cell(graph.edge(source, target)) for target in targets]
        link = f"{graph.prompt} {source}"
        rows.append(b.MatrixRow(capital(axis_label(source)), tuple(cells), link=link))
    kinds = {_kind(edge) for edge in graph.edges if not edge.direct}
    return b.ScoreMatrix(
        caption="Change of each axis if another axis were uniform",
        heading="Made uniform",
        columns=tuple(capital(axis_label(target)) for target in targets),
        rows=tuple(rows),
        note="Row: axis made uniform. Column: axis that changes. Number: intersectional sensitivity "
        "(IS), positive if the axis comes closer to its reference.",
        keys=tuple(key for key in KEYS if key[0] in kinds),
        square=True,
    )


def _kind(edge: Edge) -> str:
    """Return the key in `KEYS` that describes an effect."""
    if edge.effect != "changed":
        return "under-4 framed" if edge.effect == "better" else "over-4 framed"
    if isinstance(edge.sensitivity, Estimate):
        low, high = ends(edge.sensitivity)
        if low > 0:
            return "under-1"
        if high < 0:
            return "over-1"
    return "none"


def _cell(edge: Edge | None) -> b.MatrixCell | None:
    if edge is None:
        return None
    if edge.direct:
        return b.MatrixCell("")
    if not isinstance(edge.sensitivity, Estimate):
        return b.MatrixCell(words.ABSENT)
    kind = _kind(edge)
    determined = edge.effect != "changed"
    level = 0.0
    if kind != "none":
        size = DETERMINED if determined else SINGLE_PAIR
        level = -size if kind.startswith("under") else size
    text = words.signed(edge.sensitivity.value)
    return b.MatrixCell(text, level=level, significant=determined, framed=determined)


def _before_and_after(
    findings: InteractionFindings, media: Media, graph: Graph
) -> Iterator[b.SortedImages]:
    """Yield images that show the strongest effect: as generated, and with one axis made uniform."""
    candidates = graph.determined or graph.drawn
    if not candidates:
        return
    edge = max(candidates, key=lambda candidate: candidate.size)
    baseline = [image_set for image_set in findings.sets if image_set.axis is None]
    shares = [
        entry
        for entry in findings.shares
        if (entry.prompt, entry.set, entry.axis) == (graph.prompt, "initial", edge.target)
    ]
    after = _uniform_column(findings.sets, media, graph, edge)
    if not (baseline and shares and after.groups):
        return
    before = label_column(
        media, baseline[0], shares[0], "As generated", words.quote(str(graph.prompt), 40), SHOWN
    )
    target = axis_label(edge.target)
    source = axis_label(edge.source)
    yield b.SortedImages(
        f"{capital(target)} labels, as generated and with {source} uniform",
        (before, after),
        f"Each column shows its first {SHOWN} images. The counts include all images.",
    )


def _uniform_column(
    sets: Sequence[PictureSet], media: Media, graph: Graph, edge: Edge
) -> b.ImageColumn:
    """Return the counterfactual images of an axis, sorted by their label on another axis."""
    values = graph.axis(edge.target).values
    of_source = [
        image_set
        for image_set in sets
        if image_set.axis == edge.source and image_set.prompt == graph.prompt
    ]
    shots: dict[str, list[b.Thumbnail]] = {value: [] for value in values}
    for image_set in of_source:
        most = SHOWN // len(of_source)
        of_set = shots_by_label(media, image_set, edge.target, most, f"with {image_set.value}")
        for value in values:
            shots[value] += of_set.get(value, [])
    counts = [0] * len(values)
    for row in graph.counts.after.get(edge.source, {}).get(edge.target, ()):
        counts = [count + more for count, more in zip(counts, row, strict=True)]
    groups = [
        b.LabelGroup(shorten(value, 40), count, tuple(shots[value]))
        for value, count in zip(values, counts, strict=True)
        if count
    ]
    groups.sort(key=lambda group: -group.count)
    name = f"{capital(axis_label(edge.source))} uniform"
    return b.ImageColumn(tuple(groups), sum(counts), name, plural(len(of_source), "value"))
