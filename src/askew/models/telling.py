"""How a model says, while it works on a batch, that some of its pictures are made: for progress alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def pictures_made(count: int) -> None:
    """Tell whoever listens that `count` more pictures of the batch are made. A model that never does is as good."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(count)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Within, `listener` is called with every number of pictures that a model of this process tells of."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
