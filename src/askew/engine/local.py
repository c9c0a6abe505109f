"""This process, one work item after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class LocalEngine:
    """Works on one item at a time, and only when its result is asked for."""

    name = "local"

    def map(self, task: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """One result per item, in order."""
        return map(task, items)
