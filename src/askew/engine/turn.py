"""The turn of a provider: items in several threads use a model or an instrument one at a time.

Networks are not safe for threads. A task begins with the turn, and ends it as soon as it needs the
provider no longer, such as before it encodes images.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock


class Turn:
    """The right of one thread to use the provider.

    Parameters
    ----------
    lock
        Lock that all threads of an engine share.
    """

    def __init__(self, lock: "Lock") -> None:
        self._lock = lock
        self._has_turn = False

    def begin(self) -> None:
        """Wait for the turn."""
        self._lock.acquire()
        self._has_turn = True

    def end(self) -> None:
        """End the turn, once."""
        if self._has_turn:
            self._has_turn = False
            self._lock.release()


_TURN: ContextVar[Turn | None] = ContextVar("turn", default=None)


@contextmanager
def provider_turn(lock: "Lock | None") -> Iterator[None]:
    """Hold the turn until this block or `end_turn` ends it; nothing without a lock."""
    if lock is None:
        yield
        return
    turn = Turn(lock)
    turn.begin()
    token = _TURN.set(turn)
    try:
        yield
    finally:
        _TURN.reset(token)
        turn.end()


def end_turn() -> None:
    """Let the task of another thread use the provider from now on."""
    turn = _TURN.get()
    if turn is not None:
        turn.end()
