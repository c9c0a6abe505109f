"""Messages from a model or instrument during its work, such as "the server asks for a pause"."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER: ContextVar[Callable[[str], object]] = ContextVar(
    "listener", default=lambda sentence: None
)


def report_message(sentence: str) -> None:
    """Report a message about the work, for example if a server requests a pause."""
    _LISTENER.get()(sentence)


@contextmanager
def message_listener(listener: Callable[[str], object] | None) -> Iterator[None]:
    """Call `listener` with each sentence that is reported inside the `with` block.

    If `listener` is None, sentences are ignored. Messages from another thread reach the listener
    only if the thread runs in a copy of this context.
    """
    token = _LISTENER.set(listener or (lambda sentence: None))
    try:
        yield
    finally:
        _LISTENER.reset(token)
