"""Settings for scores, used by all methods."""

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
    """Settings for an interval.

    Attributes
    ----------
    draws : int
        Number of bootstrap samples.
    level : float
        Confidence level in (0, 1).
    """

    draws: int
    level: float


@dataclass(frozen=True, slots=True)
class Scoring:
    """Settings for computing scores.

    Attributes
    ----------
    instrument : str
        Instrument whose answers are scored.
    seed : int
        Seed of all random draws.
    draws : int
        Number of bootstrap samples per interval.
    level : float
        Confidence level of the intervals, in (0, 1).
    variant : "paper" or "code"
        Whether to use the formulas in the paper or in the authors' public code.
    """

    instrument: str
    seed: int = 0
    draws: int = 1000
    level: float = 0.95
    variant: Literal["paper", "code"] = "paper"

    @classmethod
    def of(cls, plan: Plan, instrument: str | None = None) -> Self:
        """Return the scoring settings of a plan.

        By default, scores use the plan's first instrument.
        """
        return cls(
            instrument=instrument or plan.vqa[0],
            seed=plan.seed,
            draws=plan.bootstrap_samples,
            level=plan.confidence,
            variant=plan.variant,
        )

    @property
    def interval_options(self) -> IntervalOptions:
        """Number of bootstrap samples and confidence level, as keyword arguments."""
        return {"draws": self.draws, "level": self.level}

    def rng(self, *names: str) -> np.random.Generator:
        """Return a random generator that is seeded with `seed` and these names."""
        return np.random.default_rng(derived_seed(self.seed, *names))


def or_missing(
    compute: Callable[..., Estimate],
    *arguments: object,
    reason: MissingReason = "not_asked",
    detail: str = "",
    **settings: object,
) -> Estimate | Missing:
    """Compute an estimate; return Missing if there is not enough data.

    Parameters
    ----------
    compute
        Function that is called with `arguments` and `settings`, and may raise NotEnoughData.
    reason, detail
        Reason and detail of the returned Missing. By default, the detail is the error message.
    """
    try:
        return compute(*arguments, **settings)
    except NotEnoughData as error:
        return Missing(reason, detail or str(error))
