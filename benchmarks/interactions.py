"""Time the statistics of 26 occupations x 8 axes against a plain loop over scipy calls.

    python -m benchmarks.interactions [--corrected] [--occupations 26] [--pictures 48] [--draws
    1000]
                                      [--loop-occupations 1]

Answers about 26 x 27 prompts x 48 images = 33,696 images are drawn from the planted world. The
benchmark times everything that `askew interact` computes from them: the graph of every occupation
and the graph of all together. Each graph has 64 contingency tables, chi-squared tests with
permutations where counts are small, q-values, sensitivities with intervals from 1,000 draws, their
nulls, and edges. With --corrected, answers have the errors of the studio's instrument, and
sensitivities are corrected for them, as in a run on studio/planted. Without it, they are as in a
run with --no-error-correction.

The loop computes less: no graph of all together and no correction. It uses scipy's chi-squared
test, scipy's random tables where counts are small, and a percentile bootstrap of the plug-in
sensitivity with scipy's Wasserstein distance, whose intervals do not cover. It runs on
--loop-occupations occupations, and its time is scaled up.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from askew.methods.interact.counts import GraphCounts, count_rows, pooled
from askew.methods.interact.findings import GraphAxis
from askew.methods.interact.graph import graphs
from askew.methods.interact.plan import InteractionPlan, plan_interactions
from askew.parts.scoring import Scoring
from askew.prompts.axes import AXES, BIASCONNECT
from askew.prompts.given import occupation_prompts
from askew.stats.distance import distance_for
from askew.studio import weights
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS
from benchmarks.planted_interactions import SIZES, drawn, world

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
T = TypeVar("T")
THRESHOLD = 1e-4
TRUE_ANSWERS: dict[str, Counts] = {
    axis: np.eye(m, dtype=np.int64) for axis, m in zip(BIASCONNECT, SIZES, strict=True)
}


def studio_errors() -> dict[str, Counts]:
    """Return the studio instrument's errors by axis: true values by rows, answers by columns."""
    recorded = json.loads((weights("embedder") / "known_errors.json").read_text(encoding="utf-8"))
    return {axis: np.array(recorded[axis], dtype=np.int64) for axis in BIASCONNECT}


def occupations(
    number: int, pictures: int, errors: Mapping[str, Counts], corrected: bool
) -> dict[str, GraphCounts]:
    """Return the counts of some occupations by prompt.

    Parameters
    ----------
    number
        Number of occupations.
    pictures
        Images per set.
    errors
        Error counts of the instrument by axis.
    corrected
        Whether the graphs know these errors.
    """
    rng = np.random.default_rng(0)
    names = list(OCCUPATIONS)[:number]
    known = errors if corrected else {}
    counts = [
        _with_known_errors(_drawn_counts(name, pictures, errors, rng), known) for name in names
    ]
    return dict(zip(occupation_prompts(names), counts, strict=True))


def _drawn_counts(
    occupation: str, pictures: int, errors: Mapping[str, Counts], rng: np.random.Generator
) -> GraphCounts:
    """Draw the answers about an occupation from the planted world, with labeling errors."""
    planted = world(occupation, 1.0)
    rates = [errors[axis] / errors[axis].sum(axis=1, keepdims=True) for axis in BIASCONNECT]
    initial = {}
    for t, axis in enumerate(BIASCONNECT):
        counts = drawn(planted.initial[t] @ rates[t], pictures, rng, 1)
        initial[axis] = counts.astype(np.int64)
    after = {}
    for s, source in enumerate(BIASCONNECT):
        for t, target in enumerate(BIASCONNECT):
            counts = drawn(planted.after[s][t] @ rates[t], pictures, rng, 1)
            after[source, target] = counts.astype(np.int64)
    return GraphCounts(
        axes=tuple(_graph_axis(axis) for axis in BIASCONNECT),
        initial=initial,
        after=after,
        missing=dict.fromkeys(BIASCONNECT, 0),
    )


def _graph_axis(axis: str) -> GraphAxis:
    values = ATTRIBUTES[axis]
    scale = AXES[axis].scale
    return GraphAxis(
        name=axis,
        values=values,
        counterfactuals=values,
        scale=scale,
        open=False,
        distance=distance_for("auto", scale),
        reference=(1 / len(values),) * len(values),
        known_errors=None,
    )


def _with_known_errors(counts: GraphCounts, errors: Mapping[str, Counts]) -> GraphCounts:
    rows = {name: count_rows(table) for name, table in errors.items()}
    axes = [replace(axis, known_errors=rows.get(axis.name)) for axis in counts.axes]
    return replace(counts, axes=tuple(axes))


