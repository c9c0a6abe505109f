"""A row of the table in `test_summaries.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Summary:
    """A summary, and its claims about simulated runs.

    Attributes
    ----------
    phrases
        Keys of `askew.pages.phrases` that the summary uses.
    world
        Description of the fair world and of the known bias.
    claims
        Function of a seed that checks for a claim in a fair world, or without a mitigation.
    named
        Function of a seed that checks whether the summary reports a known bias.
    least
        Smallest share of runs for which `named` must hold.
    """

    name: str
    phrases: tuple[str, ...]
    world: str
    claims: Callable[[int], bool]
    named: Callable[[int], bool] | None = None
    least: float = 0.0
    runs: int = 60
    named_runs: int = 25

    @cached_property
    def errors(self) -> int:
        """Return the number of runs that claim something that is not there."""
        return sum(map(self.claims, range(self.runs)))

    @property
    def error(self) -> float:
        """Return the share of runs that claim something that is not there."""
        return self.errors / self.runs
