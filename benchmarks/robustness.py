"""Measure the CPU time of a repeat of `askew robustness`, and of as many graphs with intervals.

    python -m benchmarks.robustness

The answers of two prompts with eight axes are drawn from the studio's planted world. A repeat
simulates ten changed graphs of each prompt. Earlier versions computed an interval for every
sensitivity of these graphs.
"""

import time
from collections.abc import Iterator

import numpy as np

from askew.methods.interact.counts import GraphCounts
from askew.methods.interact.findings import GraphAxis
from askew.methods.interact.graph import edges, pair_points
from askew.methods.interact.plan import InteractionPlan
from askew.parts.scoring import Scoring
from askew.prompts.axes import AXES, BIASCONNECT
from askew.studio.scene import ATTRIBUTES
from benchmarks.planted_interactions import DISTANCES, drawn, world

GRAPHS = 20
"""Graphs in a repeat: ten changes of two prompts."""


def graph_counts(pictures: int, rng: np.random.Generator) -> GraphCounts:
    """Draw the counts of a graph of a nurse."""
    planted = world("nurse", 1.0)
    axes = []
    initial = {}
    after = {}
    for target, name in enumerate(BIASCONNECT):
        values = tuple(ATTRIBUTES[name])
        axis = GraphAxis(
            name=name,
            values=values,
            counterfactuals=values,
            scale=AXES[name].scale,
            open=False,
            distance=DISTANCES[target],
            reference=(1 / len(values),) * len(values),
            known_errors=None,
        )
        axes.append(axis)
        initial[name] = drawn(planted.initial[target], pictures, rng, 1).astype(int)
        for source, source_name in enumerate(BIASCONNECT):
            counts = drawn(planted.after[source][target], pictures, rng, 1)
            after[source_name, name] = counts.astype(int)
    return GraphCounts(
        axes=tuple(axes), initial=initial, after=after, missing=dict.fromkeys(BIASCONNECT, 0)
    )


def graphs() -> Iterator[GraphCounts]:
    """Yield the graphs of a repeat, with fewer and fewer images."""
    rng = np.random.default_rng(0)
    for k in range(GRAPHS):
        yield graph_counts(48 - 2 * k, rng)


def main() -> None:
    """Print the CPU time of a repeat, without and with intervals, and their ratio."""
    plan = InteractionPlan.model_construct(edge_rule="q")
    scoring = Scoring(instrument="truth")
    points = 0.0
    intervals = 0.0
    for k, counts in enumerate(graphs()):
        start = time.process_time()
        pair_points(counts, plan, "nurse", scoring)
        middle = time.process_time()
        edges({"nurse": counts}, plan, scoring, scoring.rng(f"robustness {k}"))
        points += middle - start
        intervals += time.process_time() - middle
    print(f"points {points:.2f} s, intervals {intervals:.2f} s, ratio {intervals / points:.1f}")


if __name__ == "__main__":
    main()
