"""An engine that works on several items at the same time, in threads of this process.

Several threads can wait for a server at the same time. A model or instrument in this process works
on one item at a time. Meanwhile, another thread encodes the images of the previous item.
"""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Lock

from askew.engine.base import Failure, Item, Output
from askew.engine.turn import provider_turn


class ThreadEngine:
    """An engine that works on up to `workers` items at the same time.

    If a task fails, the engine yields a `Failure`, so that the results of other items
    in flight, which may have cost money, are not lost.

    Parameters
    ----------
    workers
        Maximum number of items in flight, at least 1.
    takes_turns
        True if the tasks use a model or instrument in this process. A model or instrument can work
        on only one item at a time. Tasks that only send requests to a server do not need to take
        turns.
    """

    name = "threads"

    def __init__(self, workers: int, takes_turns: bool = False) -> None:
        self.workers = workers
        self._takes_turns = takes_turns

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output | Failure], None, None]:
        """Apply `task` to each item, and yield each result or `Failure` as soon as it is ready."""
        lock = Lock() if self._takes_turns else None
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="call")
        in_flight = dict[Future[Output | Failure], Item]()
        try:
            for item in items:
                # the context holds the receivers of progress and messages
                future = pool.submit(copy_context().run, _outcome, task, item, lock)
                in_flight[future] = item
                if len(in_flight) == self.workers:
                    yield from _ready(in_flight)
            while in_flight:
                yield from _ready(in_flight)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ready(
    in_flight: dict[Future[Output | Failure], Item],
) -> Generator[tuple[Item, Output | Failure], None, None]:
    """Wait for a result, and yield all results that are ready, in the order of the items."""
    done = wait(in_flight, return_when=FIRST_COMPLETED).done
    for future in [future for future in in_flight if future in done]:
        yield in_flight.pop(future), future.result()


def _outcome(task: Callable[[Item], Output], item: Item, lock: "Lock | None") -> Output | Failure:
    """Return the result of a task, or a `Failure` that contains the exception it raised."""
    try:
        with provider_turn(lock):
            return task(item)
    except Exception as error:
        return Failure(error)
