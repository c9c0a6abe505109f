"""An engine for tasks that wait for a server: several items in flight, in threads."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context

from askew.engine.base import Failure, Item, Output


class ThreadEngine:
    """An engine with up to `count` items in flight.

    A task that fails yields a `Failure`, so that the results of the other items in flight, which
    may have cost money, are not lost.

    Parameters
    ----------
    count
        Greatest number of items in flight, at least 1.
    """

    def __init__(self, count: int) -> None:
        self._count = count

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[Output | Failure, None, None]:
        """Yield the result of `task` or its failure for each item, in order."""
        pool = ThreadPoolExecutor(self._count, thread_name_prefix="call")
        in_flight = deque[Future[Output | Failure]]()
        try:
            for item in items:
                # the context holds the receivers of progress and messages
                in_flight.append(pool.submit(copy_context().run, _outcome, task, item))
                if len(in_flight) == self._count:
                    yield in_flight.popleft().result()
            while in_flight:
                yield in_flight.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _outcome(task: Callable[[Item], Output], item: Item) -> Output | Failure:
    """Return the result of a task, or its exception."""
    try:
        return task(item)
    except Exception as error:
        return Failure(error)
