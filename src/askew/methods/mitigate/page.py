"""Build the page of `askew mitigate`: shares, deviations, side effects and predictions."""

from collections.abc import Collection, Iterator, Sequence

from askew.findings import E, PictureSet
from askew.methods.mitigate.choice_page import choice_blocks, choice_sentence, overall_chart
from askew.methods.mitigate.findings import AxisChange, MitigationFindings, TechniqueFindings
from askew.methods.mitigate.first_screen import change_chart, first_screen
from askew.pages import blocks as b
from askew.pages import skeleton, words
from askew.pages.media import Media, shot
from askew.pages.phrases import format_phrase
from askew.pages.words import (
    axis_label,
    capital,
    listing,
    measured,
    number,
    perceived,
    percent,
    plural,
    quote,
    shorten,
)
from askew.parts.survey import blocks as survey
from askew.parts.survey.sentences import LIMITS
from askew.types import Estimate

IMAGES_OF_PROMPT = 12
"""Number of images shown per technique, divided among all prompts."""

FEWEST_IMAGES = 4
MOST_PAIRS = 10
"""Maximum number of pairs of axes in the table of associations."""

TERMS = (
    (
        "Held-out images",
        "Images on which the mitigation is evaluated. Their seeds differ from the seeds of the "
        "planning images. Images before and after mitigation have the same seeds and are "
        "compared in pairs.",
    ),
    (
        "Distance",
        "Deviation of the shares from the target shares or, on a monitored axis, from the "
        "reference. The deviation is bias-corrected. q is corrected separately over target axes "
        "and over monitored axes.",
    ),
    (
        "More strongly associated",
        "Cramér's V between the two axes rose significantly. V also rises when rare values "
        "become more frequent. “Expected” is the V that would result if only the shares had "
        "changed, but not the odds ratios.",
    ),
    (
        "Difference from the images before",
        "Squared kernel distance between the image embeddings before and after mitigation, "
        "corrected for chance. 0: the same model could have generated both sets.",
    ),
)


def page(findings: MitigationFindings, media: Media) -> b.Page:
    """Return the page for a run of `askew mitigate`."""
    prompts = [prompt.text for prompt in findings.plan.prompts]
    verdicts = [verdict(entry, len(prompts) > 1) for entry in findings.techniques]
    if findings.choice is not None:
        verdicts.insert(0, choice_sentence(findings.choice, len(findings.plan.target_axes)))
    counts = headline(findings)
    return skeleton.page(
        findings,
        skeleton.Heading(
            kicker="askew mitigate",
            title=quote(prompts[0], 160) if len(prompts) == 1 else plural(len(prompts), "prompt"),
            answer=counts or verdicts[0],
            detail=" ".join(verdicts if counts else verdicts[1:]),
            meta=skeleton.meta(findings),
            first=first_screen(findings, media),
        ),
        sections=_sections(findings, media),
        reading=skeleton.reading(TERMS, LIMITS),
        notes=skeleton.notes(findings),
    )


def _sections(findings: MitigationFindings, media: Media) -> tuple[b.Section, ...]:
    target_axes = {
        change.axis for entry in findings.techniques for change in entry.axes if change.is_target
    }
    of_targets = _share_bars(findings, target_axes)
    monitored = b.Details("Monitored axes", _share_bars(findings, _axes(findings) - target_axes))
    files = [
        b.Details(f"mitigation-{name}.toml", (b.CodeBlock(text),))
        for name, text in findings.mitigations.items()
    ]
    choice = []
    if findings.choice is not None:
        choice = [b.Section("Choice of axes", choice_blocks(findings.choice, findings.techniques))]
    return (
        *choice,
        b.Section("Other techniques", _other_charts(findings)),
        b.Section("All axes together", overall_chart(findings.techniques)),
        b.Section("Side effects", map(_side_effects, findings.techniques)),
        b.Section("Shares before and after", (*of_targets, monitored), screen=False),
        b.Section("Images with the same seeds", _images(findings, media), screen=False),
        b.Section("Changes in numbers", map(_deviations, findings.techniques), screen=False),
        b.Section("Predicted and measured deviations", _predicted(findings), screen=False),
        b.Section("Mitigation files", files, screen=False),
    )


def _axes(findings: MitigationFindings) -> set[str]:
    return {entry.axis for entry in findings.shares}


def _share_bars(findings: MitigationFindings, axes: Collection[str]) -> list[b.Block]:
    """Return charts of shares before and after mitigation, for all prompts and for each prompt."""
    together = [entry for entry in findings.shares_over_prompts if entry.axis in axes]
    of_prompts = [entry for entry in findings.shares if entry.axis in axes]
    return [*survey.together(together), *survey.seen(of_prompts)]


