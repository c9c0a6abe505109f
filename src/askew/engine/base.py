"""The protocol of an engine, which carries out the parts of a run on this machine or elsewhere.

A run gives an engine one task and an iterable of items, such as the batches of images that the
budget allows. The engine decides how many items are in flight. The run holds the lock of every item
in flight, and stores each result before it asks for the next.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Failure:
    """A result in place of the exception of a task.

    An engine may yield it so that items in flight still yield their results. The run stores them,
    gives out no further items, and then raises the first exception.

    Attributes
    ----------
    error
        The exception.
    """

    error: BaseException


class Engine(Protocol):
    """Something that applies a task to items, such as a process pool or a cluster."""

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output | Failure], None, None]:
        """Yield each item with the result of `task`, in any order.

        An implementation keeps these promises:

        - It draws items only while its caller waits for a result, and in the caller's thread. This
          is necessary because the iterable locks each item and reads a database.
        - It keeps a bounded number of items in flight, which are drawn but not yet yielded with
          their results. It yields a result as soon as it is ready, before it draws more items than
          the bound.
        - When the iterable ends early, all items in flight are still yielded.
        - An exception of the task is raised when its result is asked for, or yielded as `Failure`.
        - Closing the generator abandons the items in flight and frees the engine's resources.

        Parameters
        ----------
        task
            A function of one item. It gives the same result each time. Task, items and results can
            be pickled.
        items
            The items, possibly many. Drawing an item can take time.

        Yields
        ------
        tuple of Item and Output or Failure
            Each item once. An item is the object that was drawn, or a copy of it.
        """