def run_method(counted: Mapping[str, GraphCounts], plan: InteractionPlan) -> tuple[int, int, int]:
    """Compute all graphs, and return the numbers of pairs, of edges and of permuted tables."""
    by_prompt: dict[str | None, GraphCounts] = {None: pooled(list(counted.values()))}
    by_prompt.update(counted)
    edges = [edge for graph in graphs(by_prompt, plan, Scoring.of(plan)) for edge in graph.edges]
    return (
        len(edges),
        sum(edge.significant for edge in edges),
        sum(edge.draws is not None for edge in edges),
    )


def run_loop(prompts: list[GraphCounts], draws: int) -> int:
    """Call scipy for one pair after another, and return the number of dependent pairs."""
    rng = np.random.default_rng(1)
    dependent = 0
    for counts in prompts:
        for initial, table in _pairs(counts):
            dependent += _p_of_pair(initial, table, draws, rng) < THRESHOLD
    return dependent


def _pairs(counts: GraphCounts) -> Iterator[tuple[Floats, Floats]]:
    for (_, target), table in counts.after.items():
        yield counts.initial[target][0].astype(np.float64), table[0].astype(np.float64)


def _p_of_pair(initial: Floats, table: Floats, draws: int, rng: np.random.Generator) -> float:
    """Bootstrap the sensitivity of a pair, and return the p of its chi-squared test."""
    for _ in range(draws):
        after = np.stack([_resampled(row, rng) for row in table])
        _plug_in_sensitivity(_resampled(initial, rng), after)
    used = table[:, table.sum(axis=0) > 0]
    if used.shape[1] < 2:
        return 1.0
    test = stats.chi2_contingency(used, correction=False)
    if test.expected_freq.min() >= 5:
        return float(test.pvalue)
    tables = stats.random_table(used.sum(axis=1), used.sum(axis=0), seed=rng).rvs(999)
    null = [stats.chi2_contingency(table, correction=False).statistic for table in tables]
    return float((1 + np.sum(np.array(null) >= test.statistic - 1e-9)) / 1000)


def _resampled(counts: Floats, rng: np.random.Generator) -> NDArray[Any]:
    return rng.multinomial(int(counts.sum()), counts / counts.sum())


def _plug_in_sensitivity(before: NDArray[Any], after: NDArray[Any]) -> float:
    ranks = np.arange(len(before))
    mean = (after / after.sum(axis=1, keepdims=True)).mean(axis=0)
    return float(
        stats.wasserstein_distance(ranks, ranks, before)
        - stats.wasserstein_distance(ranks, ranks, mean)
    )


def seconds(work: Callable[[], T]) -> tuple[float, float, T]:
    """Return wall time, CPU time and the result; on a busy machine only CPU time is meaningful."""
    wall = time.perf_counter()
    cpu = time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--corrected", action="store_true", help="correct for the instrument's known errors"
    )
    arguments.add_argument("--occupations", type=int, default=26)
    arguments.add_argument("--pictures", type=int, default=48)
    arguments.add_argument("--draws", type=int, default=1000)
    arguments.add_argument("--loop-occupations", type=int, default=1)
    return arguments


def main() -> None:
    """Time both, and print the ratio."""
    options = parser().parse_args()
    errors = studio_errors() if options.corrected else TRUE_ANSWERS
    counted = occupations(options.occupations, options.pictures, errors, options.corrected)
    plan = plan_interactions(
        list(counted),
        model="studio/planted",
        images=options.pictures,
        bootstrap_samples=options.draws,
    )
    wall, cpu, (pairs, edges, permuted) = seconds(lambda: run_method(counted, plan))
    correction = "corrected for labeling errors" if options.corrected else "without correction"
    graph_count = f"{len(counted) + 1} graphs, {pairs} pairs, {correction}"
    print(f"{graph_count}: {cpu:.1f} s CPU ({wall:.1f} s wall)")
    print(f"{edges} edges, {permuted} tables permuted")
    loop_cpu = time_loop(counted, options.loop_occupations, options.draws)
    print(f"ratio {loop_cpu / cpu:.1f}")


def time_loop(counted: Mapping[str, GraphCounts], occupations: int, draws: int) -> float:
    """Time the loop on some occupations, and return its CPU time scaled up to all of them."""
    few = list(counted.values())[:occupations]
    wall, cpu, _ = seconds(lambda: run_loop(few, draws))
    factor = len(counted) / len(few)
    print(f"loop, scaled up: {cpu * factor:.0f} s CPU ({wall * factor:.0f} s wall)")
    return cpu * factor


if __name__ == "__main__":
    main()
