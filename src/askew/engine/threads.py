"""An engine for tasks that wait for a server: several items in flight, in threads."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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
    ) -> Generator[tuple[Item, Output | Failure], None, None]:
        """Yield each item with the result of `task` or its failure, as soon as it is ready."""
        pool = ThreadPoolExecutor(self._count, thread_name_prefix="call")
        in_flight = dict[Future[Output | Failure], Item]()
        try:
            for item in items:
                # the context holds the receivers of progress and messages
                in_flight[pool.submit(copy_context().run, _outcome, task, item)] = item
                if len(in_flight) == self._count:
                    yield from _ready(in_flight)
            while in_flight:
                yield from _ready(in_flight)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ready(
    in_flight: dict[Future[Output | Failure], Item],
) -> Generator[tuple[Item, Output | Failure], None, None]:
    """Wait for a result, and yield all results that are ready, in the order of their items."""
    done = wait(in_flight, return_when=FIRST_COMPLETED).done
    for future in [future for future in in_flight if future in done]:
        yield in_flight.pop(future), future.result()


def _outcome(task: Callable[[Item], Output], item: Item) -> Output | Failure:
    """Return the result of a task, or its exception."""
    try:
        return task(item)
    except Exception as error:
        return Failure(error)
