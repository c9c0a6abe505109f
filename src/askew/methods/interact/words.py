"""What the page of `askew interact` explains."""

from __future__ import annotations

from collections.abc import Iterator

from askew.methods.interact.findings import Graph, InteractionFindings
from askew.pages.blocks import Terms, Text
from askew.pages.words import axis_label, percent, thousands

DISTANCES = {
    "total_variation": "total variation",
    "wasserstein": "W₁ over ranks / (K − 1)",
    "values": "W₁ between the shares and 1/K",
}

LIMITS = Text(items=(
    "Instruments read how people look in pictures, and they err. Gender, age, ethnicity and the like are perceived: "
    "nobody's identity is known.",
    "Equal shares are the reference unless the plan says otherwise. They are a point to measure from; what would be "
    "right depends on the use.",
    "An edge tells what changing the prompt does to what the instrument reads. It is no statement about people, and "
    "none on any law or standard.",
))  # fmt: skip


def reading(found: InteractionFindings) -> tuple[Terms, Text]:
    """What the words of a page mean."""
    plan, several = found.plan, len(found.biasconnect) > 1
    threshold = plan.global_threshold if several else plan.threshold
    exceeds = f", and the sensitivity exceeds {plan.least_sensitivity}" if several else ""
    return Terms((
        ("Making an axis equal", "The pictures of all its counterfactual prompts, the same number of each, stand for a "
                                 "model in which this bias is mitigated."),
        ("Edge", "The answers about one axis depend on the counterfactual of another (χ² test of independence, p below "
                 f"{threshold:g}{exceeds}). That the distribution changes does not say whether for the better."),
        ("Intersectional Sensitivity (IS)", "The distance of an axis from its ideal before, less the distance after. "
            "Above zero the axis comes nearer to its ideal, below zero it goes further away. Few pictures make every "
            "distance too large, and few more so than many: both are corrected for that."),
        ("Interval", "Where IS would lie if the model were asked for endless pictures. If it holds zero, the direction "
                     "is not settled."),
        *corrected(found.biasconnect[0]),
        ("V", "Cramér's V, the strength of the dependence: 0 none, 1 complete."),
        ("q", "The p-value adjusted for all pairs of axes of this graph."),
    )), LIMITS  # fmt: skip


def corrected(graph: Graph) -> Iterator[tuple[str, str]]:
    """Axes whose sensitivities were corrected for the instrument's errors, and how much of a value it reads rightly."""
    told = []
    for axis in graph.axes:
        if axis.known_errors:
            right = [row[k] / sum(row) for k, row in enumerate(axis.known_errors)]
            least, most = percent(min(right)), percent(max(right))
            told.append(f"{axis_label(axis.name)} {least if least == most else f'{least} to {most}'}")
    if told:
        yield ("Corrected for reading errors",
               "The instrument's errors are known from pictures whose truth is known; it reads rightly, by value: "
               f"{', '.join(told)}. Sensitivities are those of the pictures as they would be read without errors, and "
               "intervals carry what is not known about the errors. “As read” is the sensitivity without the "
               "correction; counts and χ² tests are as read.")  # fmt: skip


def method(found: InteractionFindings) -> tuple[Text, Terms, Text]:
    """How it was computed."""
    plan = found.plan
    distances = "; ".join(f"{axis_label(a.name)}: {DISTANCES[a.distance]}" for a in found.biasconnect[0].axes)
    return (
        Text("BiasConnect (Chinchure et al., “BiasConnect: Investigating Bias Interactions in Text-to-Image Models”, "
             "2025). The prompt is changed in one concept at a time, along each axis; multiple-choice questions read "
             "every picture, and pictures in which nobody is seen are set aside."),
        Terms((
            ("Dependence (section 3.3)", "Pearson's χ² of the counts, a row per counterfactual prompt; where an "
                                         "expected count is below 5, random tables with the same margins"),
            ("Sensitivity (Eq. 1–4)", "IS = d(initial, ideal) − d(mean of the counterfactual sets, ideal), both "
                                      "corrected for their number of pictures"),
            ("Distance d", distances),
            ("Intervals", f"at {percent(plan.level)}, {thousands(plan.draws)} draws; q by Benjamini and Hochberg "
                          "(1995)"),
        )),
        Text("All random draws follow from the run seed: the same plan gives the same report."),
    )  # fmt: skip
