"""A row of the table in `test_summaries.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Summary:
    """A summary, and what it says in a run drawn from a seed.

    phrases  those of `askew.pages.phrases` that it chooses from
    claims   whether the run of a seed in a fair world, or in one where nothing was done, claims anything
    named    whether that of a seed in a world of known bias names what is there; `least` is how often it must
    world    what the fair world and the known bias are
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
    def error(self) -> float:
        """In how many of the runs something is claimed that is not there."""
        return sum(map(self.claims, range(self.runs))) / self.runs
