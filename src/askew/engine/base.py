"""The protocol of engines, which carry out the work of a run on this machine or elsewhere.

A run gives an engine a task and an iterable of items, such as the batches of images that the budget
allows. The engine decides how many items are in flight, that is, started but not yet finished. The
run holds a lock for every item in flight, and stores each result before it asks for the next.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Failure:
    """The result of a task that raised an exception.

    An engine may yield a `Failure` instead of raising the exception, so that other items in flight
    still yield their results. The run stores these results, gives out no further items, and then
    raises the first exception.

    Attributes
    ----------
    error
        Exception that the task raised.
    """

    error: BaseException


class Engine(Protocol):
    """An object, such as a process pool or a cluster, that applies a task to items."""

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output | Failure], None, None]:
        """Yield each item with the result of `task`, in any order.

        An implementation keeps these promises:

        - It draws items only while its caller waits for a result, and in the caller's thread. This
          is necessary because the iterable locks each item and reads a database.
        - It limits the number of items in flight, which are drawn but not yet yielded with their
          results. If it has reached the limit, it yields a result before it draws another item.
        - When the iterable ends early, all items in flight are still yielded.
        - If the task raises an exception, the engine either raises it in place of the result or
          yields it as a `Failure`.
        - If the generator is closed, the engine abandons the items in flight and frees its resources.

        Parameters
        ----------
        task
            Function that takes an item. It returns the same result each time. The task, the items
            and the results can be pickled.
        items
            Iterable of items, which may be many. Drawing an item may take time.

        Yields
        ------
        tuple of Item and Output or Failure
            Each item once, with its result. The item is the object that was drawn, or a copy of it.
        """