def headline(findings: MitigationFindings) -> str:
    """Return the headline: a value's count before and after the first technique.

    The headline is "" if there are no labels.

    The headline is about the value that is most over-represented on the first target axis before
    mitigation.
    """
    entry = findings.techniques[0]
    axis = next(change.axis for change in entry.axes if change.is_target)
    by_set = {
        shares.set: shares
        for shares in reversed(findings.shares)
        if (shares.prompt, shares.axis) == (entry.prompt, axis)
    }
    before = by_set.get("initial")
    after = by_set.get(f"mitigation: {entry.technique}")
    if before is None or after is None:
        return ""
    numbers = [sum(shares.counts.values()) for shares in (before, after)]
    if not all(numbers):
        return ""
    value = before.leading
    change = after.counts[value] / numbers[1] - before.counts[value] / numbers[0]
    direction = "as before:"
    if change:
        direction = "down from" if change < 0 else "up from"
    return format_phrase(
        "technique_headline",
        after=f"{after.counts[value]:,}",
        n=f"{numbers[1]:,}",
        prompt=quote(entry.prompt, 60),
        value=shorten(value, 40),
        direction=direction,
        before=f"{before.counts[value]:,}",
        before_n=f"{numbers[0]:,}",
        target=percent(before.reference.get(value)),
    )


def _other_charts(findings: MitigationFindings) -> list[b.Block]:
    """Return the charts of changes for all techniques and prompts except the first."""
    return [change_chart(findings, entry) for entry in findings.techniques[1:]]


def verdict(entry: TechniqueFindings, several_prompts: bool = False) -> str:
    """Return a sentence about the changes that a technique causes.

    A sentence about an improvement always mentions any loss: in the subject, in the fit to the
    prompt, or on another axis.

    Parameters
    ----------
    entry
        Findings of the technique.
    several_prompts
        If True, the sentence names the prompt.
    """
    name = f"Technique {entry.technique}"
    if several_prompts:
        name = f"{name}, {quote(entry.prompt, 60)}"
    key = "technique_improvement" if entry.helped else "no_technique_improvement"
    changes = entry.helped or [change for change in entry.axes if change.is_target]
    text = format_phrase(key, technique=name, axes=_changes(changes))
    losses = _losses(entry)
    but = f"; but {listing(losses)}" if losses else ""
    cost = ""
    if entry.cost != 1:
        cost = f" Generating an image takes {entry.cost:.1f} times as much computation as before."
    return f"{text}{but}.{cost}"


def _losses(entry: TechniqueFindings) -> list[str]:
    """Return a phrase for each aspect of the images that became worse."""
    losses = []
    if entry.harmed:
        losses.append(format_phrase("technique_harm", axes=_changes(entry.harmed)))
    if entry.built:
        pairs = listing([_pair(change.axes) for change in entry.built])
        losses.append(format_phrase("technique_association", pairs=pairs))
    losses += [format_phrase(key) for key in entry.broken]
    for change in entry.axes:
        if change.is_target and change.doubted:
            doubt = format_phrase(
                "technique_doubt",
                instruments=listing(change.doubted),
                axis=axis_label(change.axis),
            )
            losses.append(doubt)
    return losses


def _changes(changes: Sequence[AxisChange]) -> str:
    return listing([_change(change) for change in changes])


def _change(change: AxisChange) -> str:
    before = words.part(change.before, "mark")
    return f"{perceived(change.axis)} (distance {before} → {measured(change.after)})"


def _ring(score: E, name: str) -> tuple[b.ReferenceMark, ...]:
    if not isinstance(score, Estimate):
        return ()
    return (b.ReferenceMark(score.mark, name, "ring"),)


def _pair(axes: tuple[str, str]) -> str:
    first, second = axes
    return f"{axis_label(first)} and {axis_label(second)}"


