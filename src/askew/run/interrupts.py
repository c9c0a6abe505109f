"""Ctrl-C while calls are in progress that cost money: the first one waits for them."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

WAITING = "stopping: waiting for the calls in progress, which are paid. Press Ctrl-C again to stop at once"


@contextmanager
def patient_interrupt(stop: threading.Event, tell: Callable[[str], None]) -> Iterator[None]:
    """Let the first Ctrl-C set `stop`; a second one raises KeyboardInterrupt.

    Nothing changes outside of the main thread, or in a program that handles the signal itself.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop.set()
        tell(WAITING)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
