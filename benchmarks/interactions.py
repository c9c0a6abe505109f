"""Time of the statistics of 26 occupations x 8 axes against a plain loop over scipy calls.

    python benchmarks/interactions.py [--occupations 26] [--pictures 48] [--draws 1000] [--loop-occupations 1]

Answers about 26 x 27 prompts x 48 pictures = 33,696 pictures are drawn from the planted world. Timed is everything that
follows from them: 26 x 64 contingency tables, chi-squared tests with permutations where counts are small, q-values,
sensitivities with intervals from 1,000 draws, their nulls, the edges. The loop does less: chi-squared by scipy, scipy's
random tables where counts are small, and a percentile bootstrap of the plug-in sensitivity with scipy's Wasserstein
distance, whose intervals do not cover. It is run on --loop-occupations of them and scaled up.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray
from planted_interactions import DISTANCES, SIZES, drawn, world
from scipy import stats

from askew.stats.contingency import chi_squares
from askew.stats.interaction_graph import amplification, edges, negative_share
from askew.stats.sensitivity import Pair, interactions, null_sizes
from askew.studio.occupations import OCCUPATIONS

Floats = NDArray[np.float64]
THRESHOLD = 1e-4
PAIRS = list(product(range(len(SIZES)), range(len(SIZES))))


def occupations(number: int, pictures: int) -> list[list[Pair]]:
    """All pairs of axes of every occupation; pictures of one set are the same for all of its targets."""
    rng = np.random.default_rng(0)
    return [list(_pairs(name, pictures, rng)) for name in list(OCCUPATIONS)[:number]]


def _pairs(occupation: str, pictures: int, rng: np.random.Generator) -> Iterator[Pair]:
    planted = world(occupation, 1.0)
    initial = [drawn(shares, pictures, rng, 1)[0] for shares in planted.initial]
    for source, target in PAIRS:
        table = drawn(planted.after[source][target], pictures, rng, 1)[0]
        yield Pair(initial[target], table, np.ones(SIZES[target]), DISTANCES[target])


def whole(prompts: list[list[Pair]], draws: int) -> tuple[int, int, float]:
    """What the method does; the number of edges, of permuted tables, and the seconds that the tests took."""
    rng = np.random.default_rng(1)
    every = [pair for prompt in prompts for pair in prompt]
    began = time.process_time()
    tests = chi_squares([np.asarray(pair.counterfactual) for pair in every], rng=rng, threshold=THRESHOLD)
    tested = time.process_time() - began
    found = interactions(every, rng=rng, draws=draws)
    sizes = null_sizes(every, rng=rng, draws=draws)
    names = [(str(source), str(target)) for source, target in PAIRS]
    graphs = []
    for i in range(len(prompts)):
        own = slice(i * len(PAIRS), (i + 1) * len(PAIRS))
        graph = edges(dict(zip(names, tests[own], strict=True)), dict(zip(names, found[own], strict=True)))
        amplification(graph, dict(zip(names, sizes[own], strict=True)))  # type: ignore[arg-type]
        negative_share(graph)
        graphs.append(graph)
    permuted = sum(getattr(test, "draws", None) is not None for test in tests)
    return sum(edge.significant for graph in graphs for edge in graph), permuted, tested


def loop(prompts: list[list[Pair]], draws: int) -> int:
    """One scipy call after another."""
    rng = np.random.default_rng(1)
    return sum(_one(pair, draws, rng) < THRESHOLD for prompt in prompts for pair in prompt)


def _one(pair: Pair, draws: int, rng: np.random.Generator) -> float:
    table, initial = np.asarray(pair.counterfactual), np.asarray(pair.initial)
    kept = table[:, table.sum(axis=0) > 0]
    ranks = np.arange(table.shape[1])

    def sensitivity(before: Floats, after: Floats) -> float:
        mean = (after / after.sum(axis=1, keepdims=True)).mean(axis=0)
        return float(stats.wasserstein_distance(ranks, ranks, before) - stats.wasserstein_distance(ranks, ranks, mean))

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


def seconds(work: Callable[[], object]) -> tuple[float, float, object]:
    """Wall and CPU time, and what came out; on a busy machine only the second is telling."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--occupations", type=int, default=26)
    parser.add_argument("--pictures", type=int, default=48)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--loop-occupations", type=int, default=1)
    options = parser.parse_args()
    prompts = occupations(options.occupations, options.pictures)
    wall, cpu, (found, permuted, tested) = seconds(lambda: whole(prompts, options.draws))  # type: ignore[misc]
    print(f"{len(prompts)} x {len(PAIRS)} pairs: {cpu:.1f} s CPU ({wall:.1f} s wall), of it {tested:.1f} s chi-squared")
    print(f"{found} edges, {permuted} tables permuted")
    few = prompts[: options.loop_occupations]
    loop_wall, loop_cpu, _ = seconds(lambda: loop(few, options.draws))
    factor = len(prompts) / len(few)
    print(f"loop over scipy calls: {loop_cpu * factor:.0f} s CPU ({loop_wall * factor:.0f} s wall), scaled up")
    print(f"ratio {loop_cpu * factor / cpu:.1f}")


if __name__ == "__main__":
    main()