def _images(findings: MitigationFindings, media: Media) -> Iterator[b.Block]:
    """Yield the images of each prompt, one column per seed. Further prompts are collapsed."""
    most = max(FEWEST_IMAGES, IMAGES_OF_PROMPT // len(findings.plan.prompts))
    for place, prompt in enumerate(findings.plan.prompts):
        rows = tuple(
            _row(image_set, media, most)
            for image_set in findings.sets
            if image_set.prompt == prompt.text
        )
        caption = f"{quote(prompt.text, 100)}: images in the same column have the same seed"
        grid = b.PictureGrid(caption, rows, aligned=True)
        yield b.Details(caption, (grid,)) if place else grid


def _row(image_set: PictureSet, media: Media, most: int) -> b.PictureRow:
    label = "before" if image_set.value is None else f"after {image_set.value}"
    thumbnails = tuple(
        shot(media, name, f"Image {number}, {label}")
        for number, name in enumerate(image_set.pictures[:most], start=1)
    )
    return b.PictureRow(thumbnails, label)


def _deviations(entry: TechniqueFindings) -> b.IntervalChart:
    """Return a chart of each axis's deviation after mitigation, and of the change in deviation."""
    return b.IntervalChart(
        f"{capital(entry.technique)}, {quote(entry.prompt, 60)}: distance after",
        "Axis",
        tuple(_deviation(change) for change in entry.axes),
        "distance",
        columns=("mark", "interval"),
        more=("change", "q", "followed"),
    )


def _deviation(change: AxisChange) -> b.IntervalRow:
    label = capital(axis_label(change.axis))
    followed = None
    if isinstance(change.followed, Estimate):
        followed = f"{percent(change.followed.value)} of {change.followed.n}"
    return b.IntervalRow(
        label if change.is_target else f"{label} (monitored)",
        change.after,
        (measured(change.change, "signed"), words.part(change.change, "q"), followed),
        strong=change.fell or change.rose,
        marks=_ring(change.before, "before"),
    )


def _side_effects(entry: TechniqueFindings) -> b.Details:
    """Return a collapsed block about changes in subject, images, axis pairs and monitored axes."""
    monitored = [change for change in entry.axes if not change.is_target]
    text = _monitored_sentence(monitored, entry) if monitored else ""
    name = f"{capital(entry.technique)}, {quote(entry.prompt, 60)}"
    return b.Details(
        f"{name}: subject, images, pairs of axes, monitored axes",
        (b.Paragraph(text), *_image_changes(entry), _associations(entry)),
        screen=True,
    )


def _monitored_sentence(monitored: Sequence[AxisChange], entry: TechniqueFindings) -> str:
    worse = [
        change
        for change in monitored
        if isinstance(change.change, Estimate) and change.change.value > 0
    ]
    significant = [change for change in entry.harmed if not change.is_target]
    return (
        f"{len(worse)} of {len(monitored)} monitored axes deviate more from their reference than "
        f"before, {len(significant)} of them significantly. Even without any mitigation, about "
        "half of the monitored axes would deviate more by chance."
    )


def _image_changes(entry: TechniqueFindings) -> tuple[b.IntervalChart, b.IntervalChart]:
    """Return two charts: changes in subject and labels, and changes in image embeddings."""
    before = ""
    if entry.subject_before is not None:
        before = f" ({words.part(entry.subject_before, 'mark', 'share')} before)"
    shares = [
        (f"images that show the subject{before}", entry.subject),
        ("images without a label on a target axis", entry.unlabeled),
    ]
    vectors = [
        ("fit to the prompt (cosine)", entry.nearness),
        ("difference from the images before", entry.quality),
    ]
    return (
        b.IntervalChart(
            "After minus before, in percentage points",
            "Measure",
            _rows(shares),
            "change",
            "points",
            b.DIFFERENCE,
        ),
        b.IntervalChart(
            "After minus before", "Measure", _rows(vectors), "change", "fine", b.DIFFERENCE
        ),
    )


def _rows(scores: Sequence[tuple[str, E | None]]) -> tuple[b.IntervalRow, ...]:
    return tuple(b.IntervalRow(name, score) for name, score in scores if score is not None)


def _associations(entry: TechniqueFindings) -> b.IntervalChart:
    """Return a chart of the pairs of axes whose Cramér's V rises most."""
    largest = sorted(entry.pairs, key=lambda change: words.largest_first(change.rise))
    rows = [
        b.IntervalRow(
            capital(_pair(change.axes)),
            change.rise,
            (number(change.before), number(change.carried), number(change.after)),
        )
        for change in largest[:MOST_PAIRS]
    ]
    return b.IntervalChart(
        "Pairs of axes: rise in Cramér's V",
        "Pair",
        tuple(rows),
        "rise",
        "signed",
        b.DIFFERENCE,
        more=("before", "expected", "after"),
    )


def _predicted(findings: MitigationFindings) -> Iterator[b.Block]:
    """Yield a sentence and a chart that compare predicted deviations with measured deviations."""
    predictions = [
        (entry.prompt, change)
        for entry in findings.techniques
        for change in entry.axes
        if change.predicted is not None
    ]
    if predictions:
        within = sum(change.as_predicted for _, change in predictions)
        deviations = plural(len(predictions), "measured deviation")
        yield b.Paragraph(
            f"{within} of {deviations} lie within their predicted interval. The measured "
            "deviations have sampling error, too."
        )
    rows = []
    for prompt, change in predictions:
        row = b.IntervalRow(
            capital(axis_label(change.axis)),
            change.predicted,
            (words.part(change.before, "mark"), measured(change.after)),
            shorten(prompt, 50),
            marks=_ring(change.after, "measured"),
        )
        rows.append(row)
    yield b.IntervalChart(
        "Deviation from the target shares or, on monitored axes, from the reference",
        "Axis",
        tuple(rows),
        "predicted",
        columns=("mark", "interval"),
        more=("before", "measured"),
    )
