"""Describe the choice of axes for a mitigation in a sentence, tables and a chart."""

from collections.abc import Iterator, Sequence

from askew.methods.mitigate.findings import AxisChoice, AxisSubset, TechniqueFindings
from askew.pages import blocks as b
from askew.pages import words
from askew.pages.words import axis_label, capital, listing, measured, number, plural, quote, signed

MOST_STEPS = 8
"""Maximum number of steps of the greedy rule in the table."""


def choice_sentence(choice: AxisChoice, candidates: int) -> str:
    """Return a sentence with the chosen axes and their predicted effect.

    Parameters
    ----------
    choice
        The choice.
    candidates
        Number of axes to choose from.
    """
    axes = listing([axis_label(axis) for axis in choice.axes])
    return (
        f"Out of {plural(candidates, 'axis', 'axes')}, mitigating {axes} is predicted to bring "
        "all axes closest to their references (mean distance "
        f"{words.part(choice.unmitigated, 'mark')} → {measured(choice.predicted)})."
    )


def choice_blocks(
    choice: AxisChoice, techniques: Sequence[TechniqueFindings]
) -> tuple[b.Block, ...]:
    """Return tables of the best subsets, of the greedy rule's steps, and of each axis's effect.

    Parameters
    ----------
    choice
        The choice.
    techniques
        Findings of the techniques, which contain the measured deviations.
    """
    how = f"askew compared all {choice.compared:,} subsets of this size."
    if not choice.compared:
        how = (
            "There are too many subsets of this size to compare them all, so askew used the "
            "greedy rule."
        )
    text = (
        f"{how} The remaining distance is predicted from the Intersectional Sensitivities of all "
        "axes to each mitigated axis."
    )
    subsets = [_subset_row(subset) for subset in choice.best]
    steps = [_subset_row(subset) for subset in choice.greedy[: MOST_STEPS + 1]]
    effects = []
    for axis, sensitivity in choice.sensitivities.items():
        effects.append((capital(axis_label(axis)), signed(sensitivity, 3)))
    blocks: list[b.Block] = [b.Paragraph(text), *_measured(techniques)]
    columns = ("Mitigated axes", "predicted")
    if subsets:
        blocks.append(
            b.Table("Subsets with the smallest predicted deviation", columns, tuple(subsets))
        )
    blocks.append(
        b.Table(("Steps of the greedy rule, which adds one axis at a time"), columns, tuple(steps))
    )
    effect = b.Table(
        "Mean Intersectional Sensitivity of all axes (positive: closer to the references)",
        ("Mitigated axis", "IS"),
        tuple(effects),
    )
    blocks.append(b.Details("Effect of mitigating each axis", (effect,)))
    return tuple(blocks)


def _subset_row(subset: AxisSubset) -> tuple[str, str]:
    axes = listing([axis_label(axis) for axis in subset.axes]) if subset.axes else "none"
    return capital(axes), number(subset.deviation, 3)


def _measured(techniques: Sequence[TechniqueFindings]) -> Iterator[b.Paragraph]:
    """Yield a sentence per technique about the predicted and the measured mean distance."""
    for entry in techniques:
        overall = entry.overall
        if overall is None:
            continue
        axes = listing([axis_label(axis) for axis in overall.mitigated]) or "no axis"
        predicted = ""
        if overall.predicted is not None:
            predicted = f"predicted {measured(overall.predicted)}, "
        text = (
            f"{capital(entry.technique)} mitigates {axes}. Mean distance of all axes in images of "
            f"{quote(entry.prompt, 60)}: {predicted}measured {number(overall.after)} (before: "
            f"{number(overall.before)}), a change of {measured(overall.change, 'signed')}."
        )
        yield b.Paragraph(text)


def overall_chart(techniques: Sequence[TechniqueFindings]) -> Iterator[b.IntervalChart]:
    """Yield a chart of how each technique changes the mean distance of all axes.

    Parameters
    ----------
    techniques
        Findings of the techniques.
    """
    rows = []
    for entry in techniques:
        if entry.overall is not None:
            cells = (number(entry.overall.before), number(entry.overall.after))
            name = f"{capital(entry.technique)}, {quote(entry.prompt, 60)}"
            rows.append(b.IntervalRow(name, entry.overall.change, cells))
    if rows:
        yield b.IntervalChart(
            "Mean distance of all axes, after minus before",
            "Technique",
            tuple(rows),
            "change",
            "signed",
            b.DIFFERENCE,
            more=("before", "after"),
        )
