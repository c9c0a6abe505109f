"""Time of the statistics of 26 occupations x 8 axes against a plain loop over scipy calls.

    python -m benchmarks.interactions [--corrected] [--occupations 26] [--pictures 48] [--draws
    1000]
                                      [--loop-occupations 1]

Answers about 26 x 27 prompts x 48 pictures = 33,696 pictures are drawn from the planted world.
Timed is everything that `askew interact` computes from them: the graph of every occupation and that
of all together, each with 64 contingency tables, chi-squared tests with permutations where counts
are small, q-values, sensitivities with intervals from 1,000 draws, their nulls, the edges. With
--corrected answers are read with the errors of the studio's instrument, and sensitivities are
corrected for them, as in a run on studio/planted; without, as in one with --no-error-correction. The loop does
less: no graph of all together, no correction, chi-squared by scipy, scipy's random tables where
counts are small, and a percentile bootstrap of the plug-in sensitivity with scipy's Wasserstein
distance, whose intervals do not cover. It is run on --loop-occupations of them and scaled up.
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

from askew.methods.interact.counts import GraphCounts, pooled
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
    """By axis what is known of the errors of the studio's instrument: true values by rows, answers
    by columns.
    """
    recorded = json.loads((weights("embedder") / "known_errors.json").read_text(encoding="utf-8"))
    return {axis: np.array(recorded[axis], dtype=np.int64) for axis in BIASCONNECT}


def occupations(
    number: int, pictures: int, errors: Mapping[str, Counts], corrected: bool
) -> dict[str, GraphCounts]:
    """By prompt the tables of occupations, read with errors; whether these are known as well."""
    rng = np.random.default_rng(0)
    names = list(OCCUPATIONS)[:number]
    made = (_tables(name, pictures, errors, rng) for name in names)
    known = errors if corrected else {}
    return dict(
        zip(occupation_prompts(names), (_known(tables, known) for tables in made), strict=True)
    )


def _tables(
    occupation: str, pictures: int, errors: Mapping[str, Counts], rng: np.random.Generator
) -> GraphCounts:
    planted = world(occupation, 1.0)
    rates = [errors[axis] / errors[axis].sum(axis=1, keepdims=True) for axis in BIASCONNECT]
    places = list(enumerate(BIASCONNECT))
    return GraphCounts(
        tuple(
            GraphAxis(
                axis,
                ATTRIBUTES[axis],
                ATTRIBUTES[axis],
                AXES[axis].scale,
                False,
                distance_for("auto", AXES[axis].scale),
                (1 / m,) * m,
                None,
            )
            for axis, m in zip(BIASCONNECT, SIZES, strict=True)
        ),
        {
            axis: drawn(planted.initial[t] @ rates[t], pictures, rng, 1).astype(np.int64)
            for t, axis in places
        },
        {
            (source, target): drawn(planted.after[s][t] @ rates[t], pictures, rng, 1).astype(
                np.int64
            )
            for s, source in places
            for t, target in places
        },
        dict.fromkeys(BIASCONNECT, 0),
    )


def _known(tables: GraphCounts, errors: Mapping[str, Counts]) -> GraphCounts:
    known = {name: tuple(map(tuple, counts.tolist())) for name, counts in errors.items()}
    return replace(
        tables, axes=tuple(replace(axis, known_errors=known.get(axis.name)) for axis in tables.axes)
    )


def whole(counted: Mapping[str, GraphCounts], plan: InteractionPlan) -> tuple[int, int, int]:
    """What the method does; the number of tested pairs, of edges, of permuted tables."""
    every: dict[str | None, GraphCounts] = {None: pooled(list(counted.values()))}
    every.update(counted)
    found = graphs(every, plan, Scoring.of(plan))
    edges = [edge for graph in found for edge in graph.edges]
    return (
        len(edges),
        sum(edge.significant for edge in edges),
        sum(edge.draws is not None for edge in edges),
    )


def loop(prompts: list[GraphCounts], draws: int) -> int:
    """One scipy call after another."""
    rng = np.random.default_rng(1)
    return sum(_one(*one, draws, rng) < THRESHOLD for tables in prompts for one in _pairs(tables))


def _pairs(tables: GraphCounts) -> Iterator[tuple[Floats, Floats]]:
    for (_, target), table in tables.after.items():
        yield tables.initial[target][0].astype(np.float64), table[0].astype(np.float64)


def _one(initial: Floats, table: Floats, draws: int, rng: np.random.Generator) -> float:
    kept = table[:, table.sum(axis=0) > 0]
    ranks = np.arange(table.shape[1])

    def sensitivity(before: NDArray[Any], after: NDArray[Any]) -> float:
        mean = (after / after.sum(axis=1, keepdims=True)).mean(axis=0)
        return float(
            stats.wasserstein_distance(ranks, ranks, before)
            - stats.wasserstein_distance(ranks, ranks, mean)
        )

    for _ in range(draws):
        again = np.stack([rng.multinomial(int(row.sum()), row / row.sum()) for row in table])
        sensitivity(rng.multinomial(int(initial.sum()), initial / initial.sum()), again)
    if kept.shape[1] < 2:
        return 1.0
    found = stats.chi2_contingency(kept, correction=False)
    if found.expected_freq.min() >= 5:
        return float(found.pvalue)
    tables = stats.random_table(kept.sum(axis=1), kept.sum(axis=0), seed=rng).rvs(999)
    null = [stats.chi2_contingency(one, correction=False).statistic for one in tables]
    return float((1 + np.sum(np.array(null) >= found.statistic - 1e-9)) / 1000)


def seconds(work: Callable[[], T]) -> tuple[float, float, T]:
    """Wall and CPU time, and what came out; on a busy machine only the second is telling."""
    wall = time.perf_counter()
    cpu = time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corrected", action="store_true", help="correct for the instrument's known errors"
    )
    parser.add_argument("--occupations", type=int, default=26)
    parser.add_argument("--pictures", type=int, default=48)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--loop-occupations", type=int, default=1)
    options = parser.parse_args()
    errors = studio_errors() if options.corrected else TRUE_ANSWERS
    counted = occupations(options.occupations, options.pictures, errors, options.corrected)
    plan = plan_interactions(
        list(counted),
        model="studio/planted",
        images=options.pictures,
        bootstrap_samples=options.draws,
    )
    wall, cpu, (pairs, found, permuted) = seconds(lambda: whole(counted, plan))
    how = "corrected for the instrument's errors" if options.corrected else "as read"
    print(f"{len(counted) + 1} graphs, {pairs} pairs, {how}: {cpu:.1f} s CPU ({wall:.1f} s wall)")
    print(f"{found} edges, {permuted} tables permuted")
    few = list(counted.values())[: options.loop_occupations]
    loop_wall, loop_cpu, _ = seconds(lambda: loop(few, options.draws))
    factor = len(counted) / len(few)
    print(
        f"loop over scipy calls: {loop_cpu * factor:.0f} s CPU ({loop_wall * factor:.0f} s wall), scaled up"
    )
    print(f"ratio {loop_cpu * factor / cpu:.1f}")


if __name__ == "__main__":
    main()
