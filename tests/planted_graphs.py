"""Interaction graphs with planted effects, for tests of pages."""

from __future__ import annotations

from askew.methods.interact.findings import (
    Edge,
    Graph,
    GraphAxis,
    InteractionFindings,
    RecordedCounts,
)
from askew.types import Estimate
from planted_answers import head, planned

AXES = ("gender", "age", "clothing")
VALUES = {
    "gender": ("male", "female"),
    "age": ("young", "middle-aged", "old"),
    "clothing": ("formal", "informal"),
}
PROMPT = "a photo of a nurse"
PLAN = planned([PROMPT], AXES)


def estimate(value: float, low: float, high: float, n: int = 144) -> Estimate:
    return Estimate(value, low, high, 0.95, "made up", n, null=0.01, p=0.01, q=0.02)


def edge(source: str, target: str, value: float, reach: float, significant: bool) -> Edge:
    p = 1e-6 if significant else 0.4
    change = estimate(value, value - reach, value + reach)
    return Edge(
        source,
        target,
        20.5,
        2,
        p,
        None,
        0.4,
        None,
        2e-6,
        change,
        (value - reach, value + reach),
        value,
        None,
        significant,
    )


def graph(prompt: str | None = PROMPT) -> Graph:
    edges = [edge(axis, axis, 0.3, 0.1, True) for axis in AXES]
    edges += [
        edge("gender", "age", -0.11, 0.06, True),
        edge("age", "gender", 0.2, 0.05, True),
        edge("gender", "clothing", 0.02, 0.1, True),
        edge("clothing", "age", 0.25, 0.05, False),
        edge("clothing", "gender", 0.0, 0.05, False),
        edge("age", "clothing", 0.01, 0.05, False),
    ]
    axes = [
        GraphAxis(
            axis,
            values,
            values,
            "nominal",
            False,
            "total_variation",
            (1 / len(values),) * len(values),
            None,
        )
        for axis, values in VALUES.items()
    ]
    after = {}
    for source in AXES:
        rows = len(VALUES[source])
        after[source] = {target: ((3,) * len(VALUES[target]),) * rows for target in AXES}
    counts = RecordedCounts({y: (5,) * len(VALUES[y]) for y in AXES}, after, dict.fromkeys(AXES, 0))
    scope = "prompt" if prompt else "global"
    return Graph(
        scope,
        prompt,
        "studio",
        "paper",
        1e-4,
        0.0,
        tuple(axes),
        tuple(edges),
        "age",
        "gender",
        estimate(0.6, 0.4, 0.8),
        estimate(0.2, 0.1, 0.5, 6),
        counts,
    )  # type: ignore[arg-type]


def findings(*graphs: Graph, **others: object) -> InteractionFindings:
    """Return findings with these graphs; without any, with the graph of one prompt."""
    defaults = {
        "missing_pictures": (),
        "shares": (),
        "confusion": (),
        "biasconnect": graphs or (graph(),),
        "over_prompts": (),
        "validation": None,
    }
    return head(PLAN).into(InteractionFindings, **{**defaults, **others})
