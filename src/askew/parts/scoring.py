"""How scores are computed: choices that every method shares."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.plan import Plan
from askew.store.keys import derived_seed
from askew.types import Estimate, Missing, MissingReason

Vectors = NDArray[np.float32]


class IntervalOptions(TypedDict):
    """How an interval is found: by so many random draws, at which level."""

    draws: int
    level: float


@dataclass(frozen=True, slots=True)
class Scoring:
    """By which instrument's answers, with which seed, how many draws, at which level, in which
    variant.
    """

    instrument: str
    seed: int = 0
    draws: int = 1000
    level: float = 0.95
    variant: Literal["paper", "code"] = "paper"

    @classmethod
    def of(cls, plan: Plan, instrument: str | None = None) -> Self:
        """As a plan says; by its first instrument unless another is named."""
        return cls(
            instrument or plan.vqa[0],
            plan.seed,
            plan.bootstrap_samples,
            plan.confidence,
            plan.variant,
        )

    @property
    def how(self) -> IntervalOptions:
        """Draws and level of an estimate, to be passed on by name."""
        return {"draws": self.draws, "level": self.level}

    def rng(self, *names: str) -> np.random.Generator:
        """The random generator of one computation, independent of every other's."""
        return np.random.default_rng(derived_seed(self.seed, *names))


def or_missing(
    compute: Callable[..., Estimate],
    *arguments: object,
    reason: MissingReason = "not_asked",
    detail: str = "",
    **settings: object,
) -> Estimate | Missing:
    """The estimate, or that there is nothing to compute it from; `detail` says so in other words
    than the error.
    """
    try:
        return compute(*arguments, **settings)
    except NotEnoughData as error:
        return Missing(reason, detail or str(error))
