"""Turns, which ensure that only one thread at a time uses a provider (a model or an instrument).

Networks are not thread-safe. A thread waits for its turn before it starts a task. The thread ends
its turn as soon as it no longer needs the provider, for example before it encodes images.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock


class Turn:
    """A thread's exclusive right to use the provider.

    Parameters
    ----------
    lock
        Lock that all threads of the engine share.
    """

    def __init__(self, lock: "Lock") -> None:
        self._lock = lock
        self._has_turn = False

    def begin(self) -> None:
        """Wait until no other thread has the turn, and then take the turn."""
        self._lock.acquire()
        self._has_turn = True

    def end(self) -> None:
        """End the turn. Further calls have no effect."""
        if self._has_turn:
            self._has_turn = False
            self._lock.release()


_TURN: ContextVar[Turn | None] = ContextVar("turn", default=None)


@contextmanager
def provider_turn(lock: "Lock | None") -> Iterator[None]:
    """Keep the turn until the `with` block ends or `end_turn` is called.

    If there is no lock, do nothing.
    """
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
    """End the turn of this thread, so that another thread can use the provider."""
    turn = _TURN.get()
    if turn is not None:
        turn.end()
