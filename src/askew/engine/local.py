"""The default engine, which works on one item at a time in this process."""

from collections.abc import Callable, Generator, Iterable

from askew.engine.base import Item, Output


class LocalEngine:
    """An engine that starts to work on an item only when the run asks for the item's result."""

    name = "local"
    workers = 1

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output], None, None]:
        """Apply `task` to each item, and yield the items with their results, in order."""
        for item in items:
            yield item, task(item)
