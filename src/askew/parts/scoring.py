"""How scores are computed: choices that every method shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from askew.store.keys import derived_seed
from askew.types import Picture

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scoring:
    """By which instrument's answers, with which seed, how many draws, at which level, in which variant."""

    instrument: str
    seed: int = 0
    draws: int = 1000
    level: float = 0.95
    variant: Literal["paper", "code"] = "paper"

    def rng(self, *names: str) -> np.random.Generator:
        """The random generator of one computation, independent of every other's."""
        return np.random.default_rng(derived_seed(self.seed, *names))


@dataclass(frozen=True, slots=True)
class Vision:
    """How pictures and texts become unit vectors of one space: functions to (pictures or texts, dimensions)."""

    pictures: Callable[[Sequence[Picture]], Vectors]
    texts: Callable[[Sequence[str]], Vectors]
