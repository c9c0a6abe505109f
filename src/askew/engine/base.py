"""Protocol of engines, which carry out the work of a run on this machine or on other machines.

A run gives an engine a task and an iterable of items. For example, each item is a batch of images
to generate, and the iterable ends when the budget is used up. The engine decides how many items are
in flight, that is, started but not yet finished. The run holds a lock for every item in flight, and
stores each result before it asks the engine for the next result.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Failure:
    """Stand-in for the result of a task that raised an exception.

    An engine may yield a `Failure` instead of raising the exception, so that other items in flight
    still yield their results. The run stores these results, submits no further items, and then
    raises the first exception.

    Attributes
    ----------
    error
        Exception that the task raised.
    """

    error: BaseException


class Engine(Protocol):
    """An object that applies a task to items, such as a process pool or a cluster."""

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output | Failure], None, None]:
        """Apply `task` to each item, and yield the items with their results, in any order.

        An implementation keeps these promises:

        - The engine takes items from the iterable only while the caller waits for a result, and
          only in the caller's thread. The restriction is necessary because the iterable locks each
          item and reads a database.
        - The engine limits the number of items in flight, that is, items that it has taken but
          whose results it has not yet yielded. At the limit, the engine yields a result before it
          takes another item.
        - If the iterable ends before the run is complete, the engine nevertheless yields the
          results of all items in flight.
        - If the task raises an exception, the engine either raises this exception or yields a
          `Failure` that contains the exception.
        - If the generator is closed, the engine abandons the items in flight and frees its
          resources.

        Parameters
        ----------
        task
            Function that takes an item. The function must always return the same result for the
            same item. The task, the items and the results must be picklable.
        items
            Iterable of items. There may be many items, and fetching the next item may take some
            time.

        Yields
        ------
        tuple of Item and Output or Failure
            Each item exactly once, with its result. The item is the object from the
            iterable, or a copy of it.
        """
