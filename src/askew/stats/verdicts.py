"""One verdict from several tests of one thing, over many things; and what a sample could have shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from askew.stats.distance import DISTANCES
from askew.stats.intervals import Floats, benjamini_hochberg, first_accepted

DRAWS = 10_000


def holm_then_bh(tests: Sequence[Sequence[float]]) -> list[tuple[float, float, list[float]]]:
    """A verdict per family of tests of one null hypothesis, and q-values of its members that never contradict it.

    The family's p is that of its first step by Holm (1979), min(1, m * smallest p). Its q is by Benjamini and Hochberg
    over all families. A member's q is its own Holm p, scaled as the family's was: selected families are tested at the
    level that selection leaves (Benjamini & Bogomolov 2014). So a member has a q below a level only where its family
    has, and a family has only where a member has. `tests` are by family the p-values of its members, at least one;
    returned are by family p, q, and the q of every member.
    """
    holm = []
    for members in tests:
        order = np.argsort(members, kind="stable")
        steps = np.maximum.accumulate(np.asarray(members, dtype=float)[order] * np.arange(len(members), 0, -1))
        holm.append(np.minimum(steps, 1.0)[np.argsort(order)])
    firsts = np.array([own.min() for own in holm])
    found = []
    for own, p, q in zip(holm, firsts, benjamini_hochberg(firsts), strict=True):
        scale = q / p if p else 1.0
        found.append((float(p), float(q), [float(one) for one in np.minimum(own * scale, 1.0)]))
    return found


def detectable_distance(
    n: int, ideal: ArrayLike, distance: str, *, level: float = 0.05, power: float = 0.9
) -> float | None:
    """The distance from the ideal that a test of n pictures at `level` finds with probability `power`.

    Distributions between the ideal (K,) and one value alone, p(t) = (1 - t) ideal + t e_k, for the k that is hardest to
    find. By simulation with a fixed seed; None where even t = 1 is not found so often, for a k that goes as far.
    `distance` is a name of `distance.DISTANCES`, `level` that of one test, in (0, 1).
    """
    return _detectable(n, tuple(np.asarray(ideal, dtype=float).tolist()), distance, level, power)


@lru_cache(maxsize=1024)
def _detectable(n: int, ideal: tuple[float, ...], distance: str, level: float, power: float) -> float | None:
    measure, target = DISTANCES[distance], np.array(ideal)
    null = np.sort(measure(np.random.default_rng(0).multinomial(n, target, DRAWS), target))
    critical = null[-1 - int(level * DRAWS)]  # what the test finds lies beyond it

    def towards(k: int, t: Floats | float) -> Floats:
        return np.asarray((1 - t) * target + t * np.eye(len(target))[k])

    def found_at(k: int, t: Floats | float) -> bool:
        drawn = np.random.default_rng(1).multinomial(n, towards(k, t), DRAWS // 5)
        return float(np.mean(measure(drawn, target) > critical + 1e-12)) >= power

    found, unseen = [], 0.0
    for k in range(len(target)) if distance == "wasserstein" else {p: k for k, p in enumerate(ideal)}.values():
        if found_at(k, 1.0):
            t = first_accepted(partial(found_at, k), 0.0, 1.0, steps=8)
            found.append(float(measure(towards(k, t), target)))
        else:
            unseen = max(unseen, float(measure(towards(k, 1.0), target)))
    return max(found) if found and max(found) > unseen else None
