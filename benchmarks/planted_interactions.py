"""The exact interactions of the studio's planted world, and answers drawn from it: what benchmarks
of them share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askew.prompts.axes import AXES, BIASCONNECT
from askew.stats.distance import distance_for, sensitivity
from askew.studio.caption import CaptionContent
from askew.studio.planted import NAMES, conditional
from askew.studio.scene import ATTRIBUTES

Floats = NDArray[np.float64]
SIZES = tuple(len(ATTRIBUTES[axis]) for axis in BIASCONNECT)
DISTANCES = tuple(distance_for("auto", AXES[axis].scale) for axis in BIASCONNECT)


@dataclass(frozen=True)
class World:
    """Distributions of the eight axes for one occupation: `initial[t]` (m,), `after[s][t]` (K, m)."""

    initial: tuple[Floats, ...]
    after: tuple[tuple[Floats, ...], ...]

    def truth(self, source: int, target: int) -> float:
        """The population's Intersectional Sensitivity, the ideal being uniform."""
        reference = np.ones(SIZES[target])
        after = self.after[source][target].mean(axis=0)
        return float(sensitivity(self.initial[target], after, reference, DISTANCES[target]))

    def dependent(self, source: int, target: int) -> bool:
        """Whether the target's distribution differs at all between the source's values."""
        return bool(np.ptp(self.after[source][target], axis=0).max() > 1e-9)


@lru_cache(maxsize=128)
def world(occupation: str | None, bias: float) -> World:
    """The planted distributions, exactly."""
    initial = _margins(conditional(CaptionContent({}, occupation, True, ()), bias))
    after = []
    for axis in BIASCONNECT:
        sets = [
            _margins(conditional(CaptionContent({axis: v}, occupation, True, ()), bias))
            for v in ATTRIBUTES[axis]
        ]
        after.append(tuple(np.stack(same) for same in zip(*sets, strict=True)))
    return World(initial, tuple(after))


def drawn(shares: Floats, pictures: int, rng: np.random.Generator, repeats: int) -> Floats:
    """Counts (repeats, ..., m) of pictures drawn from shares (..., m)."""
    rounded = np.minimum(shares, 1.0)
    return rng.multinomial(pictures, rounded, size=(repeats, *shares.shape[:-1])).astype(float)


def _margins(table: Floats) -> tuple[Floats, ...]:
    places: Sequence[int] = [NAMES.index(axis) for axis in BIASCONNECT]
    return tuple(
        table.sum(axis=tuple(i for i in range(table.ndim) if i != place)) for place in places
    )
