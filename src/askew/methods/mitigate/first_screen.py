"""Build the first screen of the page of `askew mitigate`: a chart of deviations, and images."""

from collections.abc import Iterator, Mapping, Sequence

from askew.methods.mitigate.findings import AxisChange, MitigationFindings, TechniqueFindings
from askew.pages import blocks as b
from askew.pages import words
from askew.pages.media import Media
from askew.pages.words import axis_label, capital, plural, quote
from askew.parts.survey.first_screen import label_column
from askew.parts.survey.sentences import not_significant
from askew.types import Estimate

SHOWN = 48
"""Maximum number of images shown in each column, before and after a technique is applied."""

TARGETS = "Target axes"
MONITORED = "Monitored axes (without a target)"


def first_screen(findings: MitigationFindings, media: Media) -> b.FirstScreen:
    """Return a chart of all deviations before and after the first technique, and images.

    Parameters
    ----------
    findings
        Findings of the run.
    media
        Run that holds the images.
    """
    first = findings.techniques[0]
    images = tuple(_before_and_after(findings, media, first))
    return b.FirstScreen((change_chart(findings, first),), images, layout="even")


def change_chart(findings: MitigationFindings, entry: TechniqueFindings) -> b.ChangeChart:
    """Return a chart of all axes' deviations before and after a technique, target axes first."""
    ordered = sorted(entry.axes, key=lambda change: not change.is_target)
    families = family_sizes(findings.techniques)
    rows = tuple(_row(change, families[change.is_target]) for change in ordered)
    caption = "Deviation from the target, before and after"
    if len(findings.techniques) > 1:
        caption += f": {entry.technique}"
        if len(findings.plan.prompts) > 1:
            caption += f", {quote(entry.prompt, 60)}"
    images = plural(findings.plan.eval_images, "held-out image")
    return b.ChangeChart(
        caption,
        "Axis",
        rows,
        "Deviation",
        note=f"0: the shares equal the target. Before and after: {images} each.",
    )


def family_sizes(techniques: Sequence[TechniqueFindings]) -> Mapping[bool, int]:
    """Count the tested changes on target axes (key True) and on monitored axes (key False).

    q-values are corrected jointly over all techniques and prompts.

    Parameters
    ----------
    techniques
        Findings of all techniques of a run.
    """
    sizes = {True: 0, False: 0}
    for entry in techniques:
        for change in entry.axes:
            sizes[change.is_target] += isinstance(change.change, Estimate)
    return sizes


def _row(change: AxisChange, tests: int) -> b.ChangeRow:
    direction: b.Deviation = "none"
    if change.fell or change.rose:
        direction = "under" if change.fell else "over"
    return b.ChangeRow(
        capital(axis_label(change.axis)),
        change.before,
        change.after,
        _verdict(change, tests),
        significant=direction != "none",
        deviation=direction,
        group=TARGETS if change.is_target else MONITORED,
        brief=_brief(change),
    )


def _brief(change: AxisChange) -> str:
    """Describe a non-significant result in a few words; return "" for a significant result."""
    if not isinstance(change.change, Estimate) or change.fell or change.rose:
        return ""
    return f"n.s. ({words.probability(change.change.q, 'q')})"


def _verdict(change: AxisChange, tests: int) -> str:
    """Describe the result of testing a change, given the number of tests in its family."""
    if not isinstance(change.change, Estimate):
        return "not tested"
    q = words.probability(change.change.q, "q")
    if change.fell:
        return f"significantly closer ({q})"
    if change.rose:
        return f"significantly further ({q})"
    return not_significant(tests, q)


def _before_and_after(
    findings: MitigationFindings, media: Media, entry: TechniqueFindings
) -> Iterator[b.SortedImages]:
    """Yield images from before and after a technique, sorted by label on the first target axis."""
    targets = [change.axis for change in entry.axes if change.is_target]
    columns = []
    for image_set in findings.sets:
        if image_set.prompt != entry.prompt or image_set.value not in (None, entry.technique):
            continue
        for shares in findings.shares:
            place = (shares.prompt, shares.set, shares.axis)
            if place == (entry.prompt, image_set.name, targets[0]):
                name = "Before" if image_set.value is None else "After"
                note = f"technique: {entry.technique}"
                if image_set.value is None:
                    note = quote(entry.prompt, 40)
                columns.append(label_column(media, image_set, shares, name, note, most=SHOWN))
                break
    if len(columns) == 2:
        shown = "All images"
        if max(column.n for column in columns) > SHOWN:
            shown = f"First {SHOWN} images"
        yield b.SortedImages(
            f"Held-out images, sorted by {axis_label(targets[0])} label",
            tuple(columns),
            f"{shown}, with the same seeds. The counts include all images.",
        )
