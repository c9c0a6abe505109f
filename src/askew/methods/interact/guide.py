"""Explain the terms and the method on the page of `askew interact`."""

from collections.abc import Iterable

from askew.methods.interact.findings import GraphAxis, InteractionFindings
from askew.methods.interact.sentences import rules
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages.words import axis_label, percent
from askew.parts.survey.sentences import LIMITS

DISTANCES = {
    "total_variation": "total variation",
    "wasserstein": "W₁ over ranks / (K − 1)",
    "values": "W₁ between the shares and 1/K",
}

EQUALIZING = (
    "Equalizing an axis",
    "The images of an axis's counterfactual prompts, taken in equal numbers, represent a model "
    "in which the axis is uniform.",
)
SENSITIVITY = (
    "Intersectional Sensitivity (IS)",
    "Deviation of an axis from its reference before another axis is made uniform, minus the "
    "deviation afterwards. A positive IS means that the axis comes closer to its reference, and "
    "a negative IS means that it moves further away. With few images, all measured deviations "
    "are too large on average. Both deviations are corrected for this bias.",
)
CRAMERS_V = ("V", "Cramér's V, the strength of the association, from 0 (none) to 1 (complete).")
LIMIT = (
    "An edge describes how labels change with the prompt. An edge is not a statement about people."
)
SOURCE = (
    "BiasConnect (Chinchure et al., “BiasConnect: Investigating Bias Interactions in "
    "Text-to-Image Models”, 2025). For each axis, counterfactual prompts change one concept of "
    "the prompt. Multiple-choice questions label every image. Images without a person are "
    "excluded."
)
DEPENDENCE = (
    "Association (section 3.3)",
    "Pearson's χ² test on a table of counts with one row per counterfactual prompt. If an "
    "expected count is below 5, the test uses random tables with the same margins. q is p after "
    "correction over all pairs in the graph (Benjamini and Hochberg). The paper's rule is p < "
    "0.0001 (--edge-rule paper).",
)
EQUATION = (
    "Sensitivity (Eq. 1–4)",
    "IS = d(baseline, reference) − d(mean of the counterfactual sets, reference). Both distances "
    "are corrected for the bias that few images cause. results.json contains the uncorrected "
    "value as plug_in.",
)


def guide(findings: InteractionFindings) -> b.Section:
    """Return the section that explains terms, limits and method."""
    axes = findings.biasconnect[0].axes
    edge = (
        "Edge",
        "A pair of axes is an edge if labels on the second axis depend on the counterfactual "
        f"prompt for the first: {rules(findings)}. An edge does not indicate whether the "
        "deviation increases or decreases. An axis depends on itself by construction.",
    )
    distances = [f"{axis_label(axis.name)}: {DISTANCES[axis.distance]}" for axis in axes]
    return skeleton.reading(
        (EQUALIZING, edge, SENSITIVITY, *_error_correction(axes), CRAMERS_V),
        limits=(*LIMITS, LIMIT),
        source=SOURCE,
        method=(DEPENDENCE, EQUATION, ("Distance d", "; ".join(distances))),
    )


def _error_correction(axes: Iterable[GraphAxis]) -> list[tuple[str, str]]:
    """Return the entry about the correction for labeling errors.

    The result is empty if no errors were corrected.
    """
    accuracies = [_accuracy(axis) for axis in axes if axis.known_errors]
    if not accuracies:
        return []
    text = (
        "The instrument's errors were measured on images with known true values. The "
        f"instrument's accuracy for each value is: {', '.join(accuracies)}. The "
        "sensitivities are estimates for labels without errors, and their intervals include the "
        "uncertainty about the errors. The χ² tests use uncorrected labels."
    )
    return [("Correction for labeling errors", text)]


def _accuracy(axis: GraphAxis) -> str:
    """Return an axis's name, followed by its lowest and highest accuracy over all values."""
    rates = [row[place] / sum(row) for place, row in enumerate(axis.known_errors or ())]
    lowest = percent(min(rates))
    highest = percent(max(rates))
    accuracy = lowest if lowest == highest else f"{lowest} to {highest}"
    return f"{axis_label(axis.name)} {accuracy}"
