"""Where work is carried out: the same map over work items, on this machine or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """Applies a task to work items.

    Task, items and results must survive pickling, for engines that send them to other processes. Results come
    in the order of the items, each as soon as it is there, so that the caller can store it and stop early. An
    exception of a task is raised when its result is asked for.
    """

    name: str

    def map(self, task: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """One result per item, in order."""
        ...


class LocalEngine:
    """This process: works on one item at a time, and only when its result is asked for."""

    name = "local"

    def map(self, task: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """One result per item, in order."""
        return map(task, items)
