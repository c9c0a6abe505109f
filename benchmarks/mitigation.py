"""What ways to mitigate cost: seconds a picture over the bare model's, and the time to choose a policy.

    python -m benchmarks.mitigation [--pictures 12] [--rounds 3]

Ratios of one run, bare and mitigated in turn, on `studio`. A policy over all prompts of two statements of eight axes
(316) with all pairs of axes is chosen from made-up tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

from askew import mitigation, registry
from askew.models.base import Model, Request
from askew.stats.policy import Goal, cells, plan_policy

EVEN = {"gender": {"male": 0.5, "female": 0.5}}
WAYS: dict[str, dict[str, object]] = {
    "fair-diffusion": {"targets": EVEN},
    "cads": {},
    "guidance": {"scale": 2.0},
    "negative-prompt": {"words": "a female person"},
}
SIZES = (2, 3, 6, 3, 4, 2, 2, 4)


def seconds(work: Callable[[], object]) -> float:
    """The time that one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def policy_seconds(seed: int = 0) -> float:
    """The time to weigh all prompts of up to two statements, with goals for axes and pairs."""
    rng, number = np.random.default_rng(seed), len(cells(SIZES, 2))
    goals = [Goal(rng.dirichlet(np.ones(k), number), np.full(k, 1 / k)) for k in SIZES]
    goals += [
        Goal(rng.dirichlet(np.ones(k * m), number), np.full(k * m, 1 / (k * m)), weight=0.15)
        for k, m in combinations(SIZES, 2)
    ]
    return seconds(lambda: plan_policy(goals, costs=np.full(number, 0.002), most_prompts=12))


def main() -> None:
    """Print a line per way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    bare = registry.model("studio")
    assert isinstance(bare, Model)
    requests = [Request("a photo of a nurse", 100 + k, k) for k in range(given.pictures)]
    ways = {name: mitigation.of({"method": name, **own}, name) for name, own in WAYS.items()}
    models: dict[str, Model] = {"bare": bare, **{name: one.wrap(bare) for name, one in ways.items()}}
    taken: dict[str, list[float]] = {name: [] for name in models}
    bare.generate(requests[:1])  # loads the network
    for _ in range(given.rounds):
        for name, model in models.items():
            taken[name].append(seconds(lambda model=model: model.generate(requests)))  # type: ignore[misc]
    base = min(taken["bare"])
    for name, times in taken.items():
        evaluations = ways[name].cost if name in ways else 1.0
        per, ratio = min(times) / given.pictures, min(times) / base
        print(f"{name:16} {per:6.3f} s a picture, ratio {ratio:4.2f}, network evaluations {evaluations:3.1f}")
    print(f"{'policy':16} {policy_seconds():6.2f} s for {len(cells(SIZES, 2))} prompts and 28 pairs of axes")


if __name__ == "__main__":
    main()
