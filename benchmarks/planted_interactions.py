"""Exact interactions of the studio's planted world, and counts of values drawn from them."""

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
    """Exact distributions of the eight axes for an occupation.

    Attributes
    ----------
    initial
        Shares of each axis `t` for the plain prompt: `initial[t]` (m,).
    after
        Shares of each axis `t` for each value of each axis `s`: `after[s][t]` (K, m).
    """

    initial: tuple[Floats, ...]
    after: tuple[tuple[Floats, ...], ...]

    def truth(self, source: int, target: int) -> float:
        """Return the true Intersectional Sensitivity, with a uniform reference."""
        reference = np.ones(SIZES[target])
        after = self.after[source][target].mean(axis=0)
        return float(sensitivity(self.initial[target], after, reference, DISTANCES[target]))

    def dependent(self, source: int, target: int) -> bool:
        """Check whether the target's distribution differs between the source's values."""
        return bool(np.ptp(self.after[source][target], axis=0).max() > 1e-9)


@lru_cache(maxsize=128)
def world(occupation: str | None, bias: float) -> World:
    """Return the exact planted distributions."""
    initial = _margins(conditional(CaptionContent({}, occupation, True, ()), bias))
    after = []
    for axis in BIASCONNECT:
        contents = [
            CaptionContent({axis: value}, occupation, True, ()) for value in ATTRIBUTES[axis]
        ]
        sets = [_margins(conditional(content, bias)) for content in contents]
        after.append(tuple(np.stack(shares) for shares in zip(*sets, strict=True)))
    return World(initial=initial, after=tuple(after))


def drawn(shares: Floats, pictures: int, rng: np.random.Generator, repeats: int) -> Floats:
    """Draw counts (repeats, ..., m) of images from shares (..., m)."""
    rounded = np.minimum(shares, 1.0)
    return rng.multinomial(pictures, rounded, size=(repeats, *shares.shape[:-1])).astype(float)


def _margins(table: Floats) -> tuple[Floats, ...]:
    """Return the shares of each axis: (m,) each."""
    places: Sequence[int] = [NAMES.index(axis) for axis in BIASCONNECT]
    margins = []
    for place in places:
        others = tuple(axis for axis in range(table.ndim) if axis != place)
        margins.append(table.sum(axis=others))
    return tuple(margins)
