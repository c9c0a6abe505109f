"""Sentence, tables and chart on the choice of axes for a mitigation."""

from collections.abc import Iterator, Sequence

from askew.methods.mitigate.findings import AxisChoice, AxisSubset, TechniqueFindings
from askew.pages import blocks as b
from askew.pages import words
from askew.pages.words import axis_label, capital, listing, measured, number, plural, quote, signed

MOST_STEPS = 8
"""Maximum number of steps of the greedy rule that the table shows."""


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
        f"Of {plural(candidates, 'axis', 'axes')}, a mitigation of {axes} is predicted to bring all "
        f"axes closest to their references (mean distance "
        f"{words.part(choice.unmitigated, 'mark')} → {measured(choice.predicted)})."
    )


def choice_blocks(
    choice: AxisChoice, techniques: Sequence[TechniqueFindings]
) -> tuple[b.Block, ...]:
    """Return tables of subsets with predicted deviations, and of the steps of the greedy rule.

    Parameters
    ----------
    choice
        The choice.
    techniques
        Findings of the techniques, which contain the measured deviations.
    """
    how = f"All {choice.compared:,} subsets of this size were compared."
    if not choice.compared:
        how = "There are too many subsets of this size to compare all, so the greedy rule chose."
    text = (
        f"{how} The distance that remains is predicted from the Intersectional Sensitivities of all "
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
    blocks.append(b.Table("One axis after another, by the greedy rule", columns, tuple(steps)))
    effect = b.Table(
        "Mean Intersectional Sensitivity of all axes (positive: closer to the references)",
        ("Mitigated axis", "IS"),
        tuple(effects),
    )
    blocks.append(b.Details("Effect of a mitigation of each axis", (effect,)))
    return tuple(blocks)


def _subset_row(subset: AxisSubset) -> tuple[str, str]:
    axes = listing([axis_label(axis) for axis in subset.axes]) if subset.axes else "none"
    return capital(axes), number(subset.deviation, 3)


def _measured(techniques: Sequence[TechniqueFindings]) -> Iterator[b.Paragraph]:
    """Yield sentences on the predicted and the measured mean distance under each technique."""
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
            f"{quote(entry.prompt, 60)}: {predicted}measured {number(overall.after)}, before "
            f"{number(overall.before)}; change {measured(overall.change, 'signed')}."
        )
        yield b.Paragraph(text)


def overall_chart(techniques: Sequence[TechniqueFindings]) -> Iterator[b.IntervalChart]:
    """Yield rows for the change in the mean distance of all axes under each technique.

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
