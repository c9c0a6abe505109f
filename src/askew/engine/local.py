"""The default engine, which works in this process on one item at a time."""

from collections.abc import Callable, Generator, Iterable

from askew.engine.base import Item, Output


class LocalEngine:
    """An engine that starts to work on an item when the run asks for its result."""

    name = "local"
    workers = 1

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output], None, None]:
        """Yield each item with the result of `task`, in order."""
        for item in items:
            yield item, task(item)
